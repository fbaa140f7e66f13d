package lower

import (
	"math"

	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// flash is an attention kernel with tensor cores that never stores the scores. Each warp has 16 queries and processes
// the keys in rounds. For each query it keeps the largest score so far, Σ exp(score - largest), and the sum of the
// values with these weights; it scales both sums down when a larger score comes. As in products, the keys and values of
// the next round are copied into shared memory meanwhile.
type flash struct {
	*gen
	attrs                                   ir.AttentionAttrs
	dtype                                   ir.DType
	unit                                    *unit
	q, k, v                                 ir.Value
	batch, queries, keys, heads, size, wide int // wide is the length of a value vector
	pitchK, pitchV                          int // bytes from row to row in shared memory
	warps                                   int
	bytes                                   int  // of an element
	round                                   int  // keys per round
	byKeys                                  bool // for gradients: a block owns keys, and goes through the queries

	base, tid, lane, warp ptx.Operand
	head, example, first  ptx.Operand // first is the block's first row: a query or a key
	group, column         ptx.Operand // of the lane: its row among 8, and the first of its two columns among 8
	factor                ptx.Operand // of scores, which are used as exponents of 2
	largest, sum          []ptx.Operand
	out                   [][]ptx.Operand
}

// hasFlash reports whether the kernel supports an attention: floats of 16 or 32 bits, in heads whose rows can be copied
// in pieces of 16 bytes and fit into shared memory.
func (o Options) hasFlash(p *ir.Program, n *ir.Node) bool {
	q, v := p.Type(n.Inputs[0]), p.Type(n.Inputs[2])
	size, wide := q.Shape[3], v.Shape[3]
	small := func(n int) bool { return n > 0 && n%8 == 0 && n <= 128 }
	return o.Capability >= 80 && q.DType.Size() <= 4 && small(size) && small(wide) && q.Shape.Size() > 0 && v.Shape.Size() > 0
}

func (s *scope) newFlash(n *ir.Node) *flash {
	q, v := s.p.Type(n.Inputs[0]), s.p.Type(n.Inputs[2])
	f := &flash{
		gen: s.kernel(n), attrs: n.Attrs.(ir.AttentionAttrs), dtype: q.DType, unit: units[q.DType], q: n.Inputs[0], k: n.Inputs[1], v: n.Inputs[2],
		warps: 4, batch: q.Shape[0], queries: q.Shape[1], heads: q.Shape[2], size: q.Shape[3], keys: v.Shape[1], wide: v.Shape[3],
	}
	f.bytes, f.round = f.dtype.Size(), 32
	if f.isFloat() {
		f.round = 16
	}
	f.pitchK, f.pitchV = padded(f.size)*f.bytes+16, padded(f.wide)*f.bytes+16
	return f
}

// padded rounds a length up to whole instructions.
func padded(n int) int { return (n + 15) &^ 15 }

// attention writes y = softmax(scale·q·kᵀ)·v and the logarithm of the softmax's sums.
func (s *scope) attention(n *ir.Node) {
	f := s.newFlash(n)
	f.gen.k.Ampere = true
	stage := f.round * (f.pitchK + f.pitchV)
	var query [][]ptx.Operand
	if own := f.block() * f.pitchK; f.isFloat() { // queries stay in shared memory, after the stages
		f.locate(f.queries, 2*stage+own)
		f.rowsInto(f.q, f.queries, f.size, f.block(), f.pitchK, 2*stage)(f.first, f.mov(ptx.B32, ptx.Int32(0)))
	} else {
		f.locate(f.queries, max(2*stage, own))
		query = f.loadQueries()
	}
	f.start()
	limit := f.limit()
	g, k := f.gen, f.gen.k
	fillK := f.rowsInto(f.k, f.keys, f.size, f.round, f.pitchK, 0)
	fillV := f.rowsInto(f.v, f.keys, f.wide, f.round, f.pitchV, f.round*f.pitchK)
	writing := g.mov(ptx.B32, ptx.Int32(0))
	last := k.Op(ptx.B32, "add.s32", limit, ptx.Int32(int64(f.round)))
	g.loop(ptx.Int32(0), last, f.round, func(at ptx.Operand) {
		filled, empty := k.Label(), k.Label()
		k.BranchIf(g.compare("ge", "u32", at, limit), filled)
		fillK(at, writing)
		fillV(at, writing)
		k.Place(filled)
		k.Line("cp.async.commit_group")
		k.To(writing, "sub.s32", g.mov(ptx.B32, ptx.Int32(int64(stage))), writing)
		k.BranchIf(g.compare("eq", "s32", at, ptx.Int32(0)), empty)
		var scores [][]ptx.Operand
		if f.isFloat() {
			own := k.Op(ptx.B32, "add.s32", f.base, ptx.Int32(int64(2*stage)))
			scores = f.dots(own, k.Op(ptx.B32, "add.s32", f.base, writing), f.pitchK, f.pitchK, f.size, f.round/8)
		} else {
			scores = f.scores(query, writing)
		}
		f.hide(n.Inputs[3:], scores, k.Op(ptx.B32, "sub.s32", at, ptx.Int32(int64(f.round))))
		f.weigh(scores)
		f.add(scores, writing)
		k.Place(empty)
		k.Line("cp.async.wait_group 0")
		k.Barrier()
	})
	f.finish(n)
	f.launchFor(f.queries, 1, 1)
}

// block is the number of rows of a block, 16 per warp.
func (f *flash) block() int { return 16 * f.warps }

// launchFor launches blocks for all rows. Each pair of a query and a key took overSize products over the length of a
// key and overWide over that of a value.
func (f *flash) launchFor(rows, overSize, overWide int) {
	f.gen.flops = 2 * int64(f.batch*f.heads*f.queries) * int64(f.keys) * int64(overSize*f.size+overWide*f.wide)
	if f.attrs.Causal {
		f.gen.flops /= 2
	}
	blocks := (rows + f.block() - 1) / f.block() * f.batch * f.heads
	f.gen.launch([3]int{blocks, 1, 1}, 32*f.warps)
}

// locate computes the block's head and rows. If Causal, later queries and earlier keys have more work; the blocks with
// the most work come first.
func (f *flash) locate(rows, shared int) {
	g := f.gen
	if f.isFloat() {
		g.k.Dynamic = shared
		f.base = g.k.DynamicBase()
	} else {
		f.base = g.shared(g.k.Shared(shared))
	}
	f.tid = g.k.Op(ptx.B32, "mov.u32", special("%tid.x"))
	cta := g.mov(ptx.B32, special("%ctaid.x"))
	tiles := (rows + f.block() - 1) / f.block()
	pairs := f.batch * f.heads
	tile, pair := g.over(cta, pairs), g.mod(cta, pairs)
	f.head, f.example = g.mod(pair, f.heads), g.over(pair, f.heads)
	if !f.byKeys {
		tile = g.sub(ptx.Int32(int64(tiles-1)), tile)
	}
	f.first = g.mov(ptx.B32, g.times(tile, f.block()))
	f.lane, f.warp = g.mod(f.tid, 32), g.over(f.tid, 32)
	f.group, f.column = g.over(f.lane, 4), g.times(g.mod(f.lane, 4), 2)
}

// limit is the number of keys that the block's queries may attend to.
func (f *flash) limit() ptx.Operand {
	limit := f.mov(ptx.B32, ptx.Int32(int64(f.keys)))
	if f.attrs.Causal {
		limit = f.gen.k.Op(ptx.B32, "min.u32", f.mov(ptx.B32, f.gen.add(f.first, ptx.Int32(int64(f.block())))), limit)
	}
	return limit
}

// rowsInto prepares copies of rows of the block's head into shared memory: it returns a function that copies the rows
// from a given one on. Rows and columns past the end are 0.
func (f *flash) rowsInto(v ir.Value, length, size, rows, pitch, offset int) func(first, stage ptx.Operand) {
	g, k := f.gen, f.gen.k
	memory := g.pointer(v)
	each := chunkBytes / f.bytes
	chunks := padded(size) / each
	start := g.mov(ptx.B32, g.add(g.times(f.example, length*f.heads*size), g.times(f.head, size)))
	type chunk struct{ there, row, from, to ptx.Operand }
	var all []chunk
	for e := 0; e*32*f.warps < rows*chunks; e++ {
		id := g.mov(ptx.B32, g.add(f.tid, ptx.Int32(int64(e*32*f.warps))))
		row, column := g.mov(ptx.B32, g.over(id, chunks)), g.times(g.mod(id, chunks), each)
		c := chunk{row: row, from: g.add(start, column)}
		c.to = g.mov(ptx.B32, g.add(g.add(g.times(row, pitch), g.times(column, f.bytes)), g.add(f.base, ptx.Int32(int64(offset)))))
		c.there = g.compare("lt", "u32", id, ptx.Int32(int64(rows*chunks)))
		if size%16 != 0 {
			c.row = g.pick(g.compare("lt", "u32", g.mov(ptx.B32, column), ptx.Int32(int64(size))), row, ptx.Int32(int64(length))) // copies nothing
		}
		all = append(all, c)
	}
	return func(first, stage ptx.Operand) {
		for e, c := range all {
			skip := ""
			if (e+1)*32*f.warps > rows*chunks {
				skip = k.Label()
				k.BranchUnless(c.there, skip)
			}
			row := g.mov(ptx.B32, g.add(first, c.row))
			valid := g.compare("lt", "u32", row, ptx.Int32(int64(length)))
			number := g.pick(valid, g.mov(ptx.B32, g.add(g.times(row, f.heads*size), c.from)), ptx.Int32(0))
			bytes := g.pick(valid, ptx.Int32(chunkBytes), ptx.Int32(0))
			to := k.Op(ptx.B32, "add.s32", c.to, stage)
			k.Line("cp.async.cg.shared.global [%v+0], %v, %d, %v", to, g.element(memory, number, f.bytes), chunkBytes, bytes)
			if skip != "" {
				k.Place(skip)
			}
		}
	}
}

// loadQueries loads the warp's queries into registers, through shared memory.
func (f *flash) loadQueries() [][]ptx.Operand {
	g, k := f.gen, f.gen.k
	f.rowsInto(f.q, f.queries, f.size, f.block(), f.pitchK, 0)(f.first, g.mov(ptx.B32, ptx.Int32(0)))
	k.Line("cp.async.commit_group")
	k.Line("cp.async.wait_group 0")
	k.Barrier()
	row := g.add(g.times(f.warp, 16), g.mod(f.lane, 16))
	from := g.mov(ptx.B32, g.add(g.add(g.times(row, f.pitchK), g.times(g.over(f.lane, 16), 16)), f.base))
	query := make([][]ptx.Operand, padded(f.size)/16)
	for step := range query {
		query[step] = f.matrices("ldmatrix.sync.aligned.m8n8.x4.shared.b16", from, 32*step)
	}
	k.Barrier()
	return query
}

// matrices loads four 8 by 8 matrices.
func (f *flash) matrices(name string, from ptx.Operand, offset int) []ptx.Operand {
	k := f.gen.k
	r := []ptx.Operand{k.Reg(ptx.B32), k.Reg(ptx.B32), k.Reg(ptx.B32), k.Reg(ptx.B32)}
	k.Line("%s {%v, %v, %v, %v}, [%v+%d]", name, r[0], r[1], r[2], r[3], from, offset)
	return r
}

func (f *flash) multiply(d, a, b []ptx.Operand) {
	f.gen.k.Line("%s {%v, %v, %v, %v}, {%v, %v, %v, %v}, {%v, %v}, {%v, %v, %v, %v}", f.unit.instruction, d[0], d[1], d[2], d[3], a[0], a[1], a[2], a[3], b[0], b[1], d[0], d[1], d[2], d[3])
}

func (f *flash) zeros(tiles int) [][]ptx.Operand {
	all := make([][]ptx.Operand, tiles)
	for i := range all {
		for range 4 {
			all[i] = append(all[i], f.mov(ptx.F32, ptx.Float32(0)))
		}
	}
	return all
}

// start initializes the largest scores and the sums, before any key.
func (f *flash) start() {
	f.out = f.zeros(padded(f.wide) / 8)
	f.scale()
	for range 2 { // a lane has two rows
		f.largest = append(f.largest, f.mov(ptx.F32, ptx.Float32(float32(math.Inf(-1)))))
		f.sum = append(f.sum, f.mov(ptx.F32, ptx.Float32(0)))
	}
}

// scale computes the factor of scores.
func (f *flash) scale() {
	f.factor = ptx.Float32(float32(f.attrs.Scale * math.Log2E))
	if f.isFloat() {
		f.factor = ptx.Float32(float32(f.attrs.Scale))
	}
}

// scores computes q·kᵀ for the keys of a stage.
func (f *flash) scores(query [][]ptx.Operand, stage ptx.Operand) [][]ptx.Operand {
	g := f.gen
	row := g.add(g.mod(f.lane, 8), g.times(g.over(f.lane, 16), 8))
	own := g.add(g.times(row, f.pitchK), g.times(g.mod(g.over(f.lane, 8), 2), 16))
	from := g.k.Op(ptx.B32, "add.s32", g.mov(ptx.B32, g.add(own, f.base)), stage)
	scores := f.zeros(f.round / 8)
	for step, a := range query {
		for pair := range f.round / 16 {
			b := f.matrices("ldmatrix.sync.aligned.m8n8.x4.shared.b16", from, pair*16*f.pitchK+step*32)
			f.multiply(scores[2*pair], a, b[:2])
			f.multiply(scores[2*pair+1], a, b[2:])
		}
	}
	return scores
}

// hide scales the scores, and sets those of keys that a query may not attend to to -inf. Columns are keys, or queries
// if rows are keys, starting at number at.
func (f *flash) hide(mask []ir.Value, scores [][]ptx.Operand, at ptx.Operand) {
	g, k := f.gen, f.gen.k
	rows := [2]ptx.Operand{f.row(0), f.row(1)}
	columns := f.keys
	if f.byKeys {
		columns = f.queries
	}
	for j, tile := range scores {
		for e := range tile {
			column := g.mov(ptx.B32, g.add(at, g.add(f.column, ptx.Int32(int64(8*j+e%2)))))
			query, key := rows[e/2], column
			if f.byKeys {
				query, key = key, query
			}
			k.To(tile[e], "mul.rn.f32", tile[e], f.factor)
			var seen []ptx.Operand
			if columns%(8*len(scores)) != 0 {
				seen = append(seen, g.compare("lt", "u32", column, ptx.Int32(int64(columns))))
			}
			if f.attrs.Causal {
				seen = append(seen, g.compare("ge", "u32", query, key))
			}
			if f.attrs.Masked {
				seen = append(seen, f.mask(mask[0], query, key))
			}
			for _, p := range seen {
				k.To(tile[e], "selp.f32", tile[e], ptx.Float32(float32(math.Inf(-1))), p)
			}
		}
	}
}

// row is the number of one of the lane's two rows.
func (f *flash) row(r int) ptx.Operand {
	return f.mov(ptx.B32, f.gen.add(f.first, f.gen.add(f.times(f.warp, 16), f.gen.add(f.group, ptx.Int32(int64(8*r))))))
}

func (f *flash) mask(mask ir.Value, query, key ptx.Operand) ptx.Operand {
	g := f.gen
	shape := g.p.Type(mask).Shape
	axes := []ptx.Operand{f.example, f.head, query, key}
	for i, length := range shape {
		if length == 1 {
			axes[i] = ptx.Int32(0)
		} else if i >= 2 {
			axes[i] = g.k.Op(ptx.B32, "min.u32", axes[i], ptx.Int32(int64(length-1)))
		}
	}
	return g.value(mask, along(shape, axes))
}

// weigh computes exp(score - largest) of the scores, and rescales the sums if the largest score has grown.
func (f *flash) weigh(scores [][]ptx.Operand) {
	k := f.gen.k
	for r := range 2 {
		most := f.largest[r]
		for _, tile := range scores {
			for _, x := range tile[2*r : 2*r+2] {
				most = k.Op(ptx.F32, "max.f32", most, x)
			}
		}
		most = f.across("max.f32", most)
		safe := f.safe(most)
		down := f.power(k.Op(ptx.F32, "sub.rn.f32", f.largest[r], safe))
		f.gen.assign(f.largest[r], most)
		k.To(f.sum[r], "mul.rn.f32", f.sum[r], down)
		for _, tile := range scores {
			for e := 2 * r; e < 2*r+2; e++ {
				f.gen.assign(tile[e], f.power(k.Op(ptx.F32, "sub.rn.f32", tile[e], safe)))
				k.To(f.sum[r], "add.rn.f32", f.sum[r], tile[e])
			}
		}
		for _, tile := range f.out {
			k.To(tile[2*r], "mul.rn.f32", tile[2*r], down)
			k.To(tile[2*r+1], "mul.rn.f32", tile[2*r+1], down)
		}
	}
}

// across combines the operands of the four lanes that share a row.
func (f *flash) across(op string, x ptx.Operand) ptx.Operand {
	k := f.gen.k
	for _, distance := range []int64{1, 2} {
		x = k.Op(ptx.F32, op, x, k.Op(ptx.F32, "shfl.sync.bfly.b32", x, ptx.Int32(distance), ptx.Int32(31), ptx.Int32(-1)))
	}
	return x
}

// safe replaces -inf, the largest score of a query that has seen no key, by 0, so that subtracting it from -inf does
// not give NaN.
func (f *flash) safe(x ptx.Operand) ptx.Operand {
	none := f.compare("eq", "f32", x, ptx.Float32(float32(math.Inf(-1))))
	return f.pick(none, f.mov(ptx.F32, ptx.Float32(0)), x)
}

// exp2 is the hardware's approximation, whose error is far below that of 16-bit floats.
func (f *flash) exp2(x ptx.Operand) ptx.Operand {
	return f.gen.k.Op(ptx.F32, "ex2.approx.f32", x)
}

// add adds the weights times a stage's values.
func (f *flash) add(weights [][]ptx.Operand, stage ptx.Operand) {
	f.weighted(f.out, weights, stage, f.pitchV, f.round*f.pitchK)
}

// weighted adds weights times the rows at an offset in a stage. Two tiles of weights are laid out in registers like one
// tile of the left operand.
func (f *flash) weighted(out, weights [][]ptx.Operand, stage ptx.Operand, pitch, offset int) {
	g := f.gen
	if f.isFloat() {
		from := g.mov(ptx.B32, g.add(f.base, ptx.Int32(int64(offset))))
		f.weightedFloat(out, weights, g.k.Op(ptx.B32, "add.s32", from, stage), pitch)
		return
	}
	own := g.add(g.times(g.mod(f.lane, 16), pitch), g.times(g.over(f.lane, 16), 16))
	from := g.k.Op(ptx.B32, "add.s32", g.mov(ptx.B32, g.add(own, g.add(f.base, ptx.Int32(int64(offset))))), stage)
	for step := range len(weights) / 2 {
		x, y := weights[2*step], weights[2*step+1]
		a := []ptx.Operand{f.pack(x[0], x[1]), f.pack(x[2], x[3]), f.pack(y[0], y[1]), f.pack(y[2], y[3])}
		for pair := range len(out) / 2 {
			b := f.matrices("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", from, step*16*pitch+pair*32)
			f.multiply(out[2*pair], a, b[:2])
			f.multiply(out[2*pair+1], a, b[2:])
		}
	}
}

// pack rounds two numbers to 16 bits each and packs them, the first one in the lower half.
func (f *flash) pack(low, high ptx.Operand) ptx.Operand {
	name := map[ir.DType]string{ir.BFloat16: "cvt.rn.bf16x2.f32", ir.Float16: "cvt.rn.f16x2.f32"}[f.dtype]
	return f.gen.k.Op(ptx.B32, name, high, low)
}

// finish divides by the sums and writes the results.
func (f *flash) finish(n *ir.Node) {
	g, k := f.gen, f.gen.k
	m := g.calc(ptx.F32)
	y, total := g.place(g.places[n.Outputs[0]]), g.place(g.places[n.Outputs[1]])
	for r := range 2 {
		sum := f.across("add.rn.f32", f.sum[r])
		none := m.is("eq", sum, m.num(0))
		over := m.div(m.num(1), m.pick(none, g.mov(ptx.F32, ptx.Float32(1)), sum))
		query := f.row(r)
		skip := k.Label()
		k.BranchUnless(g.compare("lt", "u32", query, ptx.Int32(int64(f.queries))), skip)
		row := g.add(g.times(g.add(g.times(f.example, f.queries), query), f.heads), f.head)
		for j, tile := range f.out {
			if 8*j >= f.wide {
				break
			}
			number := g.add(g.add(g.times(row, f.wide), f.column), ptx.Int32(int64(8*j)))
			f.put(y, number, m.mul(tile[2*r], over), m.mul(tile[2*r+1], over))
		}
		k.BranchIf(g.compare("ne", "s32", g.mov(ptx.B32, f.column), ptx.Int32(0)), skip)
		unit := math.Ln2 // the unit of scores
		if f.isFloat() {
			unit = 1
		}
		logarithm := m.fma(f.safe(f.largest[r]), m.num(unit), m.log(sum))
		number := g.add(g.times(g.add(g.times(f.example, f.heads), f.head), f.queries), query)
		g.store(f.dtype, g.element(total, g.mov(ptx.B32, number), f.bytes), logarithm)
		k.Place(skip)
	}
}
