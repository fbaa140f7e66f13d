package cpu

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/cpu/internal/jit"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Elementwise units run on a small vector machine. The index space is cut into blocks, short enough for all operands of
// a block to stay in the first-level cache, and each operation of the unit is one call of a block kernel. The machine's
// operands are the pointers 0, 1, ... of a worker. Each points to memory, and advances with the block, or to a register
// in the worker's scratch memory.

// vmOp is a call of a block kernel. Its operands are numbers of pointers.
type vmOp struct {
	fn           block.Func
	dst, a, b, c uint8
	rows         bool // one element for each row
	chain        chainForm
}

// vmMemory is an operand in memory whose elements are in the order of the index space.
type vmMemory struct {
	o    plan.Operand
	size int // bytes of an element
	ptr  uint8
	rows bool // one element for each row
}

// vmProgram is a compiled elementwise unit.
type vmProgram struct {
	n, block  int
	columns   int // length of a row
	line      int // elements of a line if blocks are lines, else 0
	parts     int // blocks of a line
	memory    []vmMemory
	lines     []vmLine
	numbers   []vmNumber
	scalars   []vmMemory // operands that are one number for the whole index space
	once      []vmLoad   // loads that are the same for every block: scalars and periodic rows
	onceOps   []vmOp     // conversions of what once loads
	each      []vmLoad
	apart     []*vmApart
	moves     []vmMove          // pointers into memory and lines, if blocks need nothing else
	steps     *[maxPointers]int // the same for code that goes from block to block by itself
	ops       []vmOp
	segments  []vmSegment // the operations cut into chains
	compiled  []vmSegment // the operations cut into pieces of compiled code
	code      *jit.Code   // one of those pieces
	registers []vmRegister
	sinks     []vmSink
	places    []vmPlace
	lookups   []*vmLookup
	position  uint8 // with lookups: the pointer to the number of a block's first element
	scratch   int   // bytes
	grain     int   // blocks of a chunk
}

// vmRegister is a register's pointer number and its place in the scratch memory.
type vmRegister struct {
	ptr    uint8
	offset int
}

// vmBuilder compiles a unit.
type vmBuilder struct {
	*placement
	u        *fuse.Unit
	leastRow int // shortest rows that become blocks; see rowOfNumbers
	prog     vmProgram
	next     int                  // the next free pointer number
	ptrOf    map[ir.Value]uint8   // of computed and loaded values
	source   map[string]uint8     // loads by access
	lastUse  map[ir.Value]int     // the last node of the unit that reads the value
	free     map[int][]vmRegister // registers with dead values, by element size
	held     map[ir.Value]vmRegister

	reluMask map[int]ir.Value   // selects that are the gradient of a relu: dy where this value is positive, else 0
	shares   map[int]fuse.Share // selects that are the gradient of a maximum or minimum
	narrowed map[ir.Value]uint8 // 16-bit values as stored in memory
	splats   map[uint8]bool     // pointers to registers that hold copies of one number
	skip     map[int]bool       // nodes that need not run: comparisons of those selects, and what only they read
	decided  map[int]ir.Value   // selections whose condition is known: the operand that they select
	inPlace  [][2]*plan.Operand // see compileKnown
	dots     map[int]*ir.Node   // sums of rows of a product that is read nowhere else
}

func (p *placement) compileElementwise(u *fuse.Unit, rt *runtime) func() {
	if u.Size == 0 {
		return func() {}
	}
	return p.compileDecided(u, rt, nil)
}

// compileKnown compiles a unit some of whose conditions are known. It computes nothing for results whose memory holds
// them already, provided that the operands of each pair have the same memory.
func (p *placement) compileKnown(u *fuse.Unit, rt *runtime, known map[ir.Value]bool) (run func(), inPlace [][2]*plan.Operand) {
	// A first trial compilation determines how much memory the operands of a block take.
	trial := newVMBuilder(p, u)
	trial.decide(known)
	trial.prog.block, trial.prog.parts = 64, 1
	trial.compileNodes()
	bytes := trial.elementBytes()
	if len(known) > 0 && len(trial.prog.ops) == 0 {
		return func() {}, trial.inPlace
	}
	if b := trial.byShortRows(bytes); b != nil {
		return b.loop(rt), trial.inPlace
	}
	b := trial.again(numbersLine)
	b.chooseBlock(bytes)
	b.compileNodes()
	// Kernels take about a quarter of the time of plain Go. Each chunk fills the registers for scalars and rows again.
	b.chooseGrain()
	for _, i := range u.Sinks {
		if p.Program.Nodes[i].Op != ir.Concat {
			b.compileSink(i)
		}
	}
	b.compile()
	return b.loop(rt), trial.inPlace
}

