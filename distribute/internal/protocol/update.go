package protocol

import (
	"errors"
	"fmt"
	"math"

	"github.com/gokeras/gokeras/kernels/cpu/rows"
)

// Op is the operation of an update.
type Op uint8

// The operations.
const (
	Assign      Op = iota // values replace rows
	Add                   // values are added to rows
	Gradient              // values are gradients of rows, for the table's rule
	Naming                // tells the texts that keys stand for; it has no values
	AssignFirst           // Assign of which in a round the first part's counts, and not the mean
	ops
)

// assigns reports whether values replace rows.
func (o Op) assigns() bool { return o == Assign || o == AssignFirst }

// Update changes rows of a table, or all rows if IDs is nil. It holds a row of values for each.
type Update struct {
	Table  uint32 // number that Create gave
	Op     Op
	Rate   float64 // learning rate of a gradient
	Seen   uint64  // the table's Step when the values were read that a gradient is of
	IDs    []int64 // increasing, each once
	Sparse bool    // IDs are given, perhaps none
	Values []float32
	Names  []string // of Naming
	Away   *Place   // of Values, where the message does not have them; nil again once they are found

	// After is where a gradient of all rows leaves the values that it has led to, if Left says that it did. It is not
	// part of a message.
	After []float32
	Left  bool
}

// Place says where numbers are that are not in a message, in memory that both sides have mapped.
type Place struct {
	Note   string // of the memory
	Offset int    // in bytes
	Count  int    // of numbers
}

// ErrPlace says that the receiver of a message cannot access the memory to which it refers.
var ErrPlace = errors.New("parameterserver: the memory of a message cannot be opened here")

// Encode appends the place.
func (p *Place) Encode(w *Writer) {
	w.String(p.Note)
	w.Uint(uint64(p.Offset))
	w.Uint(uint64(p.Count))
}

// Decode reads what Encode writes.
func (p *Place) Decode(r *Reader) { p.Note, p.Offset, p.Count = r.String(), r.Int(), r.Int() }

// away marks the operation of an update whose values are elsewhere.
const away = 0x80

func (u *Update) encode(w *Writer) {
	w.Uint(uint64(u.Table))
	op := byte(u.Op)
	if u.Away != nil {
		op |= away
	}
	w.Byte(op)
	w.Float(u.Rate)
	w.Uint(u.Seen)
	w.Bool(u.Sparse)
	if u.Sparse {
		w.Ints(u.IDs)
	}
	if u.Away != nil {
		u.Away.Encode(w)
	} else {
		w.Floats(u.Values)
	}
	if u.Op == Naming {
		w.Uint(uint64(len(u.Names)))
		for _, name := range u.Names {
			w.String(name)
		}
	}
}

func (u *Update) decode(r *Reader) {
	table, op := uint32(r.Uint()), r.Byte()
	u.Table, u.Op, u.Rate, u.Seen, u.Sparse = table, Op(op&^away), r.Float(), r.Uint(), r.Bool()
	if u.Sparse {
		u.IDs = r.Ints()
	}
	if op&away != 0 {
		u.Values = r.elsewhere()
	} else {
		u.Values = r.Floats()
	}
	if u.Op == Naming {
		for range r.count(1) {
			u.Names = append(u.Names, r.String())
		}
	}
}

// elsewhere finds the numbers at a place.
func (r *Reader) elsewhere() []float32 {
	var p Place
	if p.Decode(r); r.err != nil {
		return nil
	}
	if r.find == nil {
		r.fail("numbers lie elsewhere")
		return nil
	}
	var v []float32
	v, r.err = r.find(p)
	return v
}

// check returns an error if the table cannot accept the update.
func (u *Update) check(t *Table) error {
	if u.Op >= ops {
		return fmt.Errorf("parameterserver: table %s: operation %d is not known", t.Name, u.Op)
	}
	if u.Op == Gradient && t.Rule.Kind == NoRule {
		return fmt.Errorf("parameterserver: table %s is not trained: it was made without a rule for gradients", t.Name)
	}
	if u.Op == Gradient && (math.IsNaN(u.Rate) || math.IsInf(u.Rate, 0)) {
		return fmt.Errorf("parameterserver: table %s: the learning rate is %v", t.Name, u.Rate)
	}
	if u.Op == Naming {
		return u.checkNames(t)
	}
	rows := t.Rows
	if u.Sparse {
		rows = len(u.IDs)
		if err := t.checkIDs(u.IDs); err != nil {
			return err
		}
	} else if t.Dynamic {
		return fmt.Errorf("parameterserver: table %s is dynamic: an update must name rows", t.Name)
	}
	if len(u.Values) != rows*t.Width {
		return fmt.Errorf("parameterserver: table %s: %d numbers for %d rows of %d", t.Name, len(u.Values), rows, t.Width)
	}
	return nil
}

