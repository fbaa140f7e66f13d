package lower

import (
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Pooling is computed where its result is read, like elementwise ops. An element of a gradient reads all windows that
// cover it, so that no two threads add to the same sum.

// pooling slides a window over the spatial axes of (batch, spatial..., channels).
type pooling struct {
	*gen
	m             *calc
	d             ir.DType
	a             ir.PoolAttrs
	input, output ir.Shape // including batch and channels
}

// unrolledTaps is the maximum number of window elements that are read without a loop, so that their loads overlap.
const unrolledTaps = 16

func (g *gen) pooling(d ir.DType, a ir.PoolAttrs, input, output ir.Shape) *pooling {
	return &pooling{g, g.calc(classOf(d)), d, a, input, output}
}

var pools = map[ir.Op]func(g *gen, n *ir.Node, x *index) ptx.Operand{
	ir.MaxPool: (*gen).pool, ir.AvgPool: (*gen).pool, ir.MaxPoolGrad: (*gen).maxPoolGrad, ir.AvgPoolGrad: (*gen).averagePoolGrad,
}

func isPool(op ir.Op) bool { return pools[op] != nil }

// taps is the number of elements of a window.
func taps(a ir.PoolAttrs) int { return ir.Shape(a.Window).Size() }

// covering is the maximum number of windows along an axis that cover an element.
func (w *pooling) covering(axis int) int {
	return (w.a.Window[axis] + w.a.Strides[axis] - 1) / w.a.Strides[axis]
}

// poolWeight is the number of values that a pooling computes or reads for an element.
func poolWeight(p *ir.Program, n *ir.Node) int {
	switch a := n.Attrs.(type) {
	case ir.PoolAttrs:
		if n.Op == ir.MaxPoolGrad {
			return 2 * taps(a)
		}
		return taps(a)
	case ir.PoolGradAttrs:
		return taps(a.Pool)
	}
	return 0
}

// overlaps reports whether a pooling reads elements of its first operand several times.
func overlaps(n *ir.Node) bool {
	a, ok := n.Attrs.(ir.PoolAttrs)
	for i := range a.Window {
		ok = ok && a.Window[i] <= a.Strides[i]
	}
	return !ok || n.Op == ir.MaxPoolGrad
}

// bounds returns the first cell of window o along an axis that is not padding, and the one after the last.
func (w *pooling) bounds(axis int, o ptx.Operand) (low, high ptx.Operand) {
	size, length := w.a.Window[axis], w.input[axis+1]
	first := w.gen.sub(w.times(o, w.a.Strides[axis]), ptx.Int32(int64(w.a.PadLow[axis])))
	low, high = first, w.gen.add(first, ptx.Int32(int64(size)))
	if w.a.PadLow[axis] > 0 {
		low = w.k.Op(ptx.B32, "max.s32", w.gen.mov(ptx.B32, first), ptx.Int32(0))
	}
	if (w.output[axis+1]-1)*w.a.Strides[axis]-w.a.PadLow[axis]+size > length {
		high = w.k.Op(ptx.B32, "min.s32", w.gen.mov(ptx.B32, high), ptx.Int32(int64(length)))
	}
	return low, high
}

// isPadded reports whether some windows along an axis contain padding.
func (w *pooling) isPadded(axis int) bool {
	return w.a.PadLow[axis] > 0 || (w.output[axis+1]-1)*w.a.Strides[axis]-w.a.PadLow[axis]+w.a.Window[axis] > w.input[axis+1]
}

// visit writes code for each cell of an output's window that is not padding. Small windows are unrolled; cells of
// padding are visited too then, but do not count.
func (w *pooling) visit(out []ptx.Operand, f func(cell []ptx.Operand, counts ptx.Operand)) {
	n := len(w.a.Window)
	cell := append([]ptx.Operand{}, out...)
	low, high := make([]ptx.Operand, n), make([]ptx.Operand, n)
	for i := range n {
		low[i], high[i] = w.bounds(i, out[i+1])
	}
	if taps(w.a) > unrolledTaps {
		w.each(low, high, func(at []ptx.Operand) {
			copy(cell[1:], at)
			f(append([]ptx.Operand{}, cell...), ptx.Operand{})
		})
		return
	}
	var visit func(axis int, counts ptx.Operand)
	visit = func(axis int, counts ptx.Operand) {
		if axis == n {
			f(append([]ptx.Operand{}, cell...), counts)
			return
		}
		for tap := range w.a.Window[axis] {
			inside := counts
			cell[axis+1] = w.gen.add(low[axis], ptx.Int32(int64(tap)))
			if w.isPadded(axis) { // past the end, read the last cell again
				in := w.compare("lt", "s32", w.gen.mov(ptx.B32, cell[axis+1]), high[axis])
				last := w.gen.sub(high[axis], ptx.Int32(1))
				cell[axis+1] = w.k.Op(ptx.B32, "min.s32", w.gen.mov(ptx.B32, cell[axis+1]), last)
				if inside.IsZero() {
					inside = in
				} else {
					inside = w.both(inside, in)
				}
			}
			visit(axis+1, inside)
		}
	}
	visit(0, ptx.Operand{})
}

// each writes loops over all indices from low to below high.
func (w *pooling) each(low, high []ptx.Operand, f func(at []ptx.Operand)) {
	at := make([]ptx.Operand, len(low))
	var nest func(axis int)
	nest = func(axis int) {
		if axis == len(low) {
			f(at)
			return
		}
		w.loop(low[axis], high[axis], 1, func(i ptx.Operand) {
			at[axis] = i
			nest(axis + 1)
		})
	}
	nest(0)
}

// count is the number of a window's cells that are not padding, as a float.
func (w *pooling) count(out []ptx.Operand) ptx.Operand {
	known, cells := 1, ptx.Operand{}
	for i := range w.a.Window {
		if !w.isPadded(i) {
			known *= w.a.Window[i]
			continue
		}
		low, high := w.bounds(i, out[i+1])
		length := w.gen.sub(high, low)
		if cells.IsZero() {
			cells = length
		} else {
			cells = w.k.Op(ptx.B32, "mul.lo.s32", cells, length)
		}
	}
	if cells.IsZero() {
		return w.m.num(float64(known))
	}
	return w.k.Op(w.m.c, "cvt.rn."+w.m.s+".s32", w.gen.mov(ptx.B32, w.times(cells, known)))
}

// pool is the maximum or the mean of a window.
func (g *gen) pool(n *ir.Node, x *index) ptx.Operand {
	in := g.p.Type(n.Inputs[0])
	w := g.pooling(in.DType, n.Attrs.(ir.PoolAttrs), in.Shape, g.p.Type(n.Outputs[0]).Shape)
	out := g.split(x)
	kind := map[ir.Op]ir.Kind{ir.MaxPool: ir.Max, ir.AvgPool: ir.Sum}[n.Op]
	result := g.mov(w.m.c, g.neutral(kind, w.d))
	w.visit(out, func(cell []ptx.Operand, counts ptx.Operand) {
		e := g.register(w.d, g.value(n.Inputs[0], along(in.Shape, cell)))
		if kind == ir.Sum && !counts.IsZero() {
			e = g.pick(counts, e, w.m.num(0))
		}
		g.assign(result, g.combine(kind, w.d, result, e))
	})
	if kind == ir.Max {
		return result
	}
	return w.m.div(result, w.count(out))
}

// windows writes code for each window that covers an element: the window's position, and the element's number in it.
// Windows closer to the end come first, so that the numbers increase.
func (w *pooling) windows(x []ptx.Operand, f func(out []ptx.Operand, number ptx.Operand)) {
	n := len(w.a.Window)
	nearest, tap := make([]ptx.Operand, n), make([]ptx.Operand, n)
	candidates := 1
	for i, stride := range w.a.Strides {
		padded := w.gen.add(x[i+1], ptx.Int32(int64(w.a.PadLow[i])))
		nearest[i], tap[i] = w.gen.mov(ptx.B32, w.over(padded, stride)), w.gen.mov(ptx.B32, w.mod(padded, stride))
		candidates *= w.covering(i)
	}
	// one is the window that is back[i] before the nearest one along each axis.
	one := func(back []ptx.Operand) {
		out := append([]ptx.Operand{}, x...)
		number, inside := ptx.Int32(0), ptx.Operand{}
		for i, b := range back {
			o := w.gen.mov(ptx.B32, w.gen.sub(nearest[i], b))
			t := w.gen.mov(ptx.B32, w.gen.add(tap[i], w.times(b, w.a.Strides[i])))
			out[i+1] = o
			number = w.gen.add(w.times(number, w.a.Window[i]), t)
			in := w.both(w.compare("lt", "u32", o, ptx.Int32(int64(w.output[i+1]))), w.compare("lt", "u32", t, ptx.Int32(int64(w.a.Window[i]))))
			if !inside.IsZero() {
				in = w.both(inside, in)
			}
			inside = in
		}
		skip := w.k.Label()
		w.k.BranchUnless(inside, skip)
		w.apart(func() { f(out, number) })
		w.k.Place(skip)
	}
	low, high := make([]ptx.Operand, n), make([]ptx.Operand, n)
	for i := range n {
		low[i], high[i] = ptx.Int32(0), ptx.Int32(int64(w.covering(i)))
	}
	if candidates > 4 {
		w.each(low, high, one)
		return
	}
	for c := range candidates {
		back := make([]ptx.Operand, n)
		for i := n - 1; i >= 0; i-- {
			back[i] = ptx.Int32(int64(c % w.covering(i)))
			c /= w.covering(i)
		}
		one(back)
	}
}

// averagePoolGrad adds up the element's shares of the gradients of its windows.
func (g *gen) averagePoolGrad(n *ir.Node, x *index) ptx.Operand {
	a, dy := n.Attrs.(ir.PoolGradAttrs), g.p.Type(n.Inputs[0])
	w := g.pooling(dy.DType, a.Pool, a.Shape, dy.Shape)
	sum := g.mov(w.m.c, w.m.num(0))
	if dy.Shape.Size() == 0 {
		return sum
	}
	w.windows(g.split(x), func(out []ptx.Operand, _ ptx.Operand) {
		e := g.register(w.d, g.value(n.Inputs[0], along(dy.Shape, out)))
		g.assign(sum, w.m.add(sum, w.m.div(e, w.count(out))))
	})
	return sum
}

// maxPoolGrad adds up the gradients of the windows in which the element is the first maximum.
func (g *gen) maxPoolGrad(n *ir.Node, x *index) ptx.Operand {
	in, y := g.p.Type(n.Inputs[0]), g.p.Type(n.Inputs[1])
	w := g.pooling(in.DType, n.Attrs.(ir.PoolAttrs), in.Shape, y.Shape)
	sum := g.mov(w.m.c, w.m.num(0))
	if y.Shape.Size() == 0 {
		return sum
	}
	e := g.register(w.d, g.value(n.Inputs[0], x))
	w.windows(g.split(x), func(out []ptx.Operand, number ptx.Operand) {
		largest := g.register(w.d, g.value(n.Inputs[1], along(y.Shape, out)))
		skip := g.k.Label()
		is := func(e ptx.Operand) ptx.Operand { return g.either(w.m.is("eq", e, largest), w.m.nan(e)) }
		g.k.BranchUnless(is(e), skip)
		before := make([]ptx.Operand, len(w.a.Window)) // the first cell, padding or not
		for i, stride := range w.a.Strides {
			before[i] = g.sub(g.times(out[i+1], stride), ptx.Int32(int64(w.a.PadLow[i])))
		}
		g.loop(ptx.Int32(0), number, 1, func(tap ptx.Operand) {
			cell := append([]ptx.Operand{}, out...)
			inside := ptx.Operand{}
			for i, t := range g.decompose(tap, w.a.Window) {
				cell[i+1] = g.mov(ptx.B32, g.add(before[i], t))
				if !w.isPadded(i) {
					continue
				}
				in := g.compare("lt", "u32", cell[i+1], ptx.Int32(int64(w.input[i+1])))
				if !inside.IsZero() {
					in = g.both(inside, in)
				}
				inside = in
			}
			next := g.k.Label()
			if !inside.IsZero() {
				g.k.BranchUnless(inside, next)
			}
			g.k.BranchIf(is(g.register(w.d, g.value(n.Inputs[0], along(in.Shape, cell)))), skip)
			g.k.Place(next)
		})
		g.assign(sum, w.m.add(sum, g.register(w.d, g.value(n.Inputs[2], along(y.Shape, out)))))
		g.k.Place(skip)
	})
	return sum
}
