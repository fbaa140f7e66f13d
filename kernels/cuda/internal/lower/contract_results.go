package lower

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// outcome is what is done with the sums that a kernel of a contraction makes, over all of k or parts of it.
type outcome struct {
	// element returns the number as memory has it, where it is a result.
	element func(b, m, n, part, sum ptx.Operand) ptx.Operand
	side    func(q sideSum, part, number, sum ptx.Operand)
}

// addUp writes what makes the results of a contraction: at once, or parts of k into the arena and then a kernel that
// adds them up.
func (s *scope) addUp(g *gen, c contraction, parts int, out ir.Type, n *ir.Node, root ir.Value, write func(to outcome)) {
	all := []*resulting{{n: n, root: root, typ: out}}
	for _, q := range c.sums {
		all = append(all, &resulting{n: q.n, root: q.root, typ: s.p.Type(q.n.Outputs[0])})
	}
	of := func(q sideSum) *resulting { return all[1+slices.Index(c.sums, q)] }
	if parts == 1 {
		g.writes(all)
		for _, r := range all {
			r.to = g.place(g.places[r.root])
		}
		write(outcome{
			func(b, m, n, _, sum ptx.Operand) ptx.Operand { return all[0].finish(g, c.number(b, m, n), sum) },
			func(q sideSum, _, number, sum ptx.Operand) { of(q).finish(g, number, sum) },
		})
		return
	}
	for _, r := range all {
		r.parts(s, parts)
		r.to = g.place(r.partial)
	}
	write(outcome{
		func(b, m, n, part, sum ptx.Operand) ptx.Operand {
			all[0].keep(g, part, c.number(b, m, n), sum)
			return ptx.Operand{}
		},
		func(q sideSum, part, number, sum ptx.Operand) { of(q).keep(g, part, number, sum) },
	})
	g = s.kernel(n)
	g.writes(all)
	joined := make([]part, len(all))
	for i, r := range all {
		from, to := g.place(r.partial), g.place(g.places[r.root])
		joined[i] = part{n: r.typ.Shape.Size(), write: func(thread ptx.Operand) {
			r.to = to
			r.finish(g, thread, r.join(g, from, parts, thread))
		}}
	}
	g.joint(joined)
	for _, r := range all {
		s.arena.give(r.partial.Offset, r.sums.Bytes())
	}
}

// resulting is a result of the kernels of a contraction.
type resulting struct {
	n       *ir.Node
	root    ir.Value
	typ     ir.Type
	to      ptx.Operand
	sums    ir.Type // of parts
	partial Place
}

// writes tells what a kernel writes. It ends at once in a failed step where that replaces inputs.
func (g *gen) writes(all []*resulting) {
	for _, r := range slices.Backward(all) {
		if g.rooted && g.committed[r.root] {
			g.root = r.root // the kernel stops already
		} else {
			g.commit(r.root)
		}
		if len(all) > 1 || g.statistics != nil {
			g.roots = append(g.roots, r.root)
		}
	}
}

func (r *resulting) finish(g *gen, number, sum ptx.Operand) ptx.Operand {
	x := at(r.typ.Shape, number)
	g.finish(r.n.Outputs[0], r.root, x, sum, r.to)
	return g.memo[read{r.root, x}]
}

// parts takes the memory of parts.
func (r *resulting) parts(s *scope, parts int) {
	r.sums = ir.Type{DType: r.typ.DType, Shape: append(ir.Shape{parts}, r.typ.Shape...)}
	if r.typ.DType.IsHalf() {
		r.sums.DType = ir.Float32
	}
	r.partial = Place{Space: Arena, Offset: s.arena.take(r.sums.Bytes())}
}

func (r *resulting) keep(g *gen, part, number, sum ptx.Operand) {
	number = g.add(g.times(part, r.typ.Shape.Size()), number)
	g.store(r.sums.DType, g.element(r.to, number, r.sums.DType.Size()), sum)
}

// join adds up the parts of an element.
func (r *resulting) join(g *gen, from ptx.Operand, parts int, number ptx.Operand) ptx.Operand {
	d := r.sums.DType
	total := g.load(d, g.element(from, number, d.Size()))
	for part := 1; part < parts; part++ {
		e := g.load(d, g.element(from, g.add(number, ptx.Int32(int64(part*r.typ.Shape.Size()))), d.Size()))
		total = g.combine(ir.Sum, d, total, e)
	}
	return total
}
