package lower

import (
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// lineShape is the shape without an axis.
func lineShape(s ir.Shape, axis int) ir.Shape { return s.Without(axis) }

// inLine is the index of element k of a line.
func (g *gen) inLine(s ir.Shape, axis int, line []ptx.Operand, k ptx.Operand) *index {
	axes := append(append(append([]ptx.Operand{}, line[:axis]...), k), line[axis:]...)
	return along(s, axes)
}

// less orders elements, NaN after all numbers.
func (g *gen) less(d ir.DType, x, y ptx.Operand) ptx.Operand {
	if d == ir.Bool {
		return g.both(g.not(x), y)
	}
	lt := g.relation(ir.Lt, d, x, y)
	if !d.IsFloat() {
		return lt
	}
	m := g.calc(classOf(d))
	return g.either(lt, g.both(m.nan(y), g.not(m.nan(x))))
}

// arg finds the first largest or smallest element of each line.
func (s *scope) arg(n *ir.Node, root ir.Value) {
	axis := n.Attrs.(ir.AxisAttrs).Axis
	in, out := s.p.Type(n.Inputs[0]), s.p.Type(n.Outputs[0])
	if out.Shape.Size() == 0 {
		return
	}
	g := s.kernel(n)
	g.commit(root)
	to := g.place(g.places[root])
	thread, grid, block := g.threads(out.Shape.Size())
	x := at(out.Shape, thread)
	line := g.split(x)
	d, c := in.DType, classOf(in.DType)
	best := g.mov(c, g.value(n.Inputs[0], g.inLine(in.Shape, axis, line, ptx.Int32(0))))
	where := g.mov(ptx.B32, ptx.Int32(0))
	g.loop(ptx.Int32(1), ptx.Int32(int64(in.Shape[axis])), 1, func(k ptx.Operand) {
		e := g.register(d, g.value(n.Inputs[0], g.inLine(in.Shape, axis, line, k)))
		var better ptx.Operand
		if n.Op == ir.ArgMax {
			better = g.less(d, best, e)
		} else if better = g.relation(ir.Lt, d, e, best); d.IsFloat() {
			m := g.calc(c)
			better = g.both(g.either(better, m.nan(e)), g.not(m.nan(best)))
		}
		g.assign(where, g.pick(better, k, where))
		g.assign(best, g.pick(better, e, best))
	})
	g.finish(n.Outputs[0], root, x, where, to)
	g.launch(grid, block)
}

// cumulative computes running reductions, one thread per line.
func (s *scope) cumulative(n *ir.Node, root ir.Value) {
	a := n.Attrs.(ir.CumulativeAttrs)
	t := s.p.Type(n.Inputs[0])
	lines := lineShape(t.Shape, a.Axis)
	if t.Shape.Size() == 0 {
		return
	}
	g := s.kernel(n)
	g.commit(root)
	to := g.place(g.places[root])
	thread, grid, block := g.threads(lines.Size())
	line := g.decompose(thread, lines)
	sum := g.mov(classOf(t.DType), g.neutral(a.Kind, t.DType))
	length := t.Shape[a.Axis]
	g.loop(ptx.Int32(0), ptx.Int32(int64(length)), 1, func(k ptx.Operand) {
		if a.Reverse {
			k = g.sub(ptx.Int32(int64(length-1)), k)
		}
		x := g.inLine(t.Shape, a.Axis, line, k)
		e := g.value(n.Inputs[0], x)
		if a.Exclusive {
			g.store(t.DType, g.element(to, g.number(x), t.DType.Size()), sum)
		}
		g.assign(sum, g.combine(a.Kind, t.DType, sum, e))
		if !a.Exclusive {
			g.store(t.DType, g.element(to, g.number(x), t.DType.Size()), sum)
		}
	})
	g.launch(grid, block)
}
