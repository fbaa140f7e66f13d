package lower

import (
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// cached is the part of a matrix that stays in shared memory for all steps: its first lines.
type cached struct {
	lines int
	base  ptx.Operand
}

// cache copies as many lines of the matrices into shared memory as fit; the others are read from the device's caches in
// each step.
func (l *rowLoop) cache() {
	const aside = 16 // for rounding up the address
	k, room := l.k, sharedLimit(l.options.Capability)-aside
	l.cached = map[ir.Value]cached{}
	taken := 0
	for i := range l.p.Nodes {
		n := &l.p.Nodes[i]
		if n.Op != ir.Dot || l.cached[n.Inputs[1]].lines > 0 {
			continue
		}
		t := l.p.Type(n.Inputs[1])
		line := t.Shape[1] * t.DType.Size()
		lines := min(t.Shape[0], (room-taken)/line)
		if lines < t.Shape[0] || lines*line%4 != 0 {
			lines -= lines % 16 // whole rounds of the loops over them
		}
		if lines <= 0 || !aligned(l.places[n.Inputs[1]], 4) {
			continue
		}
		if taken == 0 {
			k.Dynamic = room
		}
		base := k.Op(ptx.B32, "add.s32", k.DynamicBase(), ptx.Int32(int64(taken)))
		taken += (lines*line + 15) &^ 15
		l.cached[n.Inputs[1]] = cached{lines, base}
		from := l.pointer(n.Inputs[1])
		l.loop(l.tid, ptx.Int32(int64(lines*line/4)), l.block, func(word ptx.Operand) { // a word is one or two elements
			x := k.Op(ptx.B32, "ld.global.b32", l.element(from, word, 4))
			k.To(address(k.Op(ptx.B32, "mad.lo.s32", word, ptx.Int32(4), base)), "st.shared.b32", x)
		})
	}
	if k.Dynamic = taken; taken > 0 {
		k.Barrier()
	}
}

// numbers returns a function that reads elements of a value, from one on, at a distance: in global memory, or, if
// asked, in the cached part in shared memory.
func (l *rowLoop) numbers(v ir.Value, inShared bool) func(number ptx.Operand, apart int) func(j int) ptx.Operand {
	k, d := l.k, l.p.Type(v).DType
	size := d.Size()
	return func(number ptx.Operand, apart int) func(j int) ptx.Operand {
		if !inShared {
			at := k.Op(ptx.B64, "mad.wide.u32", number, ptx.Int32(int64(size)), l.pointer(v))
			return func(j int) ptx.Operand {
				return l.load(d, ptx.Raw("["+at.String()+"+"+itoa(j*apart*size)+"]"))
			}
		}
		at := k.Op(ptx.B32, "mad.lo.s32", number, ptx.Int32(int64(size)), l.cached[v].base)
		return func(j int) ptx.Operand {
			place := ptx.Raw("[" + at.String() + "+" + itoa(j*apart*size) + "]")
			if size == 4 {
				return k.Op(ptx.F32, "ld.shared.f32", place)
			}
			return l.widen(d, k.Op(ptx.B32, "ld.shared.u16", place))
		}
	}
}

// product writes the product of the block's rows with a matrix, and the chain after it up to root.
func (l *rowLoop) product(n *ir.Node, root ir.Value) {
	k := l.k
	l.reading(l.makers[root], anywhere)
	l.hazards.write(k, l.name(root), anywhere)
	out := l.p.Type(n.Outputs[0]).Shape
	depth := l.p.Type(n.Inputs[0]).Shape[1]
	l.flops += 2 * int64(out.Size()) * int64(depth) * int64(l.attrs.Length)
	to := l.pointer(root)
	finish := func(sums []ptx.Operand, column ptx.Operand) {
		for r, sum := range sums {
			row := l.mov(ptx.B32, l.add(l.first, ptx.Int32(int64(r))))
			skip := k.Label()
			if l.batch%l.rows != 0 {
				k.BranchUnless(l.compare("lt", "u32", row, ptx.Int32(int64(l.batch))), skip)
			}
			number := l.add(l.times(row, out[1]), column)
			l.apart(func() { l.finish(n.Outputs[0], root, at(out, l.mov(ptx.B32, number)), sum, to) })
			k.Place(skip)
		}
	}
	lines := l.cached[n.Inputs[1]].lines
	if n.Attrs.(ir.DotAttrs).RhsContract[0] == 0 {
		l.loop(l.tid, ptx.Int32(int64(out[1])), l.block, func(column ptx.Operand) {
			sums := l.zeros()
			l.addUp(sums, n, column, out[1], ptx.Int32(0), lines, 1, true)
			l.addUp(sums, n, column, out[1], ptx.Int32(int64(lines)), depth, 1, false)
			finish(sums, column)
		})
		return
	}
	// A warp computes a column from one line of the matrix.
	lane, warp := l.mov(ptx.B32, l.mod(l.tid, 32)), l.mov(ptx.B32, l.over(l.tid, 32))
	columns := func(first, limit int, inShared bool) {
		if first >= limit {
			return
		}
		l.loop(l.add(warp, ptx.Int32(int64(first))), ptx.Int32(int64(limit)), l.block/32, func(column ptx.Operand) {
			sums := l.zeros()
			l.addUp(sums, n, l.mov(ptx.B32, l.times(column, depth)), 1, lane, depth, 32, inShared)
			for _, sum := range sums {
				for distance := 16; distance > 0; distance /= 2 {
					theirs := k.Op(ptx.F32, "shfl.sync.bfly.b32", sum, ptx.Int32(int64(distance)), ptx.Int32(31), ptx.Int32(-1))
					k.To(sum, "add.rn.f32", sum, theirs)
				}
			}
			skip := k.Label()
			k.BranchIf(l.compare("ne", "s32", lane, ptx.Int32(0)), skip)
			finish(sums, column)
			k.Place(skip)
		})
	}
	columns(0, lines, true)
	columns(lines, out[1], false)
}

// zeros returns initialized sums for the block's rows.
func (l *rowLoop) zeros() []ptx.Operand {
	sums := make([]ptx.Operand, l.rows)
	for r := range sums {
		sums[r] = l.mov(ptx.F32, ptx.Float32(0))
	}
	return sums
}

// addUp adds Σ x[row][i]·y[base + i·stride] for i from a number to a limit, in steps, for each of the block's rows.
func (l *rowLoop) addUp(sums []ptx.Operand, n *ir.Node, base ptx.Operand, stride int, from ptx.Operand, limit, step int, inShared bool) {
	k, depth := l.k, l.p.Type(n.Inputs[0]).Shape[1]
	first, known := from.Int()
	if limit == 0 || known && int(first) >= limit {
		return
	}
	left, right := l.numbers(n.Inputs[0], false), l.numbers(n.Inputs[1], inShared)
	rows := make([]ptx.Operand, l.rows)
	for r := range rows {
		row := l.mov(ptx.B32, l.add(l.first, ptx.Int32(int64(r))))
		if l.batch%l.rows != 0 {
			row = k.Op(ptx.B32, "min.u32", row, ptx.Int32(int64(l.batch-1)))
		}
		rows[r] = l.mov(ptx.B32, l.times(row, depth))
	}
	unroll := 1
	for unroll < 8 && (limit-int(first))%(2*unroll*step) == 0 {
		unroll *= 2
	}
	l.loop(from, ptx.Int32(int64(limit)), unroll*step, func(i ptx.Operand) {
		y := right(l.mov(ptx.B32, l.add(base, l.times(i, stride))), step*stride)
		factors := make([]ptx.Operand, unroll)
		for j := range factors {
			factors[j] = y(j)
		}
		for r, sum := range sums {
			x := left(l.mov(ptx.B32, l.add(rows[r], i)), step)
			for j, factor := range factors {
				k.To(sum, "fma.rn.f32", x(j), factor, sum)
			}
		}
	})
}
