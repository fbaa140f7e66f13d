package reference

import (
	"fmt"
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
)

// shapeAt returns the lengths of the given axes.
func shapeAt(s ir.Shape, axes []int) ir.Shape {
	out := make(ir.Shape, len(axes))
	for i, a := range axes {
		out[i] = s[a]
	}
	return out
}

// others returns the axes below rank that are in neither list.
func others(rank int, used ...[]int) []int {
	taken := make([]bool, rank)
	for _, list := range used {
		for _, a := range list {
			taken[a] = true
		}
	}
	var free []int
	for a, t := range taken {
		if !t {
			free = append(free, a)
		}
	}
	return free
}

func (c *call) dot() error {
	a := c.node.Attrs.(ir.DotAttrs)
	x, y := c.in[0], c.in[1]
	xs, ys := x.Type.Shape, y.Type.Shape
	xFree, yFree := others(len(xs), a.LhsBatch, a.LhsContract), others(len(ys), a.RhsBatch, a.RhsContract)
	batch := len(a.LhsBatch)
	xAt, yAt := make([]int, len(xs)), make([]int, len(ys))
	put := func(to, axes, from []int) {
		for i, axis := range axes {
			to[axis] = from[i]
		}
	}
	for i, at := range indices(c.out[0].Type.Shape) {
		put(xAt, a.LhsBatch, at)
		put(yAt, a.RhsBatch, at)
		put(xAt, xFree, at[batch:])
		put(yAt, yFree, at[batch+len(xFree):])
		floats, integers := 0.0, int64(0)
		for _, k := range indices(shapeAt(xs, a.LhsContract)) {
			put(xAt, a.LhsContract, k)
			put(yAt, a.RhsContract, k)
			l, r := position(xs, xAt), position(ys, yAt)
			if x.F != nil {
				floats += x.F[l] * y.F[r]
			} else {
				integers += x.I[l] * y.I[r]
			}
		}
		if x.F != nil {
			c.out[0].F[i] = floats
		} else {
			c.out[0].I[i] = wrap(c.out[0].Type.DType, integers)
		}
	}
	return nil
}

// lookup resolves element i of indices for an axis of the given length. It reports false when the access is dropped.
func lookup(indices Value, i int, mode ir.IndexMode, axis, length int) (index int, ok bool, err error) {
	d, raw := indices.Type.DType, indices.I[i]
	negative := less(d, raw, 0)
	if !negative && less(d, raw, int64(length)) {
		return int(raw), true, nil
	}
	switch {
	case mode == ir.IndexDrop || mode == ir.IndexClip && length == 0:
		return 0, false, nil
	case mode == ir.IndexClip && negative:
		return 0, true, nil
	case mode == ir.IndexClip:
		return length - 1, true, nil
	}
	text := fmt.Sprint(raw)
	if d == ir.Uint64 {
		text = fmt.Sprint(uint64(raw))
	}
	return 0, false, fmt.Errorf("index %s (element %d of the indices) is outside axis %d of length %d", text, i, axis, length)
}

// gatherInto copies rows of table to c.out[0]: the result's shape is table.shape[:axis] + indices.shape +
// table.shape[axis+1:].
func (c *call) gatherInto(table, where Value, axis int, mode ir.IndexMode) error {
	y, rank := c.out[0], len(where.Type.Shape)
	from := make([]int, len(table.Type.Shape))
	for i, at := range indices(y.Type.Shape) {
		index, ok, err := lookup(where, position(where.Type.Shape, at[axis:axis+rank]), mode, axis, table.Type.Shape[axis])
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		copy(from, at[:axis])
		from[axis] = index
		copy(from[axis+1:], at[axis+rank:])
		y.set(i, table, position(table.Type.Shape, from))
	}
	return nil
}

func (c *call) gather() error {
	a := c.node.Attrs.(ir.GatherAttrs)
	return c.gatherInto(c.in[0], c.in[1], a.Axis, a.Mode)
}

func (c *call) embedding() error {
	return c.gatherInto(c.in[0], c.in[1], 0, ir.IndexError)
}

