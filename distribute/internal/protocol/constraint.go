package protocol

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Constraint is applied after each update of a table from gradients, with the formulas of Keras's constraints. It
// changes all rows, including those without a gradient. The zero value is [NoConstraint].
type Constraint struct {
	Kind ConstraintKind
	// Axes are the axes of the variable along which the vectors of bounded length run, as bits: bit i stands for axis
	// i.
	Axes     uint64
	Min, Max float64 // of a length: MaxNorm has the second one, MinMaxNorm both
	Rate     float64 // MinMaxNorm: share of the way to the bounds
	// Program is the text of the program that a [Computed] constraint is, and Hash what tells it from others: one
	// program may be written in several ways.
	Program, Hash string
}

// ConstraintKind names a constraint.
type ConstraintKind uint8

// The constraints.
const (
	NoConstraint ConstraintKind = iota
	MaxNorm                     // w · min(‖w‖, Max) / (1e-7 + ‖w‖)
	NonNeg                      // w where it is at least 0, else 0
	UnitNorm                    // w / (1e-7 + ‖w‖)
	MinMaxNorm                  // w · (Rate · clip(‖w‖, Min, Max) + (1 - Rate) · ‖w‖) / (1e-7 + ‖w‖)
	Computed                    // what a program makes of w, all of it
	constraintKinds
)

// norm reports whether the constraint depends on lengths of vectors.
func (c *Constraint) norm() bool {
	return c.Kind == MaxNorm || c.Kind == UnitNorm || c.Kind == MinMaxNorm
}

// AcrossRows reports whether vectors run along the first axis, or a program sees all rows, so that rows cannot be
// treated one by one.
func (c *Constraint) AcrossRows() bool { return c.norm() && c.Axes&1 != 0 || c.Kind == Computed }

// same reports whether both do the same.
func (c Constraint) same(o Constraint) bool {
	c.Program, o.Program = "", ""
	return c == o
}

// check returns an error if a table cannot have the constraint.
func (c *Constraint) check(d *Definition) error {
	for _, v := range []float64{c.Min, c.Max, c.Rate} {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("the numbers of a constraint must be finite")
		}
	}
	if c.Kind >= constraintKinds {
		return fmt.Errorf("the constraint is not known")
	}
	if c.Kind == NoConstraint {
		return nil
	}
	if d.Dynamic {
		return fmt.Errorf("a dynamic table has no constraint")
	}
	lengths, err := d.lengths()
	if err != nil {
		return err
	}
	switch {
	case c.norm() && (c.Axes == 0 || c.Axes>>len(lengths) != 0):
		return fmt.Errorf("a constraint along the axes %b, as bits, of the shape (%s)", c.Axes, d.Shape)
	case c.AcrossRows() && len(lengths) > 0 && (d.First != 0 || d.Rows != lengths[0]):
		return fmt.Errorf("a constraint along axis 0 needs all rows on one server; this shard has %d from row %d of %d", d.Rows, d.First, lengths[0])
	}
	if c.Kind != Computed {
		return nil
	}
	if _, err := openComputation(c, lengths); err != nil {
		return fmt.Errorf("its constraint: %w", err)
	}
	return nil
}

// lengths is the shape of the variable; its rows are those of the table where they are not cut.
func (d *Definition) lengths() ([]int, error) {
	if d.Shape == "" {
		return nil, nil
	}
	var out []int
	width := 1
	for i, word := range strings.Split(d.Shape, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("%.100q is not a shape", d.Shape)
		}
		if out = append(out, n); i > 0 {
			if n > 0 && width > math.MaxInt/n {
				return nil, fmt.Errorf("%.100q is not a shape", d.Shape)
			}
			width *= n
		}
	}
	if width != d.Width {
		return nil, fmt.Errorf("rows of %d numbers do not have the shape (%s)", d.Width, d.Shape)
	}
	return out, nil
}

