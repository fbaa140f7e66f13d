package lower

import (
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
)

func (g *gen) transpose(n *ir.Node, x *index) ptx.Operand {
	to := g.split(x)
	from := make([]ptx.Operand, len(to))
	for i, a := range n.Attrs.(ir.TransposeAttrs).Perm {
		from[a] = to[i]
	}
	return g.value(n.Inputs[0], along(g.p.Type(n.Inputs[0]).Shape, from))
}

func (g *gen) broadcast(n *ir.Node, x *index) ptx.Operand {
	shape := g.p.Type(n.Inputs[0]).Shape
	if shape.Size() == 1 {
		return g.value(n.Inputs[0], at(shape, ptx.Int32(0)))
	}
	to := g.split(x)
	from := make([]ptx.Operand, len(shape))
	for i, a := range n.Attrs.(ir.BroadcastAttrs).Axes {
		from[i] = to[a]
		if shape[i] == 1 {
			from[i] = ptx.Int32(0)
		}
	}
	return g.value(n.Inputs[0], along(shape, from))
}

func (g *gen) slice(n *ir.Node, x *index) ptx.Operand {
	a := n.Attrs.(ir.SliceAttrs)
	from := make([]ptx.Operand, len(a.Start))
	for i, k := range g.split(x) {
		from[i] = g.add(g.times(k, a.Stride[i]), ptx.Int32(int64(a.Start[i])))
	}
	return g.value(n.Inputs[0], along(g.p.Type(n.Inputs[0]).Shape, from))
}

func (g *gen) reverse(n *ir.Node, x *index) ptx.Operand {
	shape := g.p.Type(n.Inputs[0]).Shape
	from := append([]ptx.Operand{}, g.split(x)...)
	for _, a := range n.Attrs.(ir.AxesAttrs).Axes {
		from[a] = g.sub(ptx.Int32(int64(shape[a]-1)), from[a])
	}
	return g.value(n.Inputs[0], along(shape, from))
}

// pad reads the operand at a clamped index, and selects the padding value outside.
func (g *gen) pad(n *ir.Node, x *index) ptx.Operand {
	a, shape := n.Attrs.(ir.PadAttrs), g.p.Type(n.Inputs[0]).Shape
	outside := g.value(n.Inputs[1], at(nil, ptx.Int32(0)))
	if shape.Size() == 0 {
		return outside
	}
	from := append([]ptx.Operand{}, g.split(x)...)
	var inside ptx.Operand
	for i := range from {
		if a.Low[i] == 0 && a.Interior[i] == 0 && a.High[i] <= 0 {
			continue
		}
		k := g.mov(ptx.B32, g.sub(from[i], ptx.Int32(int64(a.Low[i]))))
		reach := shape[i] + (shape[i]-1)*a.Interior[i]
		in := g.compare("lt", "u32", k, ptx.Int32(int64(reach)))
		if step := a.Interior[i] + 1; step > 1 {
			q := g.over(k, step)
			in = g.both(in, g.compare("eq", "s32", k, g.times(q, step)))
			k = q
		}
		from[i] = g.pick(in, k, ptx.Int32(0))
		if inside.IsZero() {
			inside = in
		} else {
			inside = g.both(inside, in)
		}
	}
	y := g.value(n.Inputs[0], along(shape, from))
	if inside.IsZero() {
		return y
	}
	return g.pick(inside, y, outside)
}

// concat reads each operand at a clamped index, and selects the one that contains the element.
func (g *gen) concat(n *ir.Node, x *index) ptx.Operand {
	axis := n.Attrs.(ir.AxisAttrs).Axis
	to := g.split(x)
	var y ptx.Operand
	first := 0
	for _, v := range n.Inputs {
		shape := g.p.Type(v).Shape
		if shape.Size() == 0 {
			continue
		}
		from := append([]ptx.Operand{}, to...)
		k := g.sub(to[axis], ptx.Int32(int64(first)))
		if y.IsZero() {
			from[axis] = g.k.Op(ptx.B32, "min.u32", k, ptx.Int32(int64(shape[axis]-1)))
			y = g.value(v, along(shape, from))
		} else {
			mine := g.compare("ge", "u32", g.mov(ptx.B32, to[axis]), ptx.Int32(int64(first)))
			k = g.pick(mine, k, ptx.Int32(0))
			from[axis] = g.k.Op(ptx.B32, "min.u32", k, ptx.Int32(int64(shape[axis]-1)))
			y = g.pick(mine, g.value(v, along(shape, from)), y)
		}
		first += shape[axis]
	}
	return y
}

