package lower

import (
	"math"
	"slices"

	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Batch normalization in training needs the mean and the variance of a convolution's result for each channel. The
// kernel of the convolution, or of a product, has its results at hand, rounded as in memory. Each block computes the
// moments of its tile's columns, and the last block of those with the same columns merges them in order, as in
// moments.go. With very many rows of tiles, this takes two levels: the last block of some rows first merges these. So
// the results are read once less. If another kernel adds up parts of the sums, or a library computed them, a separate
// kernel computes the statistics.

// statistics are those of a contraction's columns while its kernel is being written.
type statistics struct {
	*reduction
	c                    contraction
	n                    int // columns of a tile
	rows, columns, block int
	table                ptx.Operand     // address of the tile's results, [row][n+1], if they are kept
	sums                 [][]ptx.Operand // moments of the thread's columns: the one of its number, and others at distances of the block size
}

// statisticsBytes is the additional shared memory that they take.
const statisticsBytes = 4 << 10

// findStatistics finds, for a product or a convolution that node i computes, the mean and the variance of its results
// along all axes but the last, and what follows these.
func (s *scope) findStatistics(f *fusion, i int) {
	node, root := &s.p.Nodes[i], s.p.Nodes[i].Outputs[0]
	product := node
	if f.anchor[i] != nil {
		product = f.anchor[i]
	}
	if s.committed[root] || len(s.sums) > 0 || !s.hasColumns(product) {
		return
	}
	last := len(s.p.Type(root).Shape) - 1
	for j := i + 1; j < min(len(s.p.Nodes), i+lookAhead); j++ {
		n := s.reduces(f, j)
		if n == nil || s.early[j] || s.committed[s.p.Nodes[j].Outputs[0]] || len(f.checks[j]) > 0 {
			continue
		}
		axes := n.Attrs.(ir.ReduceAttrs).Axes
		if v, ok := summed(s.p, s.position, n); !ok || v != root || len(axes) != last || slices.Contains(axes, last) {
			continue
		}
		s.inMemory[root] = true // at the time when they are computed
		if s.findMoments(f, j) {
			s.findFollowers(f, j)
			s.statistics, s.early[j] = s.total(n, s.p.Nodes[j].Outputs[0]), true
		}
		s.inMemory[root] = false
		return
	}
}

// hasColumns reports whether the last axis of a product's result is that of the columns of a single matrix.
func (s *scope) hasColumns(n *ir.Node) bool {
	out := s.p.Type(n.Outputs[0])
	if len(out.Shape) < 2 || out.Shape.Size() == 0 || !out.DType.IsFloat() || out.DType == ir.Float64 {
		return false
	}
	switch a := n.Attrs.(type) {
	case ir.ConvAttrs:
		return n.Op == ir.Conv && a.Groups <= 1
	case ir.DotAttrs:
		y := s.p.Type(n.Inputs[1]).Shape
		return len(a.LhsBatch) == 0 && len(y)-len(a.RhsContract) == 1
	}
	return false
}

// statisticsOf prepares them for a kernel whose tiles have n columns; nil if there are none, or if the kernel makes
// parts.
func (g *gen) statisticsOf(c contraction, n, rows, columns, block, parts int) *statistics {
	if g.statistics == nil || parts > 1 {
		return nil
	}
	q := g.statistics
	st := &statistics{reduction: &reduction{scope: g.scope, all: append([]*total{q}, g.beside...), out: g.p.Type(q.n.Outputs[0]).Shape}, c: c, n: n, rows: rows, columns: columns, block: block}
	st.findSums()
	for range max(1, n/block) {
		st.sums = append(st.sums, st.begin(g))
	}
	return st
}

// laterStatistics computes them in a separate kernel, if that of the contraction makes parts.
func (s *scope) laterStatistics(g *gen, root ir.Value) {
	if !g.found {
		s.statisticsOnTheirOwn(root)
	}
}

// statisticsOnTheirOwn writes the separate kernel.
func (s *scope) statisticsOnTheirOwn(root ir.Value) {
	if s.statistics == nil {
		return
	}
	before := s.inMemory[root]
	s.inMemory[root] = true
	s.reduce(s.statistics.n, s.statistics.root)
	s.inMemory[root] = before
}

// keep puts a result into the table.
func (st *statistics) keep(g *gen, row, column, x ptx.Operand) {
	at := g.k.Op(ptx.B32, "mad.lo.s32", g.mov(ptx.B32, g.add(g.times(row, st.n+1), column)), ptx.Int32(4), st.table)
	g.k.To(address(at), "st.shared.f32", x)
}

// moment makes moments of a count, a sum and a function for the squares around the mean, and merges them into those of
// a column.
func (st *statistics) moment(g *gen, to []ptx.Operand, count, sum ptx.Operand, squares func(mean, total ptx.Operand)) {
	m := g.calc(ptx.F32)
	mean := g.mov(ptx.F32, m.div(sum, m.op("max", count, m.num(1))))
	total := g.mov(ptx.F32, ptx.Float32(0))
	squares(mean, total)
	g.mergeMoments(to, []ptx.Operand{count, mean, total})
}

// addSquare adds the square of x - mean.
func (g *gen) addSquare(total, x, mean ptx.Operand) {
	m := g.calc(ptx.F32)
	d := m.sub(x, mean)
	g.assign(total, m.fma(d, d, total))
}

// ofTile computes the moments of the table's columns, each of which several threads share.
func (st *statistics) ofTile(g *gen, tid, firstM, firstN, row, column ptx.Operand) {
	k := g.k
	lanes := st.block / st.n
	lane := g.mov(ptx.B32, g.over(tid, st.n))
	k.Barrier()
	limit := k.Op(ptx.B32, "min.u32", g.mov(ptx.B32, g.sub(ptx.Int32(int64(st.c.m)), firstM)), ptx.Int32(int64(st.n)))
	inside := g.compare("lt", "u32", g.mov(ptx.B32, g.add(firstN, g.mod(tid, st.n))), ptx.Int32(int64(st.c.n)))
	limit = g.pick(inside, limit, ptx.Int32(0))
	each := func(body func(x ptx.Operand)) {
		g.loop(lane, limit, lanes, func(r ptx.Operand) {
			at := k.Op(ptx.B32, "mad.lo.s32", g.mov(ptx.B32, g.add(g.times(r, st.n+1), g.mod(tid, st.n))), ptx.Int32(4), st.table)
			body(k.Op(ptx.F32, "ld.shared.f32", address(at)))
		})
	}
	count, sum := g.mov(ptx.F32, ptx.Float32(0)), g.mov(ptx.F32, ptx.Float32(0))
	each(func(x ptx.Operand) { st.count(g, count, sum, x) })
	st.moment(g, st.sums[0], count, sum, func(mean, total ptx.Operand) {
		each(func(x ptx.Operand) { g.addSquare(total, x, mean) })
	})
	st.finish(g, tid, firstN, row, column)
}

func (st *statistics) count(g *gen, count, sum, x ptx.Operand) {
	m := g.calc(ptx.F32)
	g.assign(count, m.add(count, m.num(1)))
	g.assign(sum, m.add(sum, x))
}

// ofStrips passes on the results in shared memory, of which each thread has those of one or a few columns, and computes
// their moments: it replaces the sums by the numbers as stored.
func (st *statistics) ofStrips(g *gen, tid ptx.Operand, each func(first ptx.Operand, step int, body func(from, m, n ptx.Operand) ptx.Operand, then func(from, x ptx.Operand)), result func(from, m, n ptx.Operand) ptx.Operand) {
	for h, to := range st.sums {
		first := g.add(tid, ptx.Int32(int64(h*st.block)))
		step := max(st.block, st.n)
		count, sum := g.mov(ptx.F32, ptx.Float32(0)), g.mov(ptx.F32, ptx.Float32(0))
		each(first, step, result, func(from, x ptx.Operand) {
			g.k.To(address(from), "st.shared.f32", x)
			st.count(g, count, sum, x)
		})
		st.moment(g, to, count, sum, func(mean, total ptx.Operand) {
			each(first, step, func(from, _, _ ptx.Operand) ptx.Operand {
				return g.k.Op(ptx.F32, "ld.shared.f32", address(from))
			}, func(_, x ptx.Operand) { g.addSquare(total, x, mean) })
		})
	}
}

// finish merges the moments of the block's threads, then those of the rows of tiles.
func (st *statistics) finish(g *gen, tid, firstN, row, column ptx.Operand) {
	g.found = true
	lanes := max(1, st.block/st.n)
	lane := g.mov(ptx.B32, g.over(tid, st.n))
	if lanes == 1 {
		lane = g.mov(ptx.B32, ptx.Int32(0))
	}
	number := func(h int) ptx.Operand {
		return g.mov(ptx.B32, g.add(firstN, g.add(g.mod(tid, st.n), ptx.Int32(int64(h*st.block)))))
	}
	meet := func() {
		for _, sums := range st.sums {
			st.meet(g, sums, tid, lane, lanes, st.n, st.block)
		}
	}
	// leading lets one thread of each column do something with its moments.
	leading := func(body func(number ptx.Operand, sums []ptx.Operand)) {
		for h, sums := range st.sums {
			skip := g.k.Label()
			n := number(h)
			g.k.BranchUnless(g.both(g.compare("eq", "s32", lane, ptx.Int32(0)), g.compare("lt", "u32", n, ptx.Int32(int64(st.c.n)))), skip)
			g.apart(func() { body(n, sums) })
			g.k.Place(skip)
		}
	}
	meet()
	if st.rows > 1 {
		group := int(math.Ceil(math.Sqrt(float64(st.rows))))
		if st.rows <= 64 {
			group = st.rows
		}
		groups := (st.rows + group - 1) / group
		which := g.mov(ptx.B32, g.over(row, group))
		first := g.mov(ptx.B32, g.times(which, group))
		blocks := g.k.Op(ptx.B32, "min.u32", g.mov(ptx.B32, g.sub(ptx.Int32(int64(st.rows)), first)), ptx.Int32(int64(group)))
		tickets := st.columns * (groups + 1)
		limit := g.k.Op(ptx.B32, "add.s32", first, blocks)
		give := st.join(g, tid, lane, lanes, st.rows, row, first, limit, number, leading, func() {
			g.lastBlock(tid, g.add(g.times(column, groups), which), tickets, blocks)
		})
		defer give()
		meet()
		if groups > 1 {
			give := st.join(g, tid, lane, lanes, groups, which, ptx.Int32(0), ptx.Int32(int64(groups)), number, leading, func() {
				g.lastBlock(tid, g.add(ptx.Int32(int64(st.columns*groups)), column), tickets, ptx.Int32(int64(groups)))
			})
			defer give()
			meet()
		}
	}
	done := st.finishing(g)
	leading(func(n ptx.Operand, sums []ptx.Operand) { done(ptx.Operand{}, at(st.out, n), sums) })
}

// join stores the block's moments as one of several parts, and lets only the last block continue, which merges the
// parts from a number on.
func (st *statistics) join(g *gen, tid, lane ptx.Operand, lanes, parts int, own, first, limit ptx.Operand, number func(h int) ptx.Operand, leading func(func(number ptx.Operand, sums []ptx.Operand)), last func()) (give func()) {
	width := st.c.n
	place := Place{Space: Arena, Offset: g.arena.take(3 * parts * width * 4)}
	memory := g.place(place)
	element := func(i int, part, n ptx.Operand) ptx.Operand {
		return g.element(memory, g.mov(ptx.B32, g.add(g.times(g.add(part, ptx.Int32(int64(i*parts))), width), n)), 4)
	}
	leading(func(n ptx.Operand, sums []ptx.Operand) {
		for i, x := range sums {
			g.store(ir.Float32, element(i, own, n), x)
		}
	})
	last()
	for h := range st.sums {
		n := g.k.Op(ptx.B32, "min.u32", number(h), ptx.Int32(int64(width-1)))
		load := func(part ptx.Operand, _ *index) []ptx.Operand {
			var theirs []ptx.Operand
			for i := range 3 {
				theirs = append(theirs, g.load(ir.Float32, element(i, part, n)))
			}
			return theirs
		}
		begin := g.mov(ptx.B32, g.add(first, lane))
		st.sums[h] = st.reduction.join(g, &joining{load: load}, nil, begin, limit, lanes)
	}
	return func() { g.arena.give(place.Offset, 3*parts*width*4) }
}
