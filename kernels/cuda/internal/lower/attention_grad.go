package lower

import (
	"math"

	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// flashGrad is an attention gradient kernel that recomputes the scores. Each block owns some rows: either queries, for
// which it sums dq over the keys, or keys, for which it sums dk and dv over the queries. In both cases it computes
//
//	p = exp(scale·own[0]·other[0]ᵀ - logsumexp), ds = scale·p∘(own[1]·other[1]ᵀ - Σ y∘dy)
//
// or the transposes of both. Here own are rows of q and dy and other are rows of k and v, or vice versa. The sums are
// ds·other[0] and, for keys, p·other[1].
type flashGrad struct {
	*flash
	rows, others int // numbers of own and of other rows
	step         int // other rows per round
	own, other   [2]flashTile
	stage        int
	stages       ptx.Operand // where the stages begin
	total        ir.Value    // logsumexp
	delta        Place       // Σ y∘dy of each query
	deltas       ptx.Operand // their address
	outs         [2][][]ptx.Operand
	rowTotal     [2]ptx.Operand // of the lane's rows, if these are queries
	rowDelta     [2]ptx.Operand
}

// flashTile is a tensor with a tile in shared memory.
type flashTile struct {
	value               ir.Value
	size, pitch, offset int
}

// attentionGrad writes Σ y∘dy, then the gradient of the queries and those of keys and values.
func (s *scope) attentionGrad(n *ir.Node) {
	y, dy := n.Inputs[3], n.Inputs[5]
	shape := s.p.Type(y).Shape
	bytes := shape[:3].Size() * 4
	delta := Place{Space: Arena, Offset: s.arena.take(bytes)}
	r := s.rows(n, shape)
	sum := r.reduce(ir.Sum, func(e *element) ptx.Operand { return r.m.mul(e.value(y), e.value(dy)) })
	to := r.place(delta)
	skip := r.k.Label()
	r.k.BranchUnless(r.both(r.inside, r.compare("eq", "s32", r.lane, ptx.Int32(0))), skip)
	r.store(ir.Float32, r.gen.element(to, r.row, 4), sum)
	r.k.Place(skip)
	r.end()
	for _, byKeys := range []bool{false, true} {
		f := &flashGrad{flash: s.newFlash(n), total: n.Inputs[4], delta: delta}
		f.byKeys = byKeys
		f.write(n, dy)
	}
	s.arena.give(delta.Offset, bytes)
}

// shape chooses tile sizes that fit into shared memory.
func (f *flashGrad) shape(dy ir.Value) (shared int) {
	q, k := flashTile{f.q, f.size, f.pitchK, 0}, flashTile{f.k, f.size, f.pitchK, 0}
	d, v := flashTile{dy, f.wide, f.pitchV, 0}, flashTile{f.v, f.wide, f.pitchV, 0}
	f.own, f.other, f.rows, f.others = [2]flashTile{q, d}, [2]flashTile{k, v}, f.queries, f.keys
	if f.byKeys {
		f.own, f.other, f.rows, f.others = f.other, f.own, f.keys, f.queries
	}
	f.step = 32
	if f.pitchK+f.pitchV > 384 {
		f.warps, f.step = 2, 16
	}
	f.own[1].offset = f.block() * f.own[0].pitch
	f.other[1].offset = f.step * f.other[0].pitch
	f.stage = f.step * (f.pitchK + f.pitchV)
	return f.block()*(f.pitchK+f.pitchV) + 2*f.stage
}

// multiprocessorShared is the total shared memory of a multiprocessor's blocks, for compute capabilities 9.0 and 10.0.
const multiprocessorShared = 227 << 10

func (f *flashGrad) write(n *ir.Node, dy ir.Value) {
	g, k := f.gen, f.gen.k
	k.Ampere = true
	shared := f.shape(dy)
	f.locate(f.rows, shared)
	if f.isFloat() { // as many as shared memory allows: for more the compiler would save registers in vain
		k.MinBlocks = min(multiprocessorShared/shared, 8)
	}
	f.stages = g.mov(ptx.B32, ptx.Int32(int64(shared-2*f.stage)))
	none := g.mov(ptx.B32, ptx.Int32(0))
	for _, t := range f.own {
		f.rowsInto(t.value, f.rows, t.size, f.block(), t.pitch, t.offset)(f.first, none)
	}
	k.Line("cp.async.commit_group")
	f.outs[0] = f.zeros(padded(f.size) / 8)
	if f.byKeys {
		f.outs[1] = f.zeros(padded(f.wide) / 8)
	} else {
		for r := range 2 {
			f.rowTotal[r], f.rowDelta[r] = f.statistics(f.row(r))
		}
	}
	var fill [2]func(first, stage ptx.Operand)
	for i, t := range f.other {
		fill[i] = f.rowsInto(t.value, f.others, t.size, f.step, t.pitch, t.offset)
	}
	first, limit := f.reach()
	writing := g.mov(ptx.B32, f.stages)
	last := k.Op(ptx.B32, "add.s32", limit, ptx.Int32(int64(f.step)))
	swap := k.Op(ptx.B32, "mad.lo.s32", f.stages, ptx.Int32(2), g.mov(ptx.B32, ptx.Int32(int64(f.stage))))
	g.loop(first, last, f.step, func(at ptx.Operand) {
		filled, empty := k.Label(), k.Label()
		k.BranchIf(g.compare("ge", "u32", at, limit), filled)
		fill[0](at, writing)
		fill[1](at, writing)
		k.Place(filled)
		k.Line("cp.async.commit_group")
		k.To(writing, "sub.s32", swap, writing)
		k.BranchIf(g.compare("eq", "s32", at, first), empty)
		f.round(n, k.Op(ptx.B32, "sub.s32", at, ptx.Int32(int64(f.step))), writing)
		k.Place(empty)
		k.Line("cp.async.wait_group 0")
		k.Barrier()
	})
	k.Line("cp.async.wait_group 0") // needed by blocks that have no rounds
	f.store(n)
	overWide := 1
	if f.byKeys {
		overWide = 2
	}
	f.launchFor(f.rows, 2, overWide)
}

// reach returns the range of other rows that the block's rows interact with. If Causal, keys up to the last query, or
// queries from the first key on.
func (f *flashGrad) reach() (first, limit ptx.Operand) {
	first, limit = f.mov(ptx.B32, ptx.Int32(0)), f.mov(ptx.B32, ptx.Int32(int64(f.others)))
	switch {
	case f.attrs.Causal && f.byKeys:
		first = f.first
	case f.attrs.Causal:
		limit = f.gen.k.Op(ptx.B32, "min.u32", f.mov(ptx.B32, f.gen.add(f.first, ptx.Int32(int64(f.block())))), limit)
	}
	return first, limit
}

// statistics loads the logarithm of a query's sum (to base 2 for 16-bit floats; 0 if the query has seen no key), and
// its Σ y∘dy.
func (f *flashGrad) statistics(query ptx.Operand) (total, delta ptx.Operand) {
	g, k := f.gen, f.gen.k
	query = k.Op(ptx.B32, "min.u32", query, ptx.Int32(int64(f.queries-1)))
	at := g.add(g.times(g.add(g.times(f.example, f.heads), f.head), f.queries), query)
	total = f.safe(g.load(f.dtype, g.element(g.pointer(f.total), g.mov(ptx.B32, at), f.bytes)))
	if !f.isFloat() {
		total = k.Op(ptx.F32, "mul.rn.f32", total, ptx.Float32(float32(math.Log2E)))
	}
	if f.deltas.IsZero() {
		f.deltas = g.place(f.delta)
	}
	at = g.add(g.times(g.add(g.times(f.example, f.queries), query), f.heads), f.head)
	return total, g.load(ir.Float32, g.element(f.deltas, g.mov(ptx.B32, at), 4))
}

// product computes own·otherᵀ for a stage.
func (f *flashGrad) product(i int, stage ptx.Operand) [][]ptx.Operand {
	const name = "ldmatrix.sync.aligned.m8n8.x4.shared.b16"
	g := f.gen
	own, other := f.own[i], f.other[i]
	if f.isFloat() {
		place := func(t flashTile) ptx.Operand { return g.mov(ptx.B32, g.add(f.base, ptx.Int32(int64(t.offset)))) }
		return f.dots(place(own), g.k.Op(ptx.B32, "add.s32", place(other), stage), own.pitch, other.pitch, own.size, f.step/8)
	}
	row := g.add(g.times(f.warp, 16), g.mod(f.lane, 16))
	mine := g.mov(ptx.B32, g.add(g.add(g.times(row, own.pitch), g.times(g.over(f.lane, 16), 16)), g.add(f.base, ptx.Int32(int64(own.offset)))))
	line := g.add(g.mod(f.lane, 8), g.times(g.over(f.lane, 16), 8))
	theirs := g.add(g.times(line, other.pitch), g.times(g.mod(g.over(f.lane, 8), 2), 16))
	theirs = g.k.Op(ptx.B32, "add.s32", g.mov(ptx.B32, g.add(theirs, g.add(f.base, ptx.Int32(int64(other.offset))))), stage)
	tiles := f.zeros(f.step / 8)
	for step := range padded(own.size) / 16 {
		a := f.matrices(name, mine, 32*step)
		for pair := range f.step / 16 {
			b := f.matrices(name, theirs, pair*16*other.pitch+32*step)
			f.multiply(tiles[2*pair], a, b[:2])
			f.multiply(tiles[2*pair+1], a, b[2:])
		}
	}
	return tiles
}

// round adds the contributions of a stage's other rows, which start at number at.
func (f *flashGrad) round(n *ir.Node, at, stage ptx.Operand) {
	g, k := f.gen, f.gen.k
	p := f.product(0, stage)
	f.scale()
	f.hide(n.Inputs[6:], p, at)
	ds := f.product(1, stage)
	for j, tile := range p {
		var total, delta [2]ptx.Operand
		if f.byKeys {
			for e := range 2 {
				query := g.mov(ptx.B32, g.add(at, g.add(f.column, ptx.Int32(int64(8*j+e)))))
				total[e], delta[e] = f.statistics(query)
			}
		}
		for e := range tile {
			a, b := f.rowTotal[e/2], f.rowDelta[e/2]
			if f.byKeys {
				a, b = total[e%2], delta[e%2]
			}
			g.assign(tile[e], f.power(k.Op(ptx.F32, "sub.rn.f32", tile[e], a)))
			d := k.Op(ptx.F32, "sub.rn.f32", ds[j][e], b)
			d = k.Op(ptx.F32, "mul.rn.f32", k.Op(ptx.F32, "mul.rn.f32", tile[e], d), ptx.Float32(float32(f.attrs.Scale)))
			g.assign(ds[j][e], d)
		}
	}
	f.weighted(f.outs[0], ds, stage, f.other[0].pitch, f.other[0].offset)
	if f.byKeys {
		f.weighted(f.outs[1], p, stage, f.other[1].pitch, f.other[1].offset)
	}
}

// store writes the gradients of the block's rows.
func (f *flashGrad) store(n *ir.Node) {
	g, k := f.gen, f.gen.k
	results := []ir.Value{n.Outputs[0]}
	if f.byKeys {
		results = n.Outputs[1:3]
	}
	for i, v := range results {
		to := g.place(g.places[v])
		for r := range 2 {
			row := f.row(r)
			skip := k.Label()
			k.BranchUnless(g.compare("lt", "u32", row, ptx.Int32(int64(f.rows))), skip)
			line := g.add(g.times(g.add(g.times(f.example, f.rows), row), f.heads), f.head)
			for j, tile := range f.outs[i] {
				if size := f.other[i].size; 8*j < size {
					number := g.add(g.add(g.times(line, size), f.column), ptx.Int32(int64(8*j)))
					f.put(to, number, tile[2*r], tile[2*r+1])
				}
			}
			k.Place(skip)
		}
	}
}