func (b *vmBuilder) chooseGrain() {
	b.prog.grain = grain(max(b.prog.block*(len(b.prog.ops)+len(b.prog.each)+len(b.u.Sinks))/4, 1))
}

func newVMBuilder(p *placement, u *fuse.Unit) *vmBuilder {
	b := &vmBuilder{placement: p, u: u, lastUse: map[ir.Value]int{}, reluMask: map[int]ir.Value{}, shares: map[int]fuse.Share{}, skip: map[int]bool{}}
	b.begin(numbersLine)
	b.findReluGradients()
	b.findShares()
	b.findDots()
	for _, i := range u.Nodes {
		for _, x := range p.Program.Nodes[i].Inputs {
			if a, ok := u.Accesses[x]; ok { // tables have none
				b.lastUse[a.Source] = i
			}
		}
		if y, ok := b.reluMask[i]; ok {
			b.lastUse[u.Accesses[y].Source] = i
		}
		if product := b.dots[i]; product != nil {
			for _, x := range product.Inputs {
				b.lastUse[u.Accesses[x].Source] = i
			}
		}
		if s, ok := b.shares[i]; ok {
			b.lastUse[u.Accesses[s.X].Source], b.lastUse[u.Accesses[s.Y].Source] = i, i
		}
	}
	for _, i := range u.Sinks {
		for _, v := range b.SinkOperands(u, i) {
			b.lastUse[v] = math.MaxInt
		}
		if product := b.dots[i]; product != nil {
			for _, x := range product.Inputs {
				b.lastUse[u.Accesses[x].Source] = math.MaxInt
			}
		}
	}
	return b
}

// begin begins to compile. Rows with at least leastRow elements become blocks if there is an operand of one number for
// each row.
func (b *vmBuilder) begin(leastRow int) {
	b.ptrOf, b.source, b.narrowed, b.splats = map[ir.Value]uint8{}, map[string]uint8{}, map[ir.Value]uint8{}, map[uint8]bool{}
	b.free, b.held = map[int][]vmRegister{}, map[ir.Value]vmRegister{}
	b.prog.n, b.prog.columns, b.leastRow = b.u.Size, max(b.u.Columns, 1), leastRow
	b.findLine()
}

// again returns a builder that knows what this one has found out about the unit, and has compiled nothing.
func (b *vmBuilder) again(leastRow int) *vmBuilder {
	c := &vmBuilder{placement: b.placement, u: b.u, lastUse: b.lastUse, reluMask: b.reluMask, shares: b.shares, skip: b.skip, decided: b.decided, dots: b.dots}
	c.begin(leastRow)
	return c
}

func (b *vmBuilder) compileNodes() {
	for _, i := range b.u.Nodes {
		b.compileNode(i)
	}
	for _, i := range b.u.Sinks {
		if b.Program.Nodes[i].Op == ir.Concat {
			b.compilePlaces(i)
		}
		if product := b.dots[i]; product != nil {
			for _, x := range product.Inputs {
				b.operand(b.u.Accesses[x]) // reserves a register before the block size is chosen
			}
		}
	}
}

func (b *vmBuilder) newPointer() uint8 {
	b.next++
	return uint8(b.next - 1)
}

// register returns a free register for elements of the given size.
func (b *vmBuilder) register(size int) vmRegister {
	if list := b.free[size]; len(list) > 0 {
		b.free[size] = list[:len(list)-1]
		return list[len(list)-1]
	}
	return b.newRegister(size)
}

// newRegister returns a register that has not been used before.
//
//go:noinline
func (b *vmBuilder) newRegister(size int) vmRegister {
	r := vmRegister{b.newPointer(), b.prog.scratch}
	b.prog.scratch += plan.RoundUp(b.prog.block*size, plan.Alignment)
	b.prog.registers = append(b.prog.registers, r)
	return r
}

