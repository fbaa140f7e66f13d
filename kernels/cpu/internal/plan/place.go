package plan

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/cpu/internal/scan"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Placement gives every value that is needed in memory its storage.
type Placement struct {
	*fuse.Graph
	Operands []Operand              // by value; mem is nil for values that exist only in registers
	lastUse  []int                  // by value (the root of views): the last step that reads it
	Parts    map[ir.Value]fuse.Part // values that are computed in their places in a concatenation
	Storages []*Storage
	Inputs   []*Storage
	Outputs  []*Storage
	Copies   []outputCopy
	Err      error // constants take more memory than there is

	reads struct { // see readByOthers
		of *fuse.Unit
		by map[ir.Value]int // by root: the place of the node that reads it, or severalNodes
	}
}

// outputCopy copies a value that could not be computed in the output buffer. A staged copy goes through a temporary,
// because its source is an input that another output replaces.
type outputCopy struct {
	From, To Operand
	Stage    *Operand
}

// Place assigns storages. aliases says whether outputs may replace inputs, which they may not in sub-programs.
func Place(g *fuse.Graph, aliases bool) *Placement {
	p := &Placement{Graph: g, Operands: make([]Operand, g.Program.NumValues()), lastUse: make([]int, g.Program.NumValues())}
	for t, u := range g.Units {
		u.Time = t
	}
	p.findLastUses()
	parts := g.Parts()
	p.Parts = make(map[ir.Value]fuse.Part, len(parts))
	for i, in := range g.Program.Inputs {
		m := p.NewStorage(InInput, g.Program.Type(in.Value).Bytes())
		m.Index = i
		p.Inputs = append(p.Inputs, m)
		p.set(in.Value, m)
	}
	if p.placeConstants(); p.Err != nil {
		return p
	}
	p.placeOutputs(aliases)
	for _, u := range g.Units {
		for _, v := range u.Writes {
			switch {
			case p.Operands[v].Mem != nil:
			case aliases && p.Converts(u) != nil:
				p.set(v, p.NewStorage(Kept, p.Program.Type(v).Bytes()))
			case p.placePart(u, v, parts):
			default:
				p.placeResult(u, v)
			}
		}
	}
	p.placeViews()
	p.copyOutputs(aliases)
	return p
}

//go:noinline
func (p *Placement) NewStorage(kind Kind, bytes int) *Storage {
	m := &Storage{Kind: kind, Bytes: bytes}
	p.Storages = append(p.Storages, m)
	return m
}

func (p *Placement) set(v ir.Value, m *Storage) {
	t := p.Program.Type(v)
	p.Operands[v] = Operand{Mem: m, Typ: t, N: t.Shape.Size()}
}

func (p *Placement) findLastUses() {
	for i := range p.lastUse {
		p.lastUse[i] = -1
	}
	for t, u := range p.Units {
		for _, v := range u.Reads {
			r, _ := p.Root(v)
			p.lastUse[r] = max(p.lastUse[r], t)
		}
	}
	for _, out := range p.Program.Outputs {
		r, _ := p.Root(out.Value)
		p.lastUse[r] = len(p.Units)
	}
}

// placeConstants gives literals and the results of constant units their own memory.
func (p *Placement) placeConstants() {
	for i := range p.Program.Nodes {
		n := &p.Program.Nodes[i]
		if n.Op != ir.Constant || !p.Needed[n.Outputs[0]] {
			continue
		}
		v := n.Outputs[0]
		l := n.Attrs.(ir.ConstantAttrs).Literal
		bytes := l.Type.Bytes()
		if l.Splat && !p.readWhole(v) {
			bytes = l.Type.DType.Size()
		}
		m := p.NewStorage(InConstant, bytes)
		if !p.allocate(m, v) {
			return
		}
		fillLiteral(m, l)
		p.set(v, m)
	}
	for _, u := range p.Units {
		for _, v := range u.Writes {
			if u.Constant && p.Operands[v].Mem == nil {
				m := p.NewStorage(InConstant, p.Program.Type(v).Bytes())
				if !p.allocate(m, v) {
					return
				}
				p.set(v, m)
			}
		}
	}
}

