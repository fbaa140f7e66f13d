package lower

import (
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// scatter combines updates in index order: a thread has some rows of the result to itself, along one column.
func (s *scope) scatter(n *ir.Node, root ir.Value) {
	a := n.Attrs.(ir.ScatterAttrs)
	t, where, updates := s.p.Type(n.Inputs[0]), s.p.Type(n.Inputs[1]), s.p.Type(n.Inputs[2])
	if t.Shape.Size() == 0 {
		return
	}
	g := s.kernel(n)
	g.commit(root)
	to := g.place(g.places[root])
	d, rows := t.DType, t.Shape[a.Axis]
	count := where.Shape.Size()
	// update is the index of update number k of a column.
	update := func(column []ptx.Operand, k ptx.Operand) *index {
		axes := append([]ptx.Operand{}, column[:a.Axis]...)
		axes = append(append(axes, g.decompose(k, where.Shape)...), column[a.Axis:]...)
		return along(updates.Shape, axes)
	}
	// Sums of 16-bit floats stay in a register until they are rounded, as do those of small tables; else a thread walks
	// once over the indices for many rows.
	width := t.Shape.Without(a.Axis).Size()
	parts := rows
	if !(d.Size() == 2 && d.IsFloat()) && root == n.Outputs[0] {
		parts = min(rows, max(1, (1<<16)/width))
	}
	if parts < rows {
		s.scatterRows(g, n, to, update, parts, width)
		return
	}
	// A thread for each element, which holds it in a register and looks at all indices.
	thread, grid, block := g.threads(t.Shape.Size())
	x := at(t.Shape, thread)
	row := g.mov(ptx.B32, g.split(x)[a.Axis])
	column := append(append([]ptx.Operand{}, g.split(x)[:a.Axis]...), g.split(x)[a.Axis+1:]...)
	sum := g.mov(accumulator(d), g.toAccumulator(d, g.value(n.Inputs[0], x)))
	g.loop(ptx.Int32(0), ptx.Int32(int64(count)), 1, func(k ptx.Operand) {
		i := g.value(n.Inputs[1], at(where.Shape, k))
		clamped, inside := g.inAxis(where.DType, i, rows)
		hit := g.compare("eq", "s32", clamped, row)
		if a.Mode != ir.IndexClip {
			hit = g.both(hit, inside)
		}
		skip := g.k.Label()
		g.k.BranchUnless(hit, skip)
		u := g.toAccumulator(d, g.value(n.Inputs[2], update(column, k)))
		if a.Kind != ir.Set {
			u = g.combine(a.Kind, d, sum, u)
		}
		g.assign(sum, u)
		g.k.Place(skip)
	})
	g.finish(n.Outputs[0], root, x, g.fromAccumulator(d, sum), to)
	g.launch(grid, block)
}

// scatterRows gives each thread a range of rows of a column: it copies them from the operand, then goes through the
// indices and combines those updates that fall among its rows.
func (s *scope) scatterRows(g *gen, n *ir.Node, to ptx.Operand, update func(column []ptx.Operand, k ptx.Operand) *index, parts, width int) {
	a := n.Attrs.(ir.ScatterAttrs)
	t, where := s.p.Type(n.Inputs[0]), s.p.Type(n.Inputs[1])
	d, rows, size := t.DType, t.Shape[a.Axis], t.DType.Size()
	each := (rows + parts - 1) / parts
	parts = (rows + each - 1) / each
	thread, grid, block := g.threads(parts * width)
	column := g.decompose(g.mod(thread, width), t.Shape.Without(a.Axis)) // neighbours write neighbours
	first := g.mov(ptx.B32, g.times(g.over(thread, width), each))
	limit := g.k.Op(ptx.B32, "min.u32", g.k.Op(ptx.B32, "add.s32", first, ptx.Int32(int64(each))), ptx.Int32(int64(rows)))
	g.loop(first, limit, 1, func(row ptx.Operand) {
		x := g.inLine(t.Shape, a.Axis, column, row)
		e := g.register(d, g.value(n.Inputs[0], x))
		g.store(d, g.element(to, g.number(x), size), e)
	})
	g.loop(ptx.Int32(0), ptx.Int32(int64(where.Shape.Size())), 1, func(k ptx.Operand) {
		i, inside := g.inAxis(where.DType, g.value(n.Inputs[1], at(where.Shape, k)), rows)
		hit := g.both(g.compare("ge", "u32", i, first), g.compare("lt", "u32", i, limit))
		if a.Mode != ir.IndexClip {
			hit = g.both(hit, inside)
		}
		skip := g.k.Label()
		g.k.BranchUnless(hit, skip)
		u := g.register(d, g.value(n.Inputs[2], update(column, k)))
		place := g.element(to, g.number(g.inLine(t.Shape, a.Axis, column, i)), size)
		if a.Kind != ir.Set {
			old := g.toAccumulator(d, g.load(d, place))
			u = g.fromAccumulator(d, g.combine(a.Kind, d, old, g.toAccumulator(d, u)))
		}
		g.store(d, place, u)
		g.k.Place(skip)
	})
	g.launch(grid, block)
}
