package lower

import (
	"math"
	"slices"

	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// accumulator is how elements of a type are held while they are combined: truth values as integers.
func accumulator(d ir.DType) ptx.Class {
	if d == ir.Bool {
		return ptx.B32
	}
	return classOf(d)
}

// neutral is the number that changes nothing.
func (g *gen) neutral(kind ir.Kind, d ir.DType) ptx.Operand {
	if d == ir.Bool {
		return ptx.Int32(int64(map[ir.Kind]int{ir.And: 1, ir.Min: 1, ir.Prod: 1}[kind]))
	}
	x := map[ir.Kind]float64{ir.Prod: 1, ir.Max: math.Inf(-1), ir.Min: math.Inf(1)}[kind]
	return g.constant(d, x)
}

// combine joins two accumulators.
func (g *gen) combine(kind ir.Kind, d ir.DType, x, y ptx.Operand) ptx.Operand {
	op := map[ir.Kind]ir.Op{ir.Sum: ir.Add, ir.Mean: ir.Add, ir.Prod: ir.Mul, ir.Max: ir.Maximum, ir.Min: ir.Minimum, ir.And: ir.BitAnd, ir.Or: ir.BitOr}[kind]
	if d == ir.Bool {
		d = ir.Int32
	}
	return g.binary(op, d, x, y)
}

func (g *gen) toAccumulator(d ir.DType, x ptx.Operand) ptx.Operand {
	if d == ir.Bool {
		return g.pick(x, ptx.Int32(1), ptx.Int32(0))
	}
	return x
}

func (g *gen) fromAccumulator(d ir.DType, x ptx.Operand) ptx.Operand {
	if d == ir.Bool {
		return g.compare("ne", "s32", x, ptx.Int32(0))
	}
	return x
}

// finish stores the value root at an index, where the anchor of the kernel is known there.
func (g *gen) finish(anchor, root ir.Value, x *index, result ptx.Operand, to ptx.Operand) {
	g.memo[read{anchor, x}] = result
	r := result
	if root != anchor {
		r = inlined[g.makers[root].Op](g, g.makers[root], x)
	}
	d := g.p.Type(root).DType
	g.store(d, g.element(to, g.number(x), d.Size()), g.register(d, r))
}

// reduce combines elements in an order that the shape alone decides.
func (s *scope) reduce(n *ir.Node, root ir.Value) {
	a := n.Attrs.(ir.ReduceAttrs)
	in, out := s.p.Type(n.Inputs[0]), s.p.Type(n.Outputs[0])
	var kept, reduced ir.Shape
	for i, d := range in.Shape {
		if slices.Contains(a.Axes, i) {
			reduced = append(reduced, d)
		} else {
			kept = append(kept, d)
		}
	}
	outputs, length := kept.Size(), reduced.Size()
	if outputs == 0 {
		return
	}
	g := s.kernel(n)
	g.commit(root)
	to := g.place(g.places[root])
	// element is the operand at an output's index and a number among the reduced ones.
	element := func(x *index, r ptx.Operand) ptx.Operand {
		axes := make([]ptx.Operand, len(in.Shape))
		k, j := 0, 0
		rest := g.decompose(r, reduced)
		for i := range in.Shape {
			if slices.Contains(a.Axes, i) {
				axes[i] = rest[j]
				j++
			} else {
				axes[i] = g.split(x)[k]
				k++
			}
		}
		return g.toAccumulator(in.DType, g.value(n.Inputs[0], along(in.Shape, axes)))
	}
	c := accumulator(in.DType)
	accumulate := func(x *index, first ptx.Operand, step int) ptx.Operand {
		sum := g.mov(c, g.neutral(a.Kind, in.DType))
		g.loop(first, ptx.Int32(int64(length)), step, func(r ptx.Operand) {
			g.assign(sum, g.combine(a.Kind, in.DType, sum, element(x, r)))
		})
		return sum
	}
	lanes := lanesFor(outputs, length)
	if a.Kind == ir.Prod && in.DType == ir.Float64 {
		lanes = 1 // errors of products do not cancel: nothing is gained by another order than that of rows
	}
	if lanes == 1 {
		thread, grid, block := g.threads(outputs)
		x := at(out.Shape, thread)
		g.split(x)
		sum := accumulate(x, ptx.Int32(0), 1)
		g.finish(n.Outputs[0], root, x, g.fromAccumulator(in.DType, sum), to)
		g.launch(grid, block)
		return
	}
	s.reduceInBlocks(n, root, g, to, accumulate, outputs, lanes)
}

// reduceInBlocks lets the lanes of a block each combine a part of the elements of an output, and combines the parts in
// shared memory.
func (s *scope) reduceInBlocks(n *ir.Node, root ir.Value, g *gen, to ptx.Operand, accumulate func(x *index, first ptx.Operand, step int) ptx.Operand, outputs, lanes int) {
	a, in, out := n.Attrs.(ir.ReduceAttrs), s.p.Type(n.Inputs[0]), s.p.Type(n.Outputs[0])
	c := accumulator(in.DType)
	const block = 256
	each := block / lanes // outputs of a block
	along := len(in.Shape) > 0 && slices.Contains(a.Axes, len(in.Shape)-1) && in.Shape[len(in.Shape)-1] > 1
	k := g.k
	shared := k.Shared(block * sizeOf(c))
	tid := k.Op(ptx.B32, "mov.u32", special("%tid.x"))
	cta := k.Op(ptx.B32, "mov.u32", special("%ctaid.x"))
	lane, mine, distance := g.mod(tid, lanes), g.over(tid, lanes), 1
	if !along {
		mine, lane, distance = g.mod(tid, each), g.over(tid, each), each
	}
	output := g.add(g.times(cta, each), mine)
	inside := g.compare("lt", "u32", g.mov(ptx.B32, output), ptx.Int32(int64(outputs)))
	x := at(out.Shape, k.Op(ptx.B32, "min.u32", g.mov(ptx.B32, output), ptx.Int32(int64(outputs-1))))
	g.split(x)
	sum := accumulate(x, lane, lanes)
	slot := k.Op(ptx.B32, "mad.lo.s32", tid, ptx.Int32(int64(sizeOf(c))), g.shared(shared))
	name := sharedType(c)
	k.To(address(slot), "st.shared."+name, sum)
	for half := lanes / 2; half > 0; half /= 2 {
		k.Barrier()
		skip := k.Label()
		k.BranchIf(g.compare("ge", "u32", g.mov(ptx.B32, lane), ptx.Int32(int64(half))), skip)
		theirs := k.Op(c, "ld.shared."+name, ptx.Raw("["+slot.String()+"+"+itoa(half*distance*sizeOf(c))+"]"))
		g.assign(sum, g.combine(a.Kind, in.DType, sum, theirs))
		k.To(address(slot), "st.shared."+name, sum)
		k.Place(skip)
	}
	k.BranchIf(g.compare("ne", "s32", g.mov(ptx.B32, lane), ptx.Int32(0)), g.exit)
	k.BranchUnless(inside, g.exit)
	g.finish(n.Outputs[0], root, x, g.fromAccumulator(in.DType, sum), to)
	g.launch([3]int{(outputs + each - 1) / each, 1, 1}, block)
}

// lanesFor is how many threads share the work for an output.
func lanesFor(outputs, length int) int {
	lanes := 1
	for length >= 64 && lanes < 256 && lanes*16 < length && outputs*lanes < 1<<17 {
		lanes *= 2
	}
	return lanes
}

func sizeOf(c ptx.Class) int {
	if c == ptx.B64 || c == ptx.F64 {
		return 8
	}
	return 4
}

func sharedType(c ptx.Class) string {
	return [...]string{ptx.B32: "b32", ptx.B64: "b64", ptx.F32: "f32", ptx.F64: "f64"}[c]
}

// lineShape is what is left without an axis.
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

// arg finds the first best element of each line.
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

// cumulative runs along each line with a thread.
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