func (b *vmBuilder) compileNode(i int) {
	n := &b.Program.Nodes[i]
	if b.skip[i] {
		return
	}
	if _, ok := b.decided[i]; ok {
		b.compileDecision(i, n)
		return
	}
	switch n.Op {
	case ir.Gather:
		b.compileLookup(i, n)
		return
	case ir.Reduce:
		b.compileRowReduction(i, n)
		return
	}
	if side := b.rowSide(n); side >= 0 {
		b.compileRowScalar(i, n, side)
		return
	}
	args := make([]uint8, len(n.Inputs))
	_, masked := b.reluMask[i]
	shared, shares := b.shares[i]
	masked = masked || shares
	scalar := b.scalarSide(n)
	for j, x := range n.Inputs {
		switch {
		case j == scalar:
			args[j] = b.scalarOperand(b.u.Accesses[x])
		case !masked || j == 1:
			args[j] = b.operand(b.u.Accesses[x])
		}
	}
	v := n.Outputs[0]
	d := b.Program.Type(v).DType
	inMemory := b.Operands[v].Mem != nil
	dst, before := b.result(v), len(b.prog.ops)
	if y, ok := b.reluMask[i]; ok {
		b.prog.ops = append(b.prog.ops, vmOp{fn: block.ReluGrad(d), dst: dst, a: args[1], b: b.operand(b.u.Accesses[y]),
			chain: reluGradForm(d)})
	} else if shares {
		b.prog.ops = append(b.prog.ops, vmOp{fn: block.Share(d), dst: dst, a: args[1], b: b.operand(b.u.Accesses[shared.X]),
			c: b.operand(b.u.Accesses[shared.Y]), chain: shareForm(d)})
	} else if scalar >= 0 {
		b.prog.ops = append(b.prog.ops, vmOp{fn: block.Scalar(n.Op, d), dst: dst, a: args[1-scalar], b: args[scalar], chain: scalarForm(n.Op, d)})
	} else {
		b.prog.ops = appendKernel(b.prog.ops, b.Program, n, dst, args)
	}
	if inMemory && d.IsHalf() {
		b.narrow(v, b.memory(b.Operands[v]))
	}
	for k := range b.prog.ops[before:] {
		b.prog.ops[before+k].rows = b.ofRows(v)
	}
	b.release(n, i)
}

// result returns the pointer to where value v of the unit is computed.
func (b *vmBuilder) result(v ir.Value) (ptr uint8) {
	d := b.Program.Type(v).DType
	part, placed := b.Parts[v]
	switch {
	case placed && part.Row < part.Stride:
		ptr = b.part(v, part)
	case b.Operands[v].Mem != nil && !d.IsHalf():
		ptr = b.memory(b.Operands[v])
	case b.ofRows(v):
		ptr = b.rowRegister(d.Size())
	default:
		r := b.register(block.ComputeType(d).Size())
		ptr, b.held[v] = r.ptr, r
	}
	b.ptrOf[v] = ptr
	return ptr
}

// scalarSide returns which operand of a sum, difference, product, maximum or minimum is one number for the whole index
// space, provided that there is a kernel for it, else -1.
func (b *vmBuilder) scalarSide(n *ir.Node) int {
	if d := b.Program.Type(n.Outputs[0]).DType; d != ir.Float32 && d != ir.Float64 {
		return -1
	}
	switch n.Op {
	case ir.Add, ir.Sub, ir.Mul, ir.Maximum, ir.Minimum:
	default:
		return -1
	}
	for side := 1; side >= 0 && (side == 1 || n.Op != ir.Sub); side-- {
		a := b.u.Accesses[n.Inputs[side]]
		if _, computed := b.ptrOf[a.Source]; computed && a.Dense || n.Inputs[0] == n.Inputs[1] {
			continue
		}
		if o := &b.Operands[a.Source]; a.Scalar() || o.Mem != nil && o.Mem.Bytes == o.Typ.DType.Size() && o.N > 1 {
			return side
		}
	}
	return -1
}

// scalarOperand returns the pointer to the one number that the access reads.
func (b *vmBuilder) scalarOperand(a fuse.Access) uint8 {
	key := accessKey('1', &a)
	if ptr, ok := b.source[key]; ok {
		return ptr
	}
	o := b.Operands[a.Source]
	o.Skip(a.Offset * o.Typ.DType.Size())
	ptr := b.newPointer()
	b.prog.scalars = append(b.prog.scalars, vmMemory{o: o, ptr: ptr})
	b.source[key] = ptr
	return ptr
}

// release frees the registers of values that no later node reads.
func (b *vmBuilder) release(n *ir.Node, i int) {
	for _, v := range append(slices.Clone(n.Inputs), n.Outputs...) {
		if a, ok := b.u.Accesses[v]; ok {
			v = a.Source
		}
		if r, ok := b.held[v]; ok && b.lastUse[v] <= i {
			size := block.ComputeType(b.Program.Type(v).DType).Size()
			b.free[size] = append(b.free[size], r)
			delete(b.held, v)
		}
	}
}

