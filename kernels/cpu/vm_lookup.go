package cpu

import (
	"strconv"
	"sync"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/cpu/internal/jit"
	"github.com/gokeras/gokeras/kernels/ir"
)

// lookupState is a worker's state that all its lookups share.
type lookupState struct {
	failure jit.Failure // set by compiled code
	first   int         // number of the block's first element
}

// vmLookup is a gather of single elements inside an elementwise unit. For each block it checks the indices and reads
// the elements.
type vmLookup struct {
	err  IndexError // still without Index and Position
	last int32      // the last element of the table

	mu       sync.Mutex
	failed   bool
	index    int32 // the first invalid index
	position int   // and its position
}

// compileLookup adds the gather node i.
func (b *vmBuilder) compileLookup(i int, n *ir.Node) {
	a := n.Attrs.(ir.GatherAttrs)
	table, v := n.Inputs[0], n.Outputs[0]
	d := b.Program.Type(table).DType
	length := b.Program.Type(table).Shape[a.Axis]
	l := &vmLookup{err: IndexError{Scope: n.Scope, Op: n.Op.String(), Axis: a.Axis, Length: length}, last: int32(min(length-1, 1<<31-1))}
	op := vmOp{a: b.table(table), b: b.operand(b.u.Accesses[n.Inputs[1]])}
	if b.prog.lookups == nil {
		b.prog.position = b.newPointer()
	}
	op.c = b.prog.position
	b.prog.lookups = append(b.prog.lookups, l)
	switch d.Size() {
	case 1:
		op.fn = lookup[uint8](l, a.Mode)
	case 2:
		op.fn = lookup[uint16](l, a.Mode)
	case 4:
		op.fn = lookup[uint32](l, a.Mode)
	default:
		op.fn = lookup[uint64](l, a.Mode)
	}
	if d.Size() <= 4 && a.Mode != ir.IndexDrop {
		op.chain = chainForm{compiled: true, first: jit.Lookup,
			lookup: &jit.Table{Size: d.Size(), Last: uint32(l.last), Clips: a.Mode == ir.IndexClip, Number: int32(len(b.prog.lookups)), Failure: op.c}}
	}
	if d.IsHalf() {
		b.lookUpHalves(v, op)
	} else {
		op.dst = b.result(v)
		b.prog.ops = append(b.prog.ops, op)
	}
	b.release(n, i)
}

// lookUpHalves adds a lookup of 16-bit floats, and widens them for the nodes of the unit that read them.
func (b *vmBuilder) lookUpHalves(v ir.Value, op vmOp) {
	d := b.Program.Type(v).DType
	if b.Operands[v].Mem != nil {
		op.dst = b.memory(b.Operands[v])
	} else {
		op.dst = b.newRegister(2).ptr
	}
	b.prog.ops = append(b.prog.ops, op)
	if _, read := b.lastUse[v]; read {
		r := b.register(4)
		b.ptrOf[v], b.held[v] = r.ptr, r
		b.prog.ops = append(b.prog.ops, widenOp(d, r.ptr, op.dst))
	}
}

// table returns the pointer to the first element of a value.
func (b *vmBuilder) table(v ir.Value) uint8 {
	key := accessKey('t', &fuse.Access{Source: v})
	ptr, ok := b.source[key]
	if !ok {
		ptr = b.newPointer()
		b.prog.scalars = append(b.prog.scalars, vmMemory{o: b.Operands[v], ptr: ptr})
		b.source[key] = ptr
	}
	return ptr
}

// lookup returns the kernel that reads elements of table a at indices b; c points to the state.
func lookup[T uint8 | uint16 | uint32 | uint64](l *vmLookup, mode ir.IndexMode) block.Func {
	return func(dst, table, indices, state unsafe.Pointer, n int) {
		y, x, at := block.View[T](dst, n), block.View[T](table, l.err.Length), block.View[int32](indices, n)
		switch {
		case allWithin(at, int64(l.err.Length)):
			gatherAt(y, x, at)
		case mode == ir.IndexError:
			l.fail(at, (*lookupState)(state).first)
			clear(y)
		default:
			gatherAnywhere(y, x, at, l.last, mode == ir.IndexDrop)
		}
	}
}

// gatherAnywhere copies the elements of x at positions that may be out of range. Such a position gives zero if drop is
// set, else the element at the nearest end.
func gatherAnywhere[T any](y, x []T, at []int32, last int32, drop bool) {
	for i, k := range at {
		near := min(max(k, 0), last)
		y[i] = x[near]
		if drop && near != k {
			clear(y[i : i+1])
		}
	}
}

// fail records the first invalid index of a block, unless an earlier position has failed already.
func (l *vmLookup) fail(at []int32, first int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, k := range at {
		if k >= 0 && k <= l.last {
			continue
		}
		if !l.failed || first+i < l.position {
			l.failed, l.index, l.position = true, k, first+i
		}
		return
	}
}

// untilDependent counts the operations before the first lookup whose index depends on another lookup. Such a lookup
// gets a loop of its own: in one loop, a processor waiting for the elements of one vector does not get far enough to
// start reading those of the next.
func untilDependent(ops []vmOp) int {
	var found [maxPointers]bool // results that depend on a lookup
	for i := range ops {
		op := &ops[i]
		depends := found[op.a] || found[op.b] || found[op.c]
		if op.chain.lookup != nil {
			if found[op.b] {
				return i
			}
			depends = true
		}
		found[op.dst] = depends
	}
	return len(ops)
}

// startLookups prepares a block that begins at element first.
func (p *vmProgram) startLookups(w *worker, first int) {
	w.lookups.first = first
	w.ptrs[p.position] = unsafe.Pointer(&w.lookups)
}

// noteFailure records the failure that compiled code found, and clears it.
func (p *vmProgram) noteFailure(s *lookupState) {
	p.lookups[s.failure.Number-1].fail(s.failure.At[:], s.first+s.failure.Done)
	s.failure = jit.Failure{}
}

// finish ends the run with an error if an index was invalid.
func (l *vmLookup) finish(rt *runtime) {
	if l.failed {
		err := l.err
		err.Index, err.Position = strconv.Itoa(int(l.index)), l.position
		l.failed = false
		rt.fail(&err)
	}
}
