package cpu

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// placement gives every value that is needed in memory its storage.
type placement struct {
	*graph
	operands []operand // by value; mem is nil for values that live in registers only
	lastUse  []int     // by value (the root of views): the last step that reads it
	storages []*storage
	inputs   []*storage
	outputs  []*storage
	copies   []outputCopy
	gathered map[ir.Value]*moments // of results of convolutions that batch normalizations read
	spaced   map[ir.Value]*operand // left sides of several products, with gaps between their rows
	sums     map[*ir.Node]*operand // reductions that a product computes besides
	err      error                 // constants that take more memory than there is
}

// outputCopy moves a value that could not be computed in the output buffer. Staged copies go through a temporary, because
// their source is an input that another output replaces.
type outputCopy struct {
	from, to operand
	stage    *operand
}

// root follows views to the value that owns the memory and returns the offset in bytes.
func (g *graph) root(v ir.Value) (ir.Value, int) {
	offset := 0
	for n := g.node(v); n != nil && g.isView(n); n = g.node(v) {
		if a, ok := n.Attrs.(ir.SliceAttrs); ok {
			first, _ := contiguousSlice(a, g.p.Type(n.Inputs[0]).Shape)
			offset += first * g.p.Type(v).DType.Size()
		}
		v = n.Inputs[0]
	}
	return v, offset
}

// place assigns storages. aliases says whether outputs may replace inputs, as they may not in sub-programs.
func (g *graph) place(aliases bool) *placement {
	p := &placement{graph: g, operands: make([]operand, g.p.NumValues()), lastUse: make([]int, g.p.NumValues())}
	for t, u := range g.units {
		u.time = t
	}
	p.findLastUses()
	for i, in := range g.p.Inputs {
		m := p.newStorage(inInput, g.p.Type(in.Value).Bytes())
		m.index = i
		p.inputs = append(p.inputs, m)
		p.set(in.Value, m)
	}
	if p.placeConstants(); p.err != nil {
		return p
	}
	p.placeOutputs(aliases)
	for _, u := range g.units {
		for _, v := range u.writes {
			if p.operands[v].mem == nil {
				p.placeResult(u, v)
			}
		}
	}
	p.placeViews()
	p.copyOutputs(aliases)
	return p
}

func (p *placement) newStorage(kind storageKind, bytes int) *storage {
	m := &storage{kind: kind, bytes: bytes}
	p.storages = append(p.storages, m)
	return m
}

func (p *placement) set(v ir.Value, m *storage) {
	t := p.p.Type(v)
	p.operands[v] = operand{mem: m, typ: t, n: t.Shape.Size()}
}

func (p *placement) findLastUses() {
	for i := range p.lastUse {
		p.lastUse[i] = -1
	}
	for t, u := range p.units {
		for _, v := range u.reads {
			r, _ := p.root(v)
			p.lastUse[r] = max(p.lastUse[r], t)
		}
	}
	for _, out := range p.p.Outputs {
		r, _ := p.root(out.Value)
		p.lastUse[r] = len(p.units)
	}
}

// placeConstants gives literals and the results of constant units memory of their own.
func (p *placement) placeConstants() {
	for i := range p.p.Nodes {
		n := &p.p.Nodes[i]
		if n.Op != ir.Constant || !p.needed[n.Outputs[0]] {
			continue
		}
		v := n.Outputs[0]
		l := n.Attrs.(ir.ConstantAttrs).Literal
		bytes := l.Type.Bytes()
		if l.Splat && !p.readWhole(v) {
			bytes = l.Type.DType.Size()
		}
		m := p.newStorage(inConstant, bytes)
		if !p.allocate(m, v) {
			return
		}
		fillLiteral(m, l)
		p.set(v, m)
	}
	for _, u := range p.units {
		for _, v := range u.writes {
			if u.constant && p.operands[v].mem == nil {
				m := p.newStorage(inConstant, p.p.Type(v).Bytes())
				if !p.allocate(m, v) {
					return
				}
				p.set(v, m)
			}
		}
	}
}

