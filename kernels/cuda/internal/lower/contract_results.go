package lower

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// outcome says what a contraction's kernel does with its sums over k, or over parts of k.
type outcome struct {
	// element returns the result as stored in memory, or zero if it is only a part.
	element func(b, m, n, part, sum ptx.Operand) ptx.Operand
	side    func(q sideSum, part, number, sum ptx.Operand)
	last    func(t *tensor, sums []*summing) // called after all blocks are done; nil: nothing to do
}

// addUp writes the code for a contraction's results: directly, or, if k is divided into parts, into the arena, with
// another kernel that adds up the parts.
func (s *scope) addUp(g *gen, c contraction, parts int, out ir.Type, n *ir.Node, root ir.Value, write func(to outcome)) {
	all, of := s.resultings(c, out, n, root)
	if parts == 1 {
		g.writes(all)
		for _, r := range all {
			r.to = g.place(g.places[r.root])
		}
		write(outcome{
			element: func(b, m, n, _, sum ptx.Operand) ptx.Operand {
				return all[0].finish(g, c.number(b, m, n), sum)
			},
			side: func(q sideSum, _, number, sum ptx.Operand) { of(q).finish(g, number, sum) },
		})
		return
	}
	for _, r := range all {
		r.parts(s, parts)
		r.from = g.place(r.partial)
	}
	write(keeping(g, c, all, of))
	g = s.kernel(n)
	g.writes(all)
	joined := make([]part, len(all))
	for i, r := range all {
		from, to := g.place(r.partial), g.place(g.places[r.root])
		joined[i] = part{n: r.typ.Shape.Size(), write: func(thread ptx.Operand) {
			r.to, r.from = to, from
			r.finish(g, thread, r.join(g, parts, thread))
		}}
	}
	g.joint(joined)
	for _, r := range all {
		s.arena.give(r.partial.Offset, r.sums.Bytes())
	}
}

// addUpLast is like addUp, but for each tile, the last of the blocks that compute its parts adds them up, which saves a
// launch.
func (s *scope) addUpLast(g *gen, c contraction, parts int, out ir.Type, n *ir.Node, root ir.Value, write func(to outcome)) {
	all, of := s.resultings(c, out, n, root)
	g.writes(all)
	for _, r := range all {
		r.parts(s, parts)
		r.from, r.to = g.place(r.partial), g.place(g.places[r.root])
	}
	to := keeping(g, c, all, of)
	to.last = func(t *tensor, sums []*summing) {
		tid := g.k.Op(ptx.B32, "mov.u32", special("%tid.x"))
		tiles := t.rows() * t.columns()
		group := g.add(g.add(g.times(t.batch, tiles), g.times(t.row, t.columns())), t.column)
		g.lastBlock(tid, group, tiles*c.batch, ptx.Int32(int64(parts)))
		t.each(tid, t.block, func(r, column, m, n ptx.Operand) {
			number := g.mov(ptx.B32, c.number(t.batch, m, n))
			all[0].finish(g, number, all[0].join(g, parts, number))
		})
		g.handOut(sums, t.part, func(q sideSum, _, number, _ ptx.Operand) {
			r := of(q)
			r.finish(g, number, r.join(g, parts, number))
		})
	}
	write(to)
	for _, r := range all {
		s.arena.give(r.partial.Offset, r.sums.Bytes())
	}
}

// resultings returns the results of a contraction's kernels, and a function that finds the one for a sum of an operand.
func (s *scope) resultings(c contraction, out ir.Type, n *ir.Node, root ir.Value) (all []*resulting, of func(q sideSum) *resulting) {
	all = []*resulting{{n: n, root: root, typ: out}}
	for _, q := range c.sums {
		all = append(all, &resulting{n: q.n, root: q.root, typ: s.p.Type(q.n.Outputs[0])})
	}
	return all, func(q sideSum) *resulting { return all[1+slices.Index(c.sums, q)] }
}

// keeping stores partial sums in the arena.
func keeping(g *gen, c contraction, all []*resulting, of func(q sideSum) *resulting) outcome {
	return outcome{
		element: func(b, m, n, part, sum ptx.Operand) ptx.Operand {
			all[0].keep(g, part, c.number(b, m, n), sum)
			return ptx.Operand{}
		},
		side: func(q sideSum, part, number, sum ptx.Operand) { of(q).keep(g, part, number, sum) },
	}
}

// resulting is one result of a contraction's kernels.
type resulting struct {
	n       *ir.Node
	root    ir.Value
	typ     ir.Type
	to      ptx.Operand
	sums    ir.Type // the type of the partial sums
	partial Place
	from    ptx.Operand // the address of partial
}

// writes declares what a kernel writes. If that replaces inputs, the kernel ends at once in a failed step.
func (g *gen) writes(all []*resulting) {
	for _, r := range slices.Backward(all) {
		if g.rooted && g.committed[r.root] {
			g.root = r.root // the check has been written already
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

// parts allocates memory for the parts.
func (r *resulting) parts(s *scope, parts int) {
	r.sums = ir.Type{DType: r.typ.DType, Shape: append(ir.Shape{parts}, r.typ.Shape...)}
	if r.typ.DType.IsHalf() {
		r.sums.DType = ir.Float32
	}
	r.partial = Place{Space: Arena, Offset: s.arena.take(r.sums.Bytes())}
}

func (r *resulting) keep(g *gen, part, number, sum ptx.Operand) {
	number = g.add(g.times(part, r.typ.Shape.Size()), number)
	g.store(r.sums.DType, g.element(r.from, number, r.sums.DType.Size()), sum)
}

// join adds up the parts of an element.
func (r *resulting) join(g *gen, parts int, number ptx.Operand) ptx.Operand {
	d := r.sums.DType
	total := g.load(d, g.element(r.from, number, d.Size()))
	for part := 1; part < parts; part++ {
		e := g.load(d, g.element(r.from, g.add(number, ptx.Int32(int64(part*r.typ.Shape.Size()))), d.Size()))
		total = g.combine(ir.Sum, d, total, e)
	}
	return total
}