// scatterInto combines updates into c.out[0], in index order.
func (c *call) scatterInto(where, updates Value, axis int, kind ir.Kind, mode ir.IndexMode) error {
	y, rank := c.out[0], len(where.Type.Shape)
	d := y.Type.DType
	to := make([]int, len(y.Type.Shape))
	for i, at := range indices(updates.Type.Shape) {
		index, ok, err := lookup(where, position(where.Type.Shape, at[axis:axis+rank]), mode, axis, y.Type.Shape[axis])
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		copy(to, at[:axis])
		to[axis] = index
		copy(to[axis+1:], at[axis+rank:])
		n := position(y.Type.Shape, to)
		switch {
		case kind == ir.Set:
			y.set(n, updates, i)
		case d.IsFloat():
			y.F[n] = floatCombine(kind, y.F[n], updates.F[i])
		default:
			y.I[n] = integerCombine(kind, d, y.I[n], updates.I[i])
		}
	}
	return nil
}

func (c *call) scatter() error {
	a := c.node.Attrs.(ir.ScatterAttrs)
	copy(c.out[0].F, c.in[0].F)
	copy(c.out[0].I, c.in[0].I)
	return c.scatterInto(c.in[1], c.in[2], a.Axis, a.Kind, a.Mode)
}

func (c *call) embeddingGrad() error {
	return c.scatterInto(c.in[1], c.in[2], 0, ir.Sum, ir.IndexError)
}

func floatCombine(k ir.Kind, x, y float64) float64 {
	switch k {
	case ir.Sum:
		return x + y
	case ir.Prod:
		return x * y
	case ir.Max:
		return maximum(x, y)
	}
	return minimum(x, y)
}

func integerCombine(k ir.Kind, d ir.DType, x, y int64) int64 {
	switch k {
	case ir.Sum:
		return wrap(d, x+y)
	case ir.Prod:
		return wrap(d, x*y)
	case ir.And:
		return x & y
	case ir.Or:
		return x | y
	case ir.Max:
		return integerBinary[ir.Maximum](d, x, y)
	}
	return integerBinary[ir.Minimum](d, x, y)
}

// neutral returns a scalar that changes nothing when it is combined.
func neutral(k ir.Kind, d ir.DType) Value {
	v := zeros(ir.Type{DType: d})
	x := map[ir.Kind]float64{ir.Prod: 1, ir.And: 1, ir.Max: math.Inf(-1), ir.Min: math.Inf(1)}[k]
	if d.IsFloat() {
		v.F[0] = x
	} else {
		v.I[0] = integer(d, ir.AppendElement(nil, d, x), 0) // infinities become the extreme integers
	}
	return v
}

// combine folds element j of y into element i of x.
func combine(k ir.Kind, x Value, i int, y Value, j int) {
	if x.F != nil {
		x.F[i] = floatCombine(k, x.F[i], y.F[j])
	} else {
		x.I[i] = integerCombine(k, x.Type.DType, x.I[i], y.I[j])
	}
}

func (c *call) reduce() error {
	a := c.node.Attrs.(ir.ReduceAttrs)
	x, y := c.in[0], c.out[0]
	start := neutral(a.Kind, x.Type.DType)
	for i := range y.Type.Shape.Size() {
		y.set(i, start, 0)
	}
	kept := others(len(x.Type.Shape), a.Axes)
	for i, at := range indices(x.Type.Shape) {
		to := make([]int, len(kept))
		for k, axis := range kept {
			to[k] = at[axis]
		}
		combine(a.Kind, y, position(y.Type.Shape, to), x, i)
	}
	return nil
}

func (c *call) cumulative() error {
	a := c.node.Attrs.(ir.CumulativeAttrs)
	x, y := c.in[0], c.out[0]
	for _, line := range lines(x.Type.Shape, a.Axis) {
		running := neutral(a.Kind, x.Type.DType)
		for k := range line {
			i := line[k]
			if a.Reverse {
				i = line[len(line)-1-k]
			}
			if a.Exclusive {
				y.set(i, running, 0)
			}
			combine(a.Kind, running, 0, x, i)
			if !a.Exclusive {
				y.set(i, running, 0)
			}
		}
	}
	return nil
}