// allocate gives the constant v its memory, where there is that much.
func (p *placement) allocate(m *storage, v ir.Value) bool {
	if p.err = checkMemory("the constant "+p.describe(v), float64(m.bytes)); p.err != nil {
		return false
	}
	if m.bytes > 0 {
		m.ptr = pointerTo(alignedBytes(m.bytes))
	}
	return true
}

// readWhole reports whether anything needs all elements of a splat constant; elementwise units read the first one only.
func (p *placement) readWhole(v ir.Value) bool {
	if p.isOutput[v] {
		return true
	}
	for _, i := range p.users[v] {
		n := &p.p.Nodes[i]
		if n.Op.IsElementwise() && p.unitOf[i] != nil && p.unitOf[i].elementwise {
			continue
		}
		return true
	}
	return false
}

func fillLiteral(m *storage, l ir.Literal) {
	if m.bytes == 0 {
		return
	}
	dst := bytesAt(m.ptr, m.bytes)
	n := copy(dst, l.Data)
	for n < len(dst) {
		n += copy(dst[n:], dst[:n])
	}
}

// placeOutputs lets outputs be computed where the caller wants them.
func (p *placement) placeOutputs(aliases bool) {
	for j, out := range p.p.Outputs {
		m := p.newStorage(inOutput, p.p.Type(out.Value).Bytes())
		m.index = j
		p.outputs = append(p.outputs, m)
		r, _ := p.root(out.Value)
		i := p.def[r]
		if p.operands[r].mem != nil || i < 0 || p.p.Type(r).Bytes() != m.bytes {
			continue
		}
		if aliases && out.Alias >= 0 && !p.mayReplace(p.unitOf[i], r, p.p.Inputs[out.Alias].Value) {
			continue
		}
		p.set(r, m)
	}
}

// mayReplace reports whether unit u may write r into the memory of the value old.
func (p *placement) mayReplace(u *unit, r, old ir.Value) bool {
	switch {
	case p.lastUse[old] < u.time:
		return true
	case p.lastUse[old] > u.time:
		return false
	}
	return p.overwrites(u, r, old)
}

// placeResult puts the result v of a unit in place of an operand, if it may, or in new memory.
func (p *placement) placeResult(u *unit, v ir.Value) {
	for _, x := range u.reads {
		r, _ := p.root(x)
		m := p.operands[r].mem
		if m == nil || m.kind != inArena || m.last != u.time || m.taken == u || p.lastUse[r] != u.time || m.bytes != p.p.Type(v).Bytes() {
			continue
		}
		if p.overwrites(u, v, r) {
			m.last, m.taken = max(p.lastUse[v], u.time), u
			p.set(v, m)
			return
		}
	}
	m := p.newStorage(inArena, p.p.Type(v).Bytes())
	m.first, m.last = u.time, max(p.lastUse[v], u.time)
	p.set(v, m)
}

// overwrites reports whether unit u computes v correctly when v lies in the memory of old, which the unit reads.
func (p *placement) overwrites(u *unit, v, old ir.Value) bool {
	if p.plain {
		return false
	}
	if u.elementwise {
		return p.elementwiseOverwrites(u, v, old)
	}
	if e := u.fused; e != nil && e.upstream >= 0 && v == e.result {
		return p.gradientOverwrites(e, old)
	}
	if u.fused != nil {
		return false
	}
	at := slices.IndexFunc(u.nodes, func(i int) bool { return slices.Contains(p.p.Nodes[i].Outputs, v) })
	if at < 0 {
		return false
	}
	n := &p.p.Nodes[u.nodes[at]]
	for i, other := range u.nodes { // of a bucket of updates
		if i != at && slices.ContainsFunc(p.p.Nodes[other].Inputs, func(x ir.Value) bool { r, _ := p.root(x); return r == old }) {
			return false
		}
	}
	for j, w := range n.Outputs {
		operand := n.Op.InPlaceOperand(j)
		if n.Op == ir.Scan {
			operand = scanInPlace(n, j)
		}
		if w != v || operand < 0 {
			continue
		}
		for i, x := range n.Inputs {
			if r, _ := p.root(x); r == old && i != operand {
				return false
			}
		}
		r, offset := p.root(n.Inputs[operand])
		return r == old && offset == 0 && p.p.Type(old).Bytes() == p.p.Type(v).Bytes()
	}
	return false
}

