package lower

import (
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// layerNorm writes y = (x-mean)·rstd·gamma + beta, the mean and rstd. The variance is computed from x - mean, so that a
// mean far from 0 costs no precision.
func (s *scope) layerNorm(n *ir.Node) {
	x, gamma, beta := n.Inputs[0], n.Inputs[1], n.Inputs[2]
	r := s.rows(n, s.p.Type(x).Shape)
	m := r.m
	length := m.num(float64(r.length))
	mean := m.div(r.reduce(ir.Sum, func(e *element) ptx.Operand { return e.value(x) }), length)
	squares := r.reduce(ir.Sum, func(e *element) ptx.Operand {
		d := m.sub(e.value(x), mean)
		return m.mul(d, d)
	})
	epsilon := m.num(n.Attrs.(ir.NormAttrs).Epsilon)
	rstd := m.div(m.num(1), m.sqrt(m.add(m.div(squares, length), epsilon)))
	r.write(n.Outputs[0], func(e *element) ptx.Operand {
		return m.add(m.mul(m.mul(m.sub(e.value(x), mean), rstd), e.param(gamma)), e.param(beta))
	})
	r.writeRow(n.Outputs[1], mean)
	r.writeRow(n.Outputs[2], rstd)
	r.end()
}

// layerNormGrad writes dx = rstd·(g - mean(g) - n·mean(g·n)) with g = gamma·dy and n = (x-mean)·rstd by rows, and then
// dgamma = Σ dy·n and dbeta = Σ dy by columns.
func (s *scope) layerNormGrad(n *ir.Node) {
	x, gamma, dy := n.Inputs[0], n.Inputs[1], n.Inputs[4]
	shape := s.p.Type(x).Shape
	r := s.rows(n, shape)
	m := r.m
	length := m.num(float64(r.length))
	mean, rstd := r.ofRow(n.Inputs[2]), r.ofRow(n.Inputs[3])
	normal := func(e *element) ptx.Operand { return m.mul(m.sub(e.value(x), mean), rstd) }
	scaled := func(e *element) ptx.Operand { return m.mul(e.value(dy), e.param(gamma)) }
	first := m.div(r.reduce(ir.Sum, scaled), length)
	second := m.div(r.reduce(ir.Sum, func(e *element) ptx.Operand { return m.mul(scaled(e), normal(e)) }), length)
	r.write(n.Outputs[0], func(e *element) ptx.Operand {
		return m.mul(rstd, m.sub(m.sub(scaled(e), first), m.mul(normal(e), second)))
	})
	r.end()
	s.columnSums(n, shape, n.Outputs[1:3], func(g *gen, row ptx.Operand, at *index) []ptx.Operand {
		m := g.calc(ptx.F32)
		d := g.value(dy, at)
		of := func(v ir.Value) ptx.Operand { return g.value(v, &index{shape: g.p.Type(v).Shape, linear: row}) }
		normal := m.mul(m.sub(g.value(x, at), of(n.Inputs[2])), of(n.Inputs[3]))
		return []ptx.Operand{m.mul(d, normal), d}
	})
}

// columnSums adds up the given terms of elements by columns, the last axis of a shape. Blocks of 32 columns by 8 rows
// add up parts of the rows, and the last block of each group of columns adds up the parts, in an order that depends on
// the shape alone.
func (s *scope) columnSums(n *ir.Node, shape ir.Shape, outputs []ir.Value, terms func(g *gen, row ptx.Operand, x *index) []ptx.Operand) {
	const wide, tall = 32, 8
	columns := shape[len(shape)-1]
	count := shape.Size() / columns
	across := (columns + wide - 1) / wide
	parts := 1
	for parts < 64 && across*parts < 256 && count/(2*parts) >= 4*tall {
		parts *= 2
	}
	each := (count + parts - 1) / parts
	size := len(outputs) * parts * columns * 4
	partial := Place{Space: Arena, Offset: s.arena.take(size)}
	g := s.kernel(n)
	k := g.k
	to := g.place(partial)
	results := make([]ptx.Operand, len(outputs))
	for i, v := range outputs {
		results[i] = g.place(g.places[v])
	}
	tid := k.Op(ptx.B32, "mov.u32", special("%tid.x"))
	cta := g.mov(ptx.B32, special("%ctaid.x"))
	x, y := g.mod(tid, wide), g.over(tid, wide)
	part := g.over(cta, across)
	column := g.mov(ptx.B32, g.add(g.times(g.mod(cta, across), wide), x))
	inside := g.compare("lt", "u32", column, ptx.Int32(int64(columns)))
	from := k.Op(ptx.B32, "min.u32", column, ptx.Int32(int64(columns-1)))
	first := g.times(part, each)
	limit := k.Op(ptx.B32, "min.u32", g.mov(ptx.B32, g.add(first, ptx.Int32(int64(each)))), ptx.Int32(int64(count)))
	sums := make([]ptx.Operand, len(outputs))
	for i := range sums {
		sums[i] = g.mov(ptx.F32, ptx.Float32(0))
	}
	g.loop(g.add(first, y), limit, tall, func(row ptx.Operand) {
		for i, term := range terms(g, row, at(shape, g.add(g.times(row, columns), from))) {
			k.To(sums[i], "add.rn.f32", sums[i], term)
		}
	})
	fold := func(sum ptx.Operand, result func(total ptx.Operand)) {
		g.foldLines(tid, y, inside, sum, wide, tall, result)
	}
	element := func(i int, part ptx.Operand) ptx.Operand {
		number := g.add(g.times(g.add(part, ptx.Int32(int64(i*parts))), columns), from)
		return g.element(to, g.mov(ptx.B32, number), 4)
	}
	for i, sum := range sums {
		fold(sum, func(total ptx.Operand) { g.store(ir.Float32, element(i, part), total) })
	}
	g.lastBlock(tid, g.mov(ptx.B32, g.mod(cta, across)), across, ptx.Int32(int64(parts)))
	for i, v := range outputs {
		total := g.mov(ptx.F32, ptx.Float32(0))
		g.loop(y, ptx.Int32(int64(parts)), tall, func(part ptx.Operand) {
			k.To(total, "add.rn.f32", total, g.load(ir.Float32, element(i, part)))
		})
		d := g.p.Type(v).DType
		fold(total, func(total ptx.Operand) {
			g.store(d, g.element(results[i], column, d.Size()), total)
		})
	}
	g.launch([3]int{across * parts, 1, 1}, wide*tall)
	s.arena.give(partial.Offset, size)
}

// foldLines adds up the sums of the threads of a column, tall lines of wide threads, into the first line.
func (g *gen) foldLines(tid, line, inside, sum ptx.Operand, wide, tall int, result func(total ptx.Operand)) {
	k := g.k
	slot := k.Op(ptx.B32, "mad.lo.s32", tid, ptx.Int32(4), g.shared(k.Shared(wide*tall*4)))
	k.To(address(slot), "st.shared.f32", sum)
	k.Barrier()
	skip := k.Label()
	k.BranchIf(g.compare("ne", "s32", line, ptx.Int32(0)), skip)
	k.BranchUnless(inside, skip)
	total := sum
	for j := 1; j < tall; j++ {
		total = k.Op(ptx.F32, "add.rn.f32", total, k.Op(ptx.F32, "ld.shared.f32", ptx.Raw("["+slot.String()+"+"+itoa(j*wide*4)+"]")))
	}
	result(total)
	k.Place(skip)
}