//go:noinline
func (b *vmBuilder) memory(o plan.Operand) uint8 {
	ptr := b.newPointer()
	b.prog.memory = append(b.prog.memory, vmMemory{o, o.Typ.DType.Size(), ptr, b.u.Rows > 0 && o.N == b.u.Rows})
	return ptr
}

// operand returns the pointer to a block of the elements that the access reads.
func (b *vmBuilder) operand(a fuse.Access) uint8 {
	if ptr, ok := b.ptrOf[a.Source]; ok && a.Dense {
		return ptr
	}
	key := accessKey('e', &a)
	if ptr, ok := b.source[key]; ok {
		return ptr
	}
	if row, ok := b.ptrOf[a.Source]; ok && b.ofRows(a.Source) {
		b.source[key] = b.spread(b.Program.Type(a.Source).DType, row)
		return b.source[key]
	}
	o := b.Operands[a.Source]
	d := o.Typ.DType
	var ptr uint8
	contiguous := a.Dense || len(a.Dims) == 1 && a.Strides[0] == 1 && a.Dims[0] == b.u.Size
	switch {
	case o.Mem.Bytes == d.Size() && o.N > 1: // one element stands for all
		ptr = b.load(o, &fuse.Access{Source: a.Source})
	case contiguous:
		o.Skip(a.Offset * d.Size())
		ptr = b.widened(d, b.memory(o))
	case b.prog.line > 0 && isLines(&a) && a.Dims[len(a.Dims)-1]%b.prog.line == 0:
		ptr = b.lines(o, &a)
	case b.prog.line > 0 && len(b.u.Sinks) == 0 && b.isRowNumber(&a) && a.Dims[len(a.Dims)-1]%b.prog.line == 0:
		ptr = b.rowNumber(o, &a)
	default:
		ptr = b.load(o, &a)
	}
	b.source[key] = ptr
	return ptr
}

// widened returns the pointer to a register with the elements in float32 if memory holds them in 16 bits, else the
// pointer to the memory.
func (b *vmBuilder) widened(d ir.DType, memory uint8) uint8 {
	if !d.IsHalf() {
		return memory
	}
	r := b.register(4)
	b.prog.ops = append(b.prog.ops, widenOp(d, r.ptr, memory))
	return r.ptr
}

// accessKey names an access for one of several uses.
func accessKey(use byte, a *fuse.Access) string {
	var room [128]byte
	le := binary.LittleEndian
	s := le.AppendUint32(le.AppendUint32(append(room[:0], use, byte(len(a.Dims))), uint32(a.Source)), uint32(a.Offset))
	for i, d := range a.Dims {
		s = le.AppendUint32(le.AppendUint32(s, uint32(d)), uint32(a.Strides[i]))
	}
	if a.Dense {
		s = append(s, 'd')
	}
	return string(s)
}

// load fills a register according to an access pattern. The register stays reserved.
func (b *vmBuilder) load(o plan.Operand, a *fuse.Access) uint8 {
	d := o.Typ.DType
	r := b.newRegister(block.ComputeType(d).Size()) // loads run before all operations of a block
	o.Skip(a.Offset * d.Size())
	l, once := b.loadOf(o, a, r.ptr)
	if a.Scalar() {
		b.splats[r.ptr] = true
	}
	op := widenOp(d, r.ptr, 0)
	if d.IsHalf() {
		op.a = b.newRegister(d.Size()).ptr
		l.ptr = op.a
	}
	if once {
		b.prog.once = append(b.prog.once, l)
	} else {
		b.prog.each = append(b.prog.each, l)
	}
	switch {
	case !d.IsHalf():
	case once:
		b.prog.onceOps = append(b.prog.onceOps, op)
	default:
		b.prog.ops = append(b.prog.ops, op)
	}
	return r.ptr
}

// loadOf returns the load of an access into a register, and whether it is the same for every block.
func (b *vmBuilder) loadOf(o plan.Operand, a *fuse.Access, ptr uint8) (l vmLoad, once bool) {
	size := o.Typ.DType.Size()
	l = vmLoad{o: o, size: size, ptr: ptr, dims: a.Dims}
	l.period, l.count = a.Repetition()
	for _, s := range a.Strides {
		l.strides = append(l.strides, s*size)
	}
	once = a.Scalar() || l.period > 0 && b.prog.block%l.period == 0 && b.prog.line%l.period == 0 && l.period*l.count >= b.prog.n
	if a.Scalar() {
		l.dims, l.strides = nil, nil
	}
	l.findRepeats()
	return l, once
}