// gradientOverwrites reports whether the gradient of a normalisation may lie where the gradient behind it is, and nothing else.
func (p *placement) gradientOverwrites(e *epilogue, old ir.Value) bool {
	for _, x := range p.p.Nodes[e.anchor].Inputs[:4] {
		if r, _ := p.root(x); r == old {
			return false
		}
	}
	r, offset := p.root(e.upstream)
	return r == old && offset == 0 && e.bias != old
}

// elementwiseOverwrites requires that the unit reads old element by element and not after v is written.
func (p *placement) elementwiseOverwrites(u *unit, v, old ir.Value) bool {
	if p.p.Type(v).DType.Size() != p.p.Type(old).DType.Size() || slices.Contains(u.sinks, p.def[v]) {
		return false
	}
	for _, a := range u.accesses {
		if r, offset := p.root(a.source); r == old && (!a.dense || offset != 0) {
			return false
		}
	}
	for _, i := range u.nodes {
		if i <= p.def[v] {
			continue
		}
		for _, x := range p.p.Nodes[i].Inputs {
			if r, _ := p.root(u.accesses[x].source); r == old {
				return false
			}
		}
	}
	return true
}

// placeViews lets views share their root's memory.
func (p *placement) placeViews() {
	for i := range p.p.Nodes {
		n := &p.p.Nodes[i]
		if !p.isView(n) {
			continue
		}
		v := n.Outputs[0]
		r, offset := p.root(v)
		if m := p.operands[r].mem; m != nil {
			p.set(v, m)
			p.operands[v].off = p.operands[r].off + offset
		}
	}
}

// copyOutputs lists the outputs that are not computed where they belong.
func (p *placement) copyOutputs(aliases bool) {
	replaced := make([]bool, len(p.p.Inputs))
	for _, out := range p.p.Outputs {
		if aliases && out.Alias >= 0 {
			replaced[out.Alias] = true
		}
	}
	for j, out := range p.p.Outputs {
		from := p.operands[out.Value]
		if from.mem == p.outputs[j] && from.off == 0 {
			continue
		}
		to := from
		to.mem, to.off = p.outputs[j], 0
		c := outputCopy{from: from, to: to}
		if from.mem.kind == inInput && replaced[from.mem.index] {
			m := p.newStorage(inArena, to.mem.bytes)
			m.first, m.last = len(p.units), len(p.units)
			c.stage = &operand{mem: m, typ: to.typ, n: to.n}
		}
		p.copies = append(p.copies, c)
	}
}

// planMemory gives every arena storage an offset such that storages that are needed at the same time do not overlap, and
// returns the size of the arena: the largest first, each at the lowest offset that is free during its life.
func planMemory(storages []*storage) int {
	var arena []*storage
	for _, m := range storages {
		if m.kind == inArena && m.bytes > 0 {
			arena = append(arena, m)
		}
	}
	slices.SortStableFunc(arena, func(a, b *storage) int { return b.bytes - a.bytes })
	total := 0
	var placed []*storage // sorted by offset
	for _, m := range arena {
		size := roundUp(m.bytes, alignment)
		offset := 0
		for _, other := range placed {
			if other.first > m.last || other.last < m.first {
				continue
			}
			if offset+size <= other.offset {
				break
			}
			offset = max(offset, roundUp(other.offset+other.bytes, alignment))
		}
		m.offset = offset
		at, _ := slices.BinarySearchFunc(placed, m, func(a, b *storage) int { return a.offset - b.offset })
		placed = slices.Insert(placed, at, m)
		total = max(total, offset+size)
	}
	return total
}
