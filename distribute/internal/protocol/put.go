package protocol

import (
	"fmt"
)

// Put stores rows with the optimizer's state, as [Table.Export] returns them, in a dynamic table: rows of a file, or of
// another job. It replaces existing rows.
type Put struct {
	Term          uint64
	Table         uint32
	Version, Step uint64 // of the table that the rows come from
	Rates         Rates
	Rows          []Row
}

// Rates are the learning rates that were applied to a table.
type Rates []rateSpan

func (*Put) kind() commandKind { return putKind }

// Encode appends the rates.
func (l Rates) Encode(w *Writer) {
	w.Uint(uint64(len(l)))
	for _, span := range l {
		w.Uint(span.from)
		w.Float(span.rate)
	}
}

// Decode reads what Encode writes.
func (l *Rates) Decode(r *Reader) {
	for range r.count(9) {
		*l = append(*l, rateSpan{r.Uint(), r.Float()})
	}
}

func (c *Put) encode(w *Writer) {
	w.Uint(c.Term)
	w.Uint(uint64(c.Table))
	w.Uint(c.Version)
	w.Uint(c.Step)
	c.Rates.Encode(w)
	w.Uint(uint64(len(c.Rows)))
	for i := range c.Rows {
		c.Rows[i].Encode(w)
	}
}

func (c *Put) decode(r *Reader) {
	c.Term, c.Table, c.Version, c.Step = r.Uint(), uint32(r.Uint()), r.Uint(), r.Uint()
	c.Rates.Decode(r)
	for range r.count(7) {
		var row Row
		if row.Decode(r); r.Err() != nil {
			return
		}
		c.Rows = append(c.Rows, row)
	}
}

func (c *Put) check(s *State) error {
	if err := s.checkTerm(c.Term); err != nil {
		return err
	}
	t, err := s.Table(c.Table)
	if err != nil {
		return err
	}
	return t.checkRows(c.Step, c.Rows)
}

func (c *Put) execute(s *State) Reply {
	s.tables[c.Table].put(c)
	return Reply{}
}

func (t *Table) checkRows(step uint64, rows []Row) error {
	if !t.Dynamic {
		return fmt.Errorf("parameterserver: table %s is not dynamic; assign its values", t.Name)
	}
	for i := range rows {
		row := &rows[i]
		if len(row.Values) != t.Width || len(row.Slots) != t.rows.length-t.Width {
			return fmt.Errorf("parameterserver: table %s: a row of %d numbers with %d of the optimizer; expected %d and %d", t.Name, len(row.Values), len(row.Slots), t.Width, t.rows.length-t.Width)
		}
		if row.Step > max(step, t.Step) || len(row.Name) > maxText {
			return fmt.Errorf("parameterserver: table %s: a row that is as of update %d of %d, with a key of %d bytes", t.Name, row.Step, max(step, t.Step), len(row.Name))
		}
	}
	return nil
}

func (t *Table) put(c *Put) {
	t.Version, t.Step = max(t.Version, c.Version), max(t.Step, c.Step)
	if len(c.Rates) > len(t.rates) {
		t.rates = c.Rates
	}
	for i := range c.Rows {
		t.rows.put(&c.Rows[i])
	}
}

// NewTable makes a dynamic table of one process.
func NewTable(d Definition, l Limits) (*Table, error) {
	if err := d.Check(); err != nil {
		return nil, err
	}
	if !d.Dynamic {
		return nil, fmt.Errorf("parameterserver: table %s is not dynamic", d.Name)
	}
	t := newTable(d, l)
	return t, t.rows.fault
}

// Apply makes an update of a table of one process.
func (t *Table) Apply(u *Update) error {
	if err := u.check(t); err != nil {
		return err
	}
	t.apply(u)
	return t.rows.fault
}

// Put gives a table of one process rows.
func (t *Table) Put(c *Put) error {
	if err := t.checkRows(c.Step, c.Rows); err != nil {
		return err
	}
	t.put(c)
	return t.rows.fault
}

// Rates are the learning rates so far.
func (t *Table) Rates() Rates { return t.rates }

// Close frees what a table of one process has on disk.
func (t *Table) Close() error { return t.rows.close() }

// FirstSlots is the state of the optimizer that a row begins with.
func (t *Table) FirstSlots() []float32 {
	row := make([]float32, t.rows.length)
	t.rows.first(0, row)
	return row[t.Width:]
}

// Pairs are the rates as pairs of an update and the rate from there on.
func (l Rates) Pairs() [][2]float64 {
	out := make([][2]float64, len(l))
	for i, span := range l {
		out[i] = [2]float64{float64(span.from), span.rate}
	}
	return out
}

// RatesOf is the reverse of Pairs.
func RatesOf(pairs [][2]float64) Rates {
	out := make(Rates, len(pairs))
	for i, p := range pairs {
		out[i] = rateSpan{uint64(p[0]), p[1]}
	}
	return out
}