// allocate allocates the memory of constant v. It returns false if there is not enough.
func (p *Placement) allocate(m *Storage, v ir.Value) bool {
	if p.Err = CheckMemory("the constant "+p.describe(v), float64(m.Bytes)); p.Err != nil {
		return false
	}
	if m.Bytes > 0 {
		m.Ptr = PointerTo(AlignedBytes(m.Bytes))
	}
	return true
}

// readWhole reports whether anything needs all elements of a splat constant. Elementwise units, and copies into
// outputs, only read the first one.
func (p *Placement) readWhole(v ir.Value) bool {
	for _, i := range p.Users[v] {
		n := &p.Program.Nodes[i]
		if n.Op.IsElementwise() && p.UnitOf[i] != nil && p.UnitOf[i].Elementwise {
			continue
		}
		return true
	}
	return false
}

func fillLiteral(m *Storage, l ir.Literal) {
	if m.Bytes == 0 {
		return
	}
	dst := BytesAt(m.Ptr, m.Bytes)
	n := copy(dst, l.Data)
	for n < len(dst) {
		n += copy(dst[n:], dst[:n])
	}
}

// placeOutputs lets outputs be computed in the caller's buffers.
func (p *Placement) placeOutputs(aliases bool) {
	for j, out := range p.Program.Outputs {
		m := p.NewStorage(inOutput, p.Program.Type(out.Value).Bytes())
		m.Index = j
		p.Outputs = append(p.Outputs, m)
		r, _ := p.Root(out.Value)
		i := p.Def[r]
		if p.Operands[r].Mem != nil || i < 0 || p.Program.Type(r).Bytes() != m.Bytes {
			continue
		}
		if aliases && out.Alias >= 0 && !p.mayReplace(p.UnitOf[i], r, p.Program.Inputs[out.Alias].Value) {
			continue
		}
		p.set(r, m)
	}
}

// mayReplace reports whether unit u may write r into the memory of the value old. A unit that checks indices while it
// runs may not, because a failed run must leave variables unchanged.
func (p *Placement) mayReplace(u *fuse.Unit, r, old ir.Value) bool {
	switch {
	case len(u.Tables) > 0:
		return false
	case p.lastUse[old] < u.Time:
		return true
	case p.lastUse[old] > u.Time:
		return false
	}
	return p.Overwrites(u, r, old)
}

// placePart places the result v of a unit in a concatenation, and returns false if it does not belong in one.
func (p *Placement) placePart(u *fuse.Unit, v ir.Value, parts map[ir.Value]fuse.Part) bool {
	part, ok := parts[v]
	if !ok {
		return false
	}
	if p.Operands[part.Whole].Mem == nil {
		m := p.NewStorage(InArena, p.Program.Type(part.Whole).Bytes())
		m.First, m.Last = u.Time, max(p.lastUse[part.Whole], part.Unit.Time)
		p.set(part.Whole, m)
	}
	whole := p.Operands[part.Whole]
	p.set(v, whole.Mem)
	p.Operands[v].Skip(whole.Off + part.Offset)
	p.Parts[v] = part
	return true
}

// placeResult places the result v of a unit in the memory of an operand if possible, else in new memory.
func (p *Placement) placeResult(u *fuse.Unit, v ir.Value) {
	for _, x := range u.Reads {
		r, _ := p.Root(x)
		m := p.Operands[r].Mem
		if m == nil || m.Kind != InArena || m.Last != u.Time || m.taken == u || p.lastUse[r] != u.Time || m.Bytes != p.Program.Type(v).Bytes() {
			continue
		}
		if p.Overwrites(u, v, r) {
			m.Last, m.taken = max(p.lastUse[v], u.Time), u
			p.set(v, m)
			return
		}
	}
	m := p.NewStorage(InArena, p.Program.Type(v).Bytes())
	m.First, m.Last = u.Time, max(p.lastUse[v], u.Time)
	p.set(v, m)
}