// constrain applies the constraint to all rows.
func (t *Table) constrain() {
	c := &t.Constraint
	switch {
	case c.Kind == NoConstraint:
	case c.Kind == Computed:
		t.compute()
	case c.Kind == NonNeg:
		for i, v := range t.values {
			if v < 0 {
				t.values[i] = 0
			}
		}
	case len(t.values) == 0:
	default:
		lengths, err := t.lengths()
		if err != nil { // it was checked
			return
		}
		if c.AcrossRows() {
			newVectors(lengths, c.Axes).rescale(c, t.values)
			return
		}
		row := newVectors(lengths[1:], c.Axes>>1)
		for r := range t.Rows {
			row.rescale(c, t.row(r))
		}
	}
}

// vectors are those of an array whose lengths are bounded: they run along some axes, and there is one for each place on
// the others. Neighbouring axes of one kind are one here.
type vectors struct {
	lengths []int
	along   []bool // of each axis: vectors run along it
	strides []int  // in squares; 0 along vectors
	squares []float64
	factors []float32
}

func newVectors(shape []int, axes uint64) *vectors {
	v := &vectors{}
	for i, n := range shape {
		along := axes>>i&1 == 1
		if last := len(v.lengths) - 1; last >= 0 && v.along[last] == along {
			v.lengths[last] *= n
			continue
		}
		v.lengths, v.along = append(v.lengths, n), append(v.along, along)
	}
	v.strides = make([]int, len(v.lengths))
	count := 1
	for i := len(v.lengths) - 1; i >= 0; i-- {
		if !v.along[i] {
			v.strides[i] = count
			count *= v.lengths[i]
		}
	}
	v.squares, v.factors = make([]float64, count), make([]float32, count)
	return v
}

// each calls f for each run of elements along the last axis, with the place of its first vector.
func (v *vectors) each(values []float32, f func(run []float32, place int)) {
	last := len(v.lengths) - 1
	var walk func(axis, place int)
	walk = func(axis, place int) {
		if axis == last {
			f(values[:v.lengths[last]], place)
			values = values[v.lengths[last]:]
			return
		}
		for i := range v.lengths[axis] {
			walk(axis+1, place+i*v.strides[axis])
		}
	}
	walk(0, 0)
}

// keptApart keeps divisions by a length of 0 apart from NaN; it is keras.backend.epsilon().
const keptApart = 1e-7

func (v *vectors) rescale(c *Constraint, values []float32) {
	inner := !v.along[len(v.along)-1]
	clear(v.squares)
	v.each(values, func(run []float32, place int) {
		if inner {
			squares := v.squares[place : place+len(run)]
			for i, x := range run {
				squares[i] += float64(x) * float64(x)
			}
			return
		}
		sum := 0.0
		for _, x := range run {
			sum += float64(x) * float64(x)
		}
		v.squares[place] += sum
	})
	for i, s := range v.squares {
		norm := float32(math.Sqrt(s))
		wanted := norm
		switch c.Kind {
		case MaxNorm:
			wanted = min(norm, float32(c.Max))
		case MinMaxNorm:
			wanted = min(max(norm, float32(c.Min)), float32(c.Max))
			if c.Rate != 1 {
				wanted = wanted*float32(c.Rate) + norm*float32(1-c.Rate)
			}
		}
		if v.factors[i] = norm + keptApart; c.Kind != UnitNorm {
			v.factors[i] = wanted / v.factors[i]
		}
	}
	unit := c.Kind == UnitNorm
	v.each(values, func(run []float32, place int) {
		switch {
		case unit && inner:
			for i := range run {
				run[i] /= v.factors[place+i]
			}
		case unit:
			for i := range run {
				run[i] /= v.factors[place]
			}
		case inner:
			for i := range run {
				run[i] *= v.factors[place+i]
			}
		default:
			for i := range run {
				run[i] *= v.factors[place]
			}
		}
	})
}

func (c *Constraint) encode(w *Writer) {
	w.Byte(byte(c.Kind))
	w.Uint(c.Axes)
	w.Float(c.Min)
	w.Float(c.Max)
	w.Float(c.Rate)
	w.String(c.Program)
	w.String(c.Hash)
}

func (c *Constraint) decode(r *Reader) {
	c.Kind, c.Axes = ConstraintKind(r.Byte()), r.Uint()
	c.Min, c.Max, c.Rate = r.Float(), r.Float(), r.Float()
	c.Program, c.Hash = r.String(), r.String()
}