// apply makes a checked update.
func (t *Table) apply(u *Update) {
	if u.Op == Naming {
		t.rows.name(u.IDs, u.Names)
		return
	}
	t.Version++
	switch {
	case u.Op == Gradient:
		t.Step++
		t.gradient(u)
	case t.Dynamic:
		for i, id := range u.IDs {
			r := t.rows.take(id, t.Step)
			combine(u.Op, t.rows.row(r)[:t.Width], u.Values[i*t.Width:(i+1)*t.Width])
			t.rows.use(r)
		}
	case !u.Sparse:
		combine(u.Op, t.values, u.Values)
	default:
		for i, id := range u.IDs {
			combine(u.Op, t.row(int(id)), u.Values[i*t.Width:(i+1)*t.Width])
		}
	}
	if t.Dynamic {
		t.rows.evict()
	}
}

func combine(op Op, to, from []float32) {
	if op.assigns() {
		copy(to, from)
		return
	}
	for i, v := range from {
		to[i] += v
	}
}

// gradient updates from a gradient.
func (t *Table) gradient(u *Update) {
	f := t.Rule.factors(u.Rate, t.Step)
	slots := make([][]float32, len(t.Rule.SlotNames()))
	if t.Dynamic {
		t.noteRate(u.Rate)
		for i, id := range u.IDs {
			r := t.rows.take(id, t.Step-1)
			row := t.rows.row(r)
			t.Rule.update(f, row[:t.Width], u.Values[i*t.Width:(i+1)*t.Width], t.slotsOf(row, slots))
			t.rows.use(r)
		}
		return
	}
	update := func(from, to int, g []float32) {
		for i := range slots {
			slots[i] = t.slots[i][from:to]
		}
		t.Rule.update(f, t.values[from:to], g, slots)
	}
	defer t.constrain()
	if !u.Sparse {
		if u.Left = len(u.After) == len(t.values) && t.Constraint.Kind == NoConstraint; u.Left {
			t.leave(u, update)
		} else {
			update(0, len(t.values), u.Values)
		}
		return
	}
	all, next := t.Rule.touchesAll(), 0
	rest := func(to int) { // rows without a gradient
		if all && next < to {
			update(next*t.Width, to*t.Width, nil)
		}
	}
	if t.Rule.Kind == SGD && len(slots) == 0 && t.Rule.WeightLoss == 0 {
		rows.DescendRows(t.values, u.Values, t.Width, u.IDs, f.rate)
		return
	}
	for i, id := range u.IDs {
		if !all {
			t.ahead(u.IDs, i, true)
		}
		r := int(id)
		rest(r)
		update(r*t.Width, (r+1)*t.Width, u.Values[i*t.Width:(i+1)*t.Width])
		next = r + 1
	}
	rest(t.Rows)
}

// leftBlock is the number of numbers that are updated at a time, and copied while they are in a cache.
const leftBlock = 4 << 10

// leave updates all rows, and copies them to After.
func (t *Table) leave(u *Update, update func(from, to int, g []float32)) {
	for from := 0; from < len(t.values); from += leftBlock {
		to := min(from+leftBlock, len(t.values))
		update(from, to, u.Values[from:to])
		copy(u.After[from:to], t.values[from:to])
	}
}

// Staleness counts how many other updates were applied between reading a table and applying its gradient.
type Staleness struct{ Gradients, Sum, Max uint64 }

func (s *Staleness) count(t *Table, u *Update) {
	if u.Op != Gradient {
		return
	}
	old := t.Step - min(u.Seen, t.Step)
	s.Gradients++
	s.Sum += old
	s.Max = max(s.Max, old)
}

// apply makes a checked update.
func (s *State) apply(u *Update) {
	t := s.tables[u.Table]
	s.Staleness.count(t, u)
	t.apply(u)
}