// Overwrites reports whether unit u computes v correctly if v shares the memory of old, which the unit reads.
func (p *Placement) Overwrites(u *fuse.Unit, v, old ir.Value) bool {
	if p.Plain {
		return false
	}
	if u.Elementwise {
		return p.elementwiseOverwrites(u, v, old)
	}
	if e := u.Fused; e != nil && v == e.Result && p.gradientOverwrites(e, v, old) {
		return true
	}
	if e := u.Fused; e != nil {
		return e.Addend >= 0 && v == e.Result && p.sumOverwrites(u, old)
	}
	at := slices.IndexFunc(u.Nodes, func(i int) bool { return slices.Contains(p.Program.Nodes[i].Outputs, v) })
	if at < 0 {
		return false
	}
	n := &p.Program.Nodes[u.Nodes[at]]
	if len(u.Nodes) > 1 && p.readByOthers(u, at, old) { // in a bucket of updates
		return false
	}
	for j, w := range n.Outputs {
		operand := n.Op.InPlaceOperand(j)
		if n.Op == ir.Scan {
			operand = scan.InPlace(n, j)
		}
		if w != v || operand < 0 {
			continue
		}
		for i, x := range n.Inputs {
			if r, _ := p.Root(x); r == old && i != operand {
				return false
			}
		}
		r, offset := p.Root(n.Inputs[operand])
		return r == old && offset == 0 && p.Program.Type(old).Bytes() == p.Program.Type(v).Bytes()
	}
	return false
}

// readByOthers reports whether nodes of the unit read a root, apart from the one at a place in it.
func (p *Placement) readByOthers(u *fuse.Unit, at int, root ir.Value) bool {
	if p.reads.of != u { // buckets of updates ask for each of their variables
		p.reads.of, p.reads.by = u, map[ir.Value]int{}
		for i, node := range u.Nodes {
			for _, x := range elementsRead(&p.Program.Nodes[node]) {
				r, _ := p.Root(x)
				by, read := p.reads.by[r]
				if !read {
					p.reads.by[r] = i
				} else if by != i {
					p.reads.by[r] = severalNodes
				}
			}
		}
	}
	by, read := p.reads.by[root]
	return read && by != at
}

// severalNodes stands for the place of a reader if there are several.
const severalNodes = -1

// elementsRead returns the inputs of a node, except those of which it needs only the shape.
func elementsRead(n *ir.Node) []ir.Value {
	if n.Op == ir.EmbeddingGrad {
		return n.Inputs[1:]
	}
	return n.Inputs
}

// sumOverwrites reports whether the result of a product may share the memory of its addend, if that is old. It may not
// overwrite other operands.
func (p *Placement) sumOverwrites(u *fuse.Unit, old ir.Value) bool {
	e := u.Fused
	n := &p.Program.Nodes[e.Anchor]
	if n.Op == ir.BatchNorm || n.Op == ir.Div { // all rows of an extreme's gradient read the extreme
		return false
	}
	for _, x := range append([]ir.Value{e.Bias, e.Kernel, e.Scale}, n.Inputs...) {
		if x < 0 {
			continue
		}
		if r, _ := p.Root(x); r == old {
			return false
		}
	}
	r, offset := p.Root(e.Addend)
	return r == old && offset == 0 && p.Program.Type(old).Bytes() == p.Program.Type(e.Result).Bytes()
}

// gradientOverwrites reports whether the result v of a normalization's gradient may share the memory of the upstream
// gradient, if that is old. It may not overwrite other operands.
func (p *Placement) gradientOverwrites(e *fuse.Epilogue, v, old ir.Value) bool {
	n := &p.Program.Nodes[e.Anchor]
	if n.Op != ir.BatchNormGrad && (n.Op != ir.LayerNormGrad || !p.Program.Type(v).DType.IsHalf()) {
		return false
	}
	for i := range n.Inputs[:4] {
		if r, _ := p.Root(p.Before(n, i)); r == old {
			return false
		}
	}
	upstream := e.Upstream
	if upstream < 0 {
		upstream = p.Before(n, 4)
	}
	r, offset := p.Root(upstream)
	return r == old && offset == 0 && e.Bias != old && p.Program.Type(old).Bytes() == p.Program.Type(v).Bytes()
}

