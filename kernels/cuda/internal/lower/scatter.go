package lower

import (
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// sortedUpdates is the number of indices from which on they are sorted first.
const sortedUpdates = 4096

// wovenUpdates is how many updates of a row are loaded at once, if there are as many.
const wovenUpdates = 16

// scatter combines updates in index order: each thread owns some rows of the result, along one column.
func (s *scope) scatter(n *ir.Node, root ir.Value) {
	a := n.Attrs.(ir.ScatterAttrs)
	t, where, updates := s.p.Type(n.Inputs[0]), s.p.Type(n.Inputs[1]), s.p.Type(n.Inputs[2])
	if t.Shape.Size() == 0 {
		return
	}
	d, rows := t.DType, t.Shape[a.Axis]
	count := where.Shape.Size()
	// update is the index of a column's update number k.
	update := func(g *gen, column []ptx.Operand, k ptx.Operand) *index {
		axes := append([]ptx.Operand{}, column[:a.Axis]...)
		axes = append(append(axes, g.decompose(k, where.Shape)...), column[a.Axis:]...)
		return along(updates.Shape, axes)
	}
	width := t.Shape.Without(a.Axis).Size()
	if count >= sortedUpdates {
		s.scatterSorted(n, root, update, width)
		return
	}
	g := s.kernel(n)
	g.commit(root)
	to := g.place(g.places[root])
	// Sums of 16-bit floats stay in a register until they are rounded, and so do those of small tables; otherwise a
	// thread goes through the indices once for many rows.
	parts := rows
	if !(d.Size() == 2 && d.IsFloat()) && root == n.Outputs[0] {
		parts = min(rows, max(1, (1<<16)/width))
	}
	if parts < rows {
		s.scatterRows(g, n, to, update, parts, width)
		return
	}
	// One thread per element holds it in a register and goes through all indices.
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
		u := g.toAccumulator(d, g.value(n.Inputs[2], update(g, column, k)))
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
// indices and combines those updates that fall into its rows.
func (s *scope) scatterRows(g *gen, n *ir.Node, to ptx.Operand, update func(g *gen, column []ptx.Operand, k ptx.Operand) *index, parts, width int) {
	a := n.Attrs.(ir.ScatterAttrs)
	t, where := s.p.Type(n.Inputs[0]), s.p.Type(n.Inputs[1])
	d, rows, size := t.DType, t.Shape[a.Axis], t.DType.Size()
	each := (rows + parts - 1) / parts
	parts = (rows + each - 1) / each
	thread, grid, block := g.threads(parts * width)
	column := g.decompose(g.mod(thread, width), t.Shape.Without(a.Axis)) // adjacent threads write adjacent elements
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
		u := g.register(d, g.value(n.Inputs[2], update(g, column, k)))
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

// scatterSorted sorts the indices first, so that the updates of a row are consecutive and in order. A thread has a
// range of rows of a column: it looks for the first update of these, and then goes from row to row.
func (s *scope) scatterSorted(n *ir.Node, root ir.Value, update func(g *gen, column []ptx.Operand, k ptx.Operand) *index, width int) {
	a := n.Attrs.(ir.ScatterAttrs)
	t, where := s.p.Type(n.Inputs[0]), s.p.Type(n.Inputs[1])
	d, rows, count := t.DType, t.Shape[a.Axis], where.Shape.Size()
	keys := ir.Type{DType: ir.Int32, Shape: ir.Shape{count}}
	o := sorting{n: &ir.Node{Op: n.Op, Scope: n.Scope, Inputs: n.Inputs[1:2]}, t: keys, length: count, lines: ir.Shape{}}
	o.read = func(g *gen, x *index) ptx.Operand { // indices outside come after all rows
		i, inside := g.inAxis(where.DType, g.value(n.Inputs[1], at(where.Shape, g.number(x))), rows)
		if a.Mode != ir.IndexClip {
			i = g.pick(inside, g.mov(ptx.B32, i), g.mov(ptx.B32, ptx.Int32(int64(rows))))
		}
		return g.mov(ptx.B32, i)
	}
	sorted, giveBack := s.sortRuns(o, sortedRuns{}, false)
	defer giveBack()
	g := s.kernel(n)
	g.commit(root)
	to, values, positions := g.place(g.places[root]), g.place(sorted.values), g.place(sorted.positions)
	k := g.k
	parts := min(rows, max(1, (1<<18)/width))
	each := (rows + parts - 1) / parts
	parts = (rows + each - 1) / each
	thread, grid, block := g.threads(parts * width)
	column := g.decompose(g.mod(thread, width), t.Shape.Without(a.Axis)) // adjacent threads write adjacent elements
	first := g.mov(ptx.B32, g.times(g.over(thread, width), each))
	limit := k.Op(ptx.B32, "min.u32", k.Op(ptx.B32, "add.s32", first, ptx.Int32(int64(each))), ptx.Int32(int64(rows)))
	next := g.lowerBound(values, first, count)
	g.loop(first, limit, 1, func(row ptx.Operand) {
		x := g.inLine(t.Shape, a.Axis, column, row)
		sum := g.mov(accumulator(d), g.toAccumulator(d, g.value(n.Inputs[0], x)))
		again, end := k.Label(), k.Label()
		g.manyUpdates(a.Kind, d, sum, next, row, values, count, again, func(i int) ptx.Operand {
			from := g.load(ir.Int32, g.element(positions, k.Op(ptx.B32, "add.s32", next, ptx.Int32(int64(i))), 4))
			return g.toAccumulator(d, g.value(n.Inputs[2], update(g, column, from)))
		})
		k.Place(again)
		k.BranchIf(g.compare("ge", "u32", next, ptx.Int32(int64(count))), end)
		k.BranchIf(g.compare("ne", "s32", g.load(ir.Int32, g.element(values, next, 4)), row), end)
		g.apart(func() {
			from := g.load(ir.Int32, g.element(positions, next, 4))
			u := g.toAccumulator(d, g.value(n.Inputs[2], update(g, column, from)))
			if a.Kind != ir.Set {
				u = g.combine(a.Kind, d, sum, u)
			}
			g.assign(sum, u)
		})
		k.To(next, "add.s32", next, ptx.Int32(1))
		k.Branch(again)
		k.Place(end)
		g.finish(n.Outputs[0], root, x, g.fromAccumulator(d, sum), to)
	})
	g.launch(grid, block)
}

// manyUpdates combines the updates of a row while there are many left: it loads several at once, and combines them in
// order.
func (g *gen) manyUpdates(kind ir.Kind, d ir.DType, sum, next, row, values ptx.Operand, count int, few string, load func(i int) ptx.Operand) {
	k, many := g.k, g.k.Label()
	k.Place(many)
	last := k.Op(ptx.B32, "add.s32", next, ptx.Int32(wovenUpdates-1))
	k.BranchIf(g.compare("ge", "u32", last, ptx.Int32(int64(count))), few)
	k.BranchIf(g.compare("ne", "s32", g.load(ir.Int32, g.element(values, last, 4)), row), few)
	var all [wovenUpdates]ptx.Operand
	loaded := k.Weave(wovenUpdates, wovenInstructions, func(i int) {
		g.apart(func() { all[i] = g.mov(accumulator(d), load(i)) })
	})
	for _, u := range all[:loaded] {
		if kind != ir.Set {
			u = g.combine(kind, d, sum, u)
		}
		g.assign(sum, u)
	}
	k.To(next, "add.s32", next, ptx.Int32(int64(loaded)))
	k.Branch(many)
}

// lowerBound is the position of the first of the sorted values that is not less than a key.
func (g *gen) lowerBound(values, key ptx.Operand, count int) ptx.Operand {
	k := g.k
	low, high := g.mov(ptx.B32, ptx.Int32(0)), g.mov(ptx.B32, ptx.Int32(int64(count)))
	again, end := k.Label(), k.Label()
	k.Place(again)
	k.BranchIf(g.compare("ge", "u32", low, high), end)
	middle := k.Op(ptx.B32, "shr.u32", k.Op(ptx.B32, "add.s32", low, high), ptx.Int32(1))
	less := g.compare("lt", "s32", g.load(ir.Int32, g.element(values, middle, 4)), key)
	g.assign(low, g.pick(less, k.Op(ptx.B32, "add.s32", middle, ptx.Int32(1)), low))
	g.assign(high, g.pick(less, high, middle))
	k.Branch(again)
	k.Place(end)
	return low
}
