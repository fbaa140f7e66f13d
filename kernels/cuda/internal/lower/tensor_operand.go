package lower

import (
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// panel is an operand's tile in shared memory, in lines along the axis that is innermost in global memory: k, or the
// outer index.
type panel struct {
	value  ir.Value
	dtype  ir.DType
	size   int // bytes of an element
	fast   bool
	length int // of the outer index, in the whole operand
	outer  int // of the outer index, in the tile
	depth  int // of k, in the tile
	pitch  int // bytes from line to line
	offset int // offset in a stage
	chunk  int // bytes that are copied at once
	group  bool
}

// panel lays out a tile. Lines are padded by a few bytes, so that what a warp reads at once is in different banks.
func (t *tensor) panel(s side, length, outer int) panel {
	u := t.unit
	p := panel{value: s.value, dtype: t.p.Type(s.value).DType, size: u.size, fast: s.fast, length: length, outer: outer, depth: t.depth, chunk: 4}
	if t.byChunks(s) {
		p.chunk = chunkBytes
	}
	if p.group = t.group; p.group {
		p.pitch = groupLineBytes
		return p
	}
	p.pitch = p.line()*u.size + 16
	if !p.fast && u.size == 4 {
		p.pitch += 16
	}
	return p
}

func (p *panel) line() int {
	if p.fast {
		return p.depth
	}
	return p.outer
}

func (p *panel) bytes() int {
	if p.group {
		return p.outer * p.depth * p.size
	}
	return p.outer * p.depth / p.line() * p.pitch
}

// strides are the bytes between adjacent elements along the outer index and along k.
func (p *panel) strides() (outer, k int) {
	if p.fast {
		return p.pitch, p.size
	}
	return p.size, p.pitch
}

// fill prepares the copies of a panel, and returns a function that writes them for a given k. Elements outside are 0.
// What depends on the outer index alone is computed here, once.
func (t *tensor) fill(p *panel, s side, first ptx.Operand) func(at, limit, stage ptx.Operand) {
	g, k := t.gen, t.k
	each := p.chunk / p.size // elements of a chunk
	chunks := p.line() / each
	tid := k.Op(ptx.B32, "mov.u32", special("%tid.x"))
	position, line := g.times(g.mod(tid, chunks), each), g.over(tid, chunks)
	lines := t.block / chunks // that the block copies at once
	count := p.outer * p.depth / each / t.block
	own := t.slots(p, position, line, lines, count)
	memory := g.pointer(s.value)
	known := map[int]outerPart{}
	outer := func(e, i int) outerPart {
		m, key := g.add(position, ptx.Int32(int64(i))), i
		if p.fast {
			m, key = g.add(line, ptx.Int32(int64(e*lines))), e*each
		}
		if _, ok := known[key]; !ok {
			m = g.mov(ptx.B32, g.add(first, m))
			known[key] = outerPart{s.outer(t.batch, m), g.compare("lt", "u32", m, ptx.Int32(int64(p.length)))}
		}
		return known[key]
	}
	for e := range count {
		for i := range p.addressed() {
			outer(e, i)
		}
	}
	return func(at, limit, stage ptx.Operand) {
		slots := map[int]ptx.Operand{}
		inners := map[int]outerPart{}
		inner := func(e, i int) outerPart {
			n, key := g.add(line, ptx.Int32(int64(e*lines))), e*each
			if p.fast {
				n, key = g.add(position, ptx.Int32(int64(i))), i
			}
			if _, ok := inners[key]; !ok {
				n = g.mov(ptx.B32, g.add(at, n))
				inners[key] = outerPart{s.inner(n), g.compare("lt", "u32", n, limit)}
			}
			return inners[key]
		}
		for e := range count {
			pass := p.pass(e * lines)
			if slots[pass].IsZero() {
				slots[pass] = k.Op(ptx.B32, "add.s32", own[pass], stage)
			}
			to := ptx.Raw("[" + slots[pass].String() + "+" + itoa((e*lines-pass)*p.pitch) + "]")
			// element returns the number of an element of the chunk, 0 if there is none.
			t.copyChunk(p, to, memory, func(i int) (number, valid ptx.Operand) {
				o, n := outer(e, i), inner(e, i)
				number, there := s.join(o.numbers, n.numbers)
				valid = g.both(o.valid, n.valid)
				if !there.IsZero() {
					valid = g.both(valid, there)
				}
				return number, valid
			})
		}
	}
}

// slots are the addresses of a thread's first chunks in stage 0. The chunks of a later pass have the same addresses,
// plus whole patterns of eight lines.
func (t *tensor) slots(p *panel, position, line ptx.Operand, lines, count int) map[int]ptx.Operand {
	g, own := t.gen, map[int]ptx.Operand{}
	for e := range count {
		if pass := p.pass(e * lines); own[pass].IsZero() {
			at := p.slot(g, g.add(line, ptx.Int32(int64(pass))), position)
			own[pass] = g.mov(ptx.B32, g.add(at, g.add(t.base, ptx.Int32(int64(p.offset)))))
		}
	}
	return own
}

// pass is a distance in lines, modulo the eight lines of a pattern; 0 if there are no patterns.
func (p *panel) pass(lines int) int {
	if p.group {
		return lines % 8
	}
	return 0
}

// outerPart is what is known about an element from its outer index.
type outerPart struct {
	numbers []ptx.Operand
	valid   ptx.Operand
}

// addressed is how many elements of a chunk need an address.
func (p *panel) addressed() int {
	if p.chunk == chunkBytes || p.size == 4 {
		return 1
	}
	return 2
}

// slot is the address of a chunk, given its line and its position in the line. For warp groups, lines have 128 bytes
// (longer ones are split into columns), and the chunks of eight lines are swizzled.
func (p *panel) slot(g *gen, line, position ptx.Operand) ptx.Operand {
	if !p.group {
		return g.add(g.times(line, p.pitch), g.times(position, p.size))
	}
	const perLine = groupLineBytes / chunkBytes
	chunk := g.over(position, chunkBytes/p.size)
	column, chunk := g.over(chunk, perLine), g.mod(chunk, perLine)
	chunk = g.k.Op(ptx.B32, "xor.b32", g.mov(ptx.B32, chunk), g.mov(ptx.B32, g.mod(line, 8)))
	at := g.add(g.times(line, groupLineBytes), g.times(chunk, chunkBytes))
	return g.add(at, g.times(column, p.depth*groupLineBytes))
}

// copyChunk copies adjacent elements, or scattered ones, into shared memory.
func (t *tensor) copyChunk(p *panel, to, memory ptx.Operand, element func(i int) (number, valid ptx.Operand)) {
	g, k := t.gen, t.k
	if p.addressed() == 1 {
		number, valid := element(0)
		number = g.pick(valid, g.mov(ptx.B32, number), ptx.Int32(0)) // a valid address, from which nothing is read
		cache := map[int]string{4: "ca", chunkBytes: "cg"}[p.chunk]
		bytes := g.pick(valid, ptx.Int32(int64(p.chunk)), ptx.Int32(0))
		k.Line("cp.async.%s.shared.global %v, %v, %d, %v", cache, to, g.element(memory, number, p.size), p.chunk, bytes)
		return
	}
	var both ptx.Operand
	for i := range p.addressed() {
		number, valid := element(i)
		x := g.mov(ptx.B32, ptx.Int32(0))
		skip := k.Label()
		k.BranchUnless(valid, skip)
		k.To(x, "ld.global.u16", g.element(memory, number, p.size))
		k.Place(skip)
		if i > 0 {
			x = k.Op(ptx.B32, "or.b32", both, k.Op(ptx.B32, "shl.b32", x, ptx.Int32(16)))
		}
		both = x
	}
	k.To(to, "st.shared.b32", both)
}

// warp is the first outer index of the part of a panel that a warp multiplies.
func (p *panel) warp(t *tensor, rows bool) ptx.Operand {
	if rows {
		return t.times(t.mod(t.warp, t.warpsM), t.warpM)
	}
	return t.times(t.over(t.warp, t.warpsM), t.warpN)
}

// fragments prepares reading a panel as operands of products. The function that it returns takes a stage's offset; the
// function that this one returns gives the registers of a tile, 16 rows of A or 8 columns of B, in a step of k.
func (t *tensor) fragments(p *panel, first ptx.Operand) func(stage ptx.Operand) func(tile, step int) []ptx.Operand {
	if p.size == 4 {
		return t.words(p, first)
	}
	g, k := t.gen, t.k
	isA := p == &t.a
	perOuter, perK := p.strides()
	// Each eight lanes give the lines of one matrix. For A the second matrix is the next along the rows, and the third
	// the next along k; for B it is the other way round.
	eight, odd, upper := g.mod(t.lane, 8), g.times(g.mod(g.over(t.lane, 8), 2), 8), g.times(g.over(t.lane, 16), 8)
	m, n := odd, upper
	if !isA {
		m, n = upper, odd
	}
	if p.fast {
		m = g.add(m, eight)
	} else {
		n = g.add(n, eight)
	}
	own := g.add(g.times(g.add(first, m), perOuter), g.times(n, perK))
	own = g.mov(ptx.B32, g.add(g.add(own, t.base), ptx.Int32(int64(p.offset))))
	name := "ldmatrix.sync.aligned.m8n8.x4.shared.b16"
	if !p.fast {
		name = "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"
	}
	return func(stage ptx.Operand) func(tile, step int) []ptx.Operand {
		from := k.Op(ptx.B32, "add.s32", own, stage)
		load := func(outer, step int) []ptx.Operand {
			r := []ptx.Operand{k.Reg(ptx.B32), k.Reg(ptx.B32), k.Reg(ptx.B32), k.Reg(ptx.B32)}
			k.Line("%s {%v, %v, %v, %v}, [%v+%d]", name, r[0], r[1], r[2], r[3], from, outer*perOuter+step*t.unit.step*perK)
			return r
		}
		var pair []ptx.Operand
		return func(tile, step int) []ptx.Operand {
			if isA {
				return load(16*tile, step)
			}
			if tile%2 == 0 { // two tiles of B at once
				pair = load(8*tile, step)
			}
			return pair[tile%2*2:]
		}
	}
}

// words is fragments for float32, whose elements occupy a register each.
func (t *tensor) words(p *panel, first ptx.Operand) func(stage ptx.Operand) func(tile, step int) []ptx.Operand {
	g, k := t.gen, t.k
	perOuter, perK := p.strides()
	own := g.add(g.times(g.add(first, g.over(t.lane, 4)), perOuter), g.times(g.mod(t.lane, 4), perK))
	own = g.mov(ptx.B32, g.add(g.add(own, t.base), ptx.Int32(int64(p.offset))))
	return func(stage ptx.Operand) func(tile, step int) []ptx.Operand {
		from := k.Op(ptx.B32, "add.s32", own, stage)
		load := func(outer, step int) ptx.Operand {
			x := k.Op(ptx.F32, "ld.shared.f32", ptx.Raw("["+from.String()+"+"+itoa(outer*perOuter+step*perK)+"]"))
			return k.Op(ptx.B32, "cvt.rna.tf32.f32", x)
		}
		return func(tile, step int) []ptx.Operand {
			step *= t.unit.step
			if p == &t.a {
				return []ptx.Operand{load(16*tile, step), load(16*tile+8, step), load(16*tile, step+4), load(16*tile+8, step+4)}
			}
			return []ptx.Operand{load(8*tile, step), load(8*tile, step+4)}
		}
	}
}