// elementwiseOverwrites reports whether the unit reads old element by element, and never after v has been written.
func (p *Placement) elementwiseOverwrites(u *fuse.Unit, v, old ir.Value) bool {
	if p.Program.Type(v).DType.Size() != p.Program.Type(old).DType.Size() || slices.Contains(u.Sinks, p.Def[v]) {
		return false
	}
	if slices.ContainsFunc(u.Tables, func(x ir.Value) bool { r, _ := p.Root(x); return r == old }) {
		return false
	}
	for _, a := range u.Accesses {
		if r, offset := p.Root(a.Source); r == old && (!a.Dense || offset != 0) {
			return false
		}
	}
	for _, i := range u.Sinks { // at the end of each block, a concatenation reads what the unit does not compute
		if slices.ContainsFunc(p.SinkOperands(u, i), func(x ir.Value) bool { r, _ := p.Root(x); return r == old }) {
			return false
		}
	}
	for _, i := range u.Nodes {
		if i <= p.Def[v] {
			continue
		}
		for _, x := range p.Program.Nodes[i].Inputs {
			if r, _ := p.Root(u.Accesses[x].Source); r == old {
				return false
			}
		}
	}
	return true
}

// placeViews lets views share their root's memory.
func (p *Placement) placeViews() {
	for i := range p.Program.Nodes {
		n := &p.Program.Nodes[i]
		if !p.IsView(n) {
			continue
		}
		v := n.Outputs[0]
		r, offset := p.Root(v)
		if m := p.Operands[r].Mem; m != nil {
			p.set(v, m)
			p.Operands[v].Off = 0
			p.Operands[v].Skip(p.Operands[r].Off + offset)
		}
	}
}

// copyOutputs lists the outputs that are not computed in their buffers.
func (p *Placement) copyOutputs(aliases bool) {
	replaced := make([]bool, len(p.Program.Inputs))
	for _, out := range p.Program.Outputs {
		if aliases && out.Alias >= 0 {
			replaced[out.Alias] = true
		}
	}
	for j, out := range p.Program.Outputs {
		from := p.Operands[out.Value]
		if from.Mem == p.Outputs[j] && from.Off == 0 {
			continue
		}
		to := from
		to.Mem, to.Off = p.Outputs[j], 0
		c := outputCopy{From: from, To: to}
		if from.Mem.Kind == InInput && replaced[from.Mem.Index] {
			m := p.NewStorage(InArena, to.Mem.Bytes)
			m.First, m.Last = len(p.Units), len(p.Units)
			c.Stage = &Operand{Mem: m, Typ: to.Typ, N: to.N}
		}
		p.Copies = append(p.Copies, c)
	}
}

// Memory gives every arena storage an offset so that storages that are needed at the same time do not overlap, and
// returns the size of the arena. The largest storages come first, and each gets the lowest offset that is free during
// its life.
func Memory(storages []*Storage) int {
	var arena []*Storage
	for _, m := range storages {
		if m.Kind == InArena && m.Bytes > 0 {
			arena = append(arena, m)
		}
	}
	slices.SortStableFunc(arena, func(a, b *Storage) int { return b.Bytes - a.Bytes })
	total := 0
	var placed []*Storage // sorted by offset
	for _, m := range arena {
		size := RoundUp(m.Bytes, Alignment)
		offset := 0
		for _, other := range placed {
			if other.First > m.Last || other.Last < m.First {
				continue
			}
			if offset+size <= other.Offset {
				break
			}
			offset = max(offset, RoundUp(other.Offset+other.Bytes, Alignment))
		}
		m.Offset = offset
		at, _ := slices.BinarySearchFunc(placed, m, func(a, b *Storage) int { return a.Offset - b.Offset })
		placed = slices.Insert(placed, at, m)
		total = max(total, offset+size)
	}
	return total
}
