package cpu

import (
	"math"
	"slices"
	"strings"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Elementwise units run on a small vector machine: the index space is cut into blocks short enough for all operands of a
// block to stay in the first-level cache, and every operation of the unit is one call of a block kernel. Pointers 0, 1, ...
// of a worker are the machine's operands: places in memory that advance with the block, or registers in the worker's scratch.

// vmOp is one block kernel with the numbers of its pointers.
type vmOp struct {
	fn           blockFn
	dst, a, b, c uint8
	chain        chainForm
}

// vmMemory is an operand whose elements follow the index space.
type vmMemory struct {
	o    operand
	size int // bytes of an element
	ptr  uint8
}

// vmProgram is a compiled elementwise unit.
type vmProgram struct {
	n, block  int
	memory    []vmMemory
	scalars   []vmMemory // operands that do not follow the index space
	once      []vmLoad   // the same for every block: scalars and periodic rows
	onceOps   []vmOp     // conversions of those
	each      []vmLoad
	ops       []vmOp
	segments  []vmSegment // the operations again, those that pass their results on as chains
	registers []vmRegister
	sinks     []vmSink
	scratch   int // bytes
	grain     int // blocks of a chunk
}

// vmRegister is a register's pointer number and its place in the scratch memory.
type vmRegister struct {
	ptr    uint8
	offset int
}

// vmBuilder compiles a unit.
type vmBuilder struct {
	*placement
	u       *unit
	prog    vmProgram
	next    int                  // the next free pointer number
	ptrOf   map[ir.Value]uint8   // of computed and loaded values
	source  map[string]uint8     // loads by access
	lastUse map[ir.Value]int     // the last node of the unit that reads a computed value
	free    map[int][]vmRegister // by element size: registers whose value is dead
	held    map[ir.Value]vmRegister

	reluMask map[int]ir.Value // selects that are the gradient of a relu: dy where this value is positive, else 0
	shares   map[int]share    // selects that are the gradient of an extreme
	skip     map[int]bool     // the comparisons of those, and what else nothing reads then
}

// blockBytes is how much of the first-level cache a block's operands may take.
const blockBytes = 24 << 10

func (p *placement) compileElementwise(u *unit, rt *runtime) func() {
	if u.size == 0 {
		return func() {}
	}
	// A first round tells how much memory the operands of a block take.
	trial := newVMBuilder(p, u)
	trial.prog.block = 64
	trial.compileNodes()
	b := newVMBuilder(p, u)
	b.chooseBlock(trial.elementBytes())
	b.compileNodes()
	// Kernels take about a quarter of the time of plain Go; every chunk fills the registers that hold scalars and rows anew.
	b.prog.grain = grain(max(b.prog.block*(len(b.prog.ops)+len(b.prog.each)+len(u.sinks))/4, 1))
	for _, i := range u.sinks {
		b.compileSink(i, rt)
	}
	return b.finish(rt)
}

func newVMBuilder(p *placement, u *unit) *vmBuilder {
	b := &vmBuilder{placement: p, u: u, ptrOf: map[ir.Value]uint8{}, source: map[string]uint8{}, lastUse: map[ir.Value]int{},
		free: map[int][]vmRegister{}, held: map[ir.Value]vmRegister{}, reluMask: map[int]ir.Value{}, shares: map[int]share{}, skip: map[int]bool{}}
	b.prog.n = u.size
	b.findReluGradients()
	b.findShares()
	for _, i := range u.nodes {
		for _, x := range p.p.Nodes[i].Inputs {
			b.lastUse[u.accesses[x].source] = i
		}
		if y, ok := b.reluMask[i]; ok {
			b.lastUse[u.accesses[y].source] = i
		}
		if s, ok := b.shares[i]; ok {
			b.lastUse[u.accesses[s.x].source], b.lastUse[u.accesses[s.y].source] = i, i
		}
	}
	for _, i := range u.sinks {
		b.lastUse[b.sinkOperand(i)] = math.MaxInt
	}
	return b
}

func (b *vmBuilder) compileNodes() {
	for _, i := range b.u.nodes {
		b.compileNode(i)
	}
}

// elementBytes is the memory that one element of all operands takes.
func (b *vmBuilder) elementBytes() int {
	bytes := b.prog.scratch / b.prog.block
	for _, m := range b.prog.memory {
		bytes += m.size
	}
	return bytes
}

// chooseBlock sets the number of elements of a block, each of which takes the given memory: a multiple of the periods of row operands
// if that is possible.
func (b *vmBuilder) chooseBlock(bytes int) {
	block := min(max(blockBytes/max(bytes, 1)/64*64, 256), 4096)
	unit := max(b.u.columns, 1)
	for _, a := range b.u.accesses {
		if d, _ := a.repetition(); d > 0 && d <= block && lcm(unit, d) <= block {
			unit = lcm(unit, d)
		}
	}
	b.prog.block = min(max(block/unit, 1)*unit, b.u.size)
}

func lcm(a, b int) int {
	g, r := a, b
	for r != 0 {
		g, r = r, g%r
	}
	return a / g * b
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

// newRegister returns a register that nothing used before.
func (b *vmBuilder) newRegister(size int) vmRegister {
	r := vmRegister{b.newPointer(), b.prog.scratch}
	b.prog.scratch += roundUp(b.prog.block*size, alignment)
	b.prog.registers = append(b.prog.registers, r)
	return r
}

func (b *vmBuilder) compileNode(i int) {
	n := &b.p.Nodes[i]
	if b.skip[i] {
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
			args[j] = b.scalarOperand(b.u.accesses[x])
		case !masked || j == 1:
			args[j] = b.operand(b.u.accesses[x])
		}
	}
	v := n.Outputs[0]
	d := b.p.Type(v).DType
	var dst uint8
	inMemory := b.operands[v].mem != nil
	if inMemory && !isHalf(d) {
		dst = b.memory(b.operands[v])
	} else {
		r := b.register(computeType(d).Size())
		dst = r.ptr
		b.held[v] = r
	}
	b.ptrOf[v] = dst
	if y, ok := b.reluMask[i]; ok {
		b.prog.ops = append(b.prog.ops, vmOp{fn: binaryReluGrad(d), dst: dst, a: args[1], b: b.operand(b.u.accesses[y]),
			chain: reluGradForm(d)})
	} else if shares {
		b.prog.ops = append(b.prog.ops, vmOp{fn: shareBlock(d), dst: dst, a: args[1], b: b.operand(b.u.accesses[shared.x]),
			c: b.operand(b.u.accesses[shared.y]), chain: shareForm(d)})
	} else if scalar >= 0 {
		b.prog.ops = append(b.prog.ops, vmOp{fn: scalarKernel(n.Op, d), dst: dst, a: args[1-scalar], b: args[scalar], chain: scalarForm(n.Op, d)})
	} else {
		b.prog.ops = appendKernel(b.prog.ops, b.p, n, dst, args)
	}
	if inMemory && isHalf(d) {
		b.prog.ops = append(b.prog.ops, vmOp{fn: narrowBlock(d), dst: b.memory(b.operands[v]), a: dst})
	}
	b.release(n, i)
}

// scalarSide returns which operand of a sum, difference, product or extreme is one number for the whole index space, where there is a
// kernel for that, or -1.
func (b *vmBuilder) scalarSide(n *ir.Node) int {
	if d := b.p.Type(n.Outputs[0]).DType; d != ir.Float32 && d != ir.Float64 {
		return -1
	}
	switch n.Op {
	case ir.Add, ir.Sub, ir.Mul, ir.Maximum, ir.Minimum:
	default:
		return -1
	}
	for side := 1; side >= 0 && (side == 1 || n.Op != ir.Sub); side-- {
		a := b.u.accesses[n.Inputs[side]]
		if _, computed := b.ptrOf[a.source]; computed && a.dense || n.Inputs[0] == n.Inputs[1] {
			continue
		}
		if o := &b.operands[a.source]; a.scalar() || o.mem != nil && o.mem.bytes == o.typ.DType.Size() && o.n > 1 {
			return side
		}
	}
	return -1
}

// scalarOperand returns the pointer to the one number that the access yields.
func (b *vmBuilder) scalarOperand(a access) uint8 {
	key := "one" + accessKey(&a)
	if ptr, ok := b.source[key]; ok {
		return ptr
	}
	o := b.operands[a.source]
	o.off += a.offset * o.typ.DType.Size()
	ptr := b.newPointer()
	b.prog.scalars = append(b.prog.scalars, vmMemory{o: o, ptr: ptr})
	b.source[key] = ptr
	return ptr
}

// release frees the registers of values that no later node reads.
func (b *vmBuilder) release(n *ir.Node, i int) {
	for _, v := range append(slices.Clone(n.Inputs), n.Outputs...) {
		if a, ok := b.u.accesses[v]; ok {
			v = a.source
		}
		if r, ok := b.held[v]; ok && b.lastUse[v] <= i {
			size := computeType(b.p.Type(v).DType).Size()
			b.free[size] = append(b.free[size], r)
			delete(b.held, v)
		}
	}
}

func (b *vmBuilder) memory(o operand) uint8 {
	ptr := b.newPointer()
	b.prog.memory = append(b.prog.memory, vmMemory{o, o.typ.DType.Size(), ptr})
	return ptr
}

// operand returns the pointer to a block of what the access yields.
func (b *vmBuilder) operand(a access) uint8 {
	if ptr, ok := b.ptrOf[a.source]; ok && a.dense {
		return ptr
	}
	key := accessKey(&a)
	if ptr, ok := b.source[key]; ok {
		return ptr
	}
	o := b.operands[a.source]
	d := o.typ.DType
	var ptr uint8
	contiguous := a.dense || len(a.dims) == 1 && a.strides[0] == 1 && a.dims[0] == b.u.size
	switch {
	case o.mem.bytes == d.Size() && o.n > 1: // one element stands for all
		ptr = b.load(o, &access{source: a.source})
	case contiguous:
		o.off += a.offset * d.Size()
		ptr = b.memory(o)
		if isHalf(d) {
			r := b.register(4)
			b.prog.ops = append(b.prog.ops, vmOp{fn: widenBlock(d), dst: r.ptr, a: ptr})
			ptr = r.ptr
		}
	default:
		ptr = b.load(o, &a)
	}
	b.source[key] = ptr
	return ptr
}

func accessKey(a *access) string {
	var s strings.Builder
	for _, list := range [][]int{{int(a.source), a.offset, len(a.dims)}, a.dims, a.strides} {
		for _, x := range list {
			for range 4 {
				s.WriteByte(byte(x))
				x >>= 8
			}
		}
	}
	if a.dense {
		s.WriteByte('d')
	}
	return s.String()
}

// load fills a register, which stays reserved, by an access pattern.
func (b *vmBuilder) load(o operand, a *access) uint8 {
	d := o.typ.DType
	size := d.Size()
	r := b.newRegister(computeType(d).Size()) // loads run before all operations of a block
	o.off += a.offset * size
	l := vmLoad{o: o, size: size, ptr: r.ptr, dims: a.dims}
	l.period, l.count = a.repetition()
	for _, s := range a.strides {
		l.strides = append(l.strides, s*size)
	}
	once := a.scalar() || l.period > 0 && b.prog.block%l.period == 0 && l.period*l.count >= b.prog.n
	if a.scalar() {
		l.dims, l.strides = nil, nil
	}
	op := vmOp{fn: widenBlock(d), dst: r.ptr}
	if isHalf(d) {
		op.a = b.newRegister(size).ptr
		l.ptr = op.a
	}
	if once {
		b.prog.once = append(b.prog.once, l)
	} else {
		b.prog.each = append(b.prog.each, l)
	}
	switch {
	case !isHalf(d):
	case once:
		b.prog.onceOps = append(b.prog.onceOps, op)
	default:
		b.prog.ops = append(b.prog.ops, op)
	}
	return r.ptr
}

// finish returns the function that runs the program.
func (b *vmBuilder) finish(rt *runtime) func() {
	b.chain()
	prog := b.prog
	rt.need(prog.scratch)
	blocks := (prog.n + prog.block - 1) / prog.block
	loop := rt.parallel(blocks, prog.grain, func(w *worker, lo, hi int) { prog.run(w, lo, hi) })
	if len(prog.sinks) == 0 {
		return loop
	}
	return func() {
		loop()
		for i := range prog.sinks {
			prog.sinks[i].finish()
		}
	}
}

// run computes the blocks [lo, hi).
func (p *vmProgram) run(w *worker, lo, hi int) {
	ptrs, chains := &w.ptrs, len(p.segments) > 0 && vec.Chains()
	base := unsafe.Pointer(unsafe.SliceData(w.scratch))
	for _, r := range p.registers {
		ptrs[r.ptr] = unsafe.Add(base, r.offset)
	}
	for i := range p.scalars {
		ptrs[p.scalars[i].ptr] = p.scalars[i].o.ptr()
	}
	for i := range p.once {
		l := &p.once[i]
		l.fill(ptrs[l.ptr], 0, min(p.block, p.n))
	}
	for i := range p.onceOps {
		op := &p.onceOps[i]
		op.fn(ptrs[op.dst], ptrs[op.a], nil, nil, p.block)
	}
	for k := lo; k < hi; k++ {
		first := k * p.block
		n := min(p.block, p.n-first)
		for i := range p.memory {
			m := &p.memory[i]
			ptrs[m.ptr] = unsafe.Add(m.o.ptr(), first*m.size)
		}
		for i := range p.each {
			if l := &p.each[i]; k == lo || !l.holds(first, n, p.block) {
				l.fill(ptrs[l.ptr], first, n)
			}
		}
		if chains {
			p.runSegments(w, n)
		} else {
			p.runOps(ptrs, p.ops, n)
		}
		for i := range p.sinks {
			s := &p.sinks[i]
			s.take(ptrs[s.ptr], k, k == lo, n)
		}
	}
}

func (p *vmProgram) runOps(ptrs *[maxPointers]unsafe.Pointer, ops []vmOp, n int) {
	for i := range ops {
		op := &ops[i]
		op.fn(ptrs[op.dst], ptrs[op.a], ptrs[op.b], ptrs[op.c], n)
	}
}