// starts are the start indices of a dynamic slice, clamped so that the slice fits.
func (g *gen) starts(values []ir.Value, shape ir.Shape, sizes []int) []ptx.Operand {
	starts := make([]ptx.Operand, len(values))
	for i, v := range values {
		if shape[i] == sizes[i] {
			starts[i] = ptx.Int32(0)
			continue
		}
		s := g.value(v, at(nil, ptx.Int32(0)))
		s = g.k.Op(ptx.B32, "max.s32", s, ptx.Int32(0))
		starts[i] = g.k.Op(ptx.B32, "min.s32", s, ptx.Int32(int64(shape[i]-sizes[i])))
	}
	return starts
}

func (g *gen) dynamicSlice(n *ir.Node, x *index) ptx.Operand {
	shape := g.p.Type(n.Inputs[0]).Shape
	from := append([]ptx.Operand{}, g.split(x)...)
	for i, s := range g.starts(n.Inputs[1:], shape, n.Attrs.(ir.DynamicSliceAttrs).Sizes) {
		from[i] = g.add(from[i], s)
	}
	return g.value(n.Inputs[0], along(shape, from))
}

func (g *gen) dynamicUpdate(n *ir.Node, x *index) ptx.Operand {
	shape, cut := g.p.Type(n.Inputs[0]).Shape, g.p.Type(n.Inputs[1]).Shape
	old := g.value(n.Inputs[0], x)
	if cut.Size() == 0 {
		return old
	}
	from := append([]ptx.Operand{}, g.split(x)...)
	var inside ptx.Operand
	for i, s := range g.starts(n.Inputs[2:], shape, cut) {
		if shape[i] == cut[i] {
			continue
		}
		k := g.mov(ptx.B32, g.sub(from[i], s))
		in := g.compare("lt", "u32", k, ptx.Int32(int64(cut[i])))
		from[i] = g.pick(in, k, ptx.Int32(0))
		if inside.IsZero() {
			inside = in
		} else {
			inside = g.both(inside, in)
		}
	}
	y := g.value(n.Inputs[1], along(cut, from))
	if inside.IsZero() {
		return y
	}
	return g.pick(inside, y, old)
}

// inAxis clamps an index to a nonempty axis and says whether it was inside.
func (g *gen) inAxis(d ir.DType, i ptx.Operand, length int) (clamped, inside ptx.Operand) {
	k, c, s := g.k, classOf(d), suffix(d)
	i = g.mov(c, i)
	last := g.integer(c, int64(length-1))
	unsigned := "u32"
	if c == ptx.B64 {
		unsigned = "u64"
	}
	inside = g.compare("le", unsigned, i, last) // negative ones are very large as unsigned numbers
	if d.IsSigned() {
		i = k.Op(c, "max."+s, i, g.integer(c, 0))
	}
	i = k.Op(c, "min."+s, i, last)
	if c == ptx.B64 {
		i = k.Op(ptx.B32, "cvt.u32.u64", i)
	}
	return i, inside
}

// gather reads where the indices say. If indices outside are errors, a separate kernel checks them.
func (g *gen) gather(n *ir.Node, x *index) ptx.Operand {
	a := n.Attrs.(ir.GatherAttrs)
	table, where := g.p.Type(n.Inputs[0]), g.p.Type(n.Inputs[1])
	d := table.DType
	if table.Shape.Size() == 0 {
		return g.constant(d, 0)
	}
	to := g.split(x)
	rank := len(where.Shape)
	i := g.value(n.Inputs[1], along(where.Shape, to[a.Axis:a.Axis+rank]))
	i, inside := g.inAxis(where.DType, i, table.Shape[a.Axis])
	from := append([]ptx.Operand{}, to[:a.Axis]...)
	from = append(append(from, i), to[a.Axis+rank:]...)
	y := g.value(n.Inputs[0], along(table.Shape, from))
	if a.Mode != ir.IndexDrop {
		return y
	}
	return g.pick(inside, y, g.constant(d, 0))
}

// resample is a weighted sum of cells along an axis, computed in at least float32.
func (g *gen) resample(n *ir.Node, x *index) ptx.Operand {
	a := n.Attrs.(ir.ResampleAttrs)
	t := g.p.Type(n.Inputs[0])
	c := classOf(t.DType)
	m := g.calc(c)
	cells := g.place(g.table(ir.Int32, len(a.Cells), func(i int) float64 { return float64(a.Cells[i]) }))
	wide := ir.Float32
	if c == ptx.F64 {
		wide = ir.Float64
	}
	weights := g.place(g.table(wide, len(a.Weights), func(i int) float64 { return a.Weights[i] }))
	to := g.split(x)
	sum := m.num(0)
	for tap := range a.Taps {
		i := g.add(g.times(to[a.Axis], a.Taps), ptx.Int32(int64(tap)))
		from := append([]ptx.Operand{}, to...)
		from[a.Axis] = g.load(ir.Int32, g.element(cells, i, 4))
		w := g.load(wide, g.element(weights, i, wide.Size()))
		sum = m.fma(w, g.value(n.Inputs[0], along(t.Shape, from)), sum)
	}
	return sum
}
