package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/jit"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Successive operations of an elementwise unit that pass on their results run as a chain, which keeps the values in
// vector registers. Kernels of single operations store each result in the first-level cache and load it again, and for
// cheap operations that is the whole cost. The bits are the same.

// maxChainOps limits a chain so that its steps fit, at most three for each operation.
const maxChainOps = vec.MaxChain / 3

// chainForm says how a chain computes an operation. The zero value means that it cannot.
type chainForm struct {
	ok            bool
	unary, bytes  bool        // unary: a is the only operand; bytes: the result is bytes
	chooses       bool        // a is a mask that selects from b and c
	loads         bool        // the operation only loads a
	copies        bool        // the result is a, which is already float32
	stores        bool        // stores a to memory in 16 bits
	half          bool        // rounds, or converts to or from 16 bits; a single such operation takes as long as a chain
	shares        bool        // gradient of the larger of b and c; see fuse.Share. a is the upstream gradient
	masks         bool        // operands and result are bytes, which the chain holds beside the value
	double        bool        // 64-bit elements
	small         uint8       // bytes of an element if these are 1 or 2, else 0
	compiled      bool        // compiled code computes the operation, chains do not
	from, to      ir.DType    // of a conversion by compiled code
	lookup        *jit.Table  // of a lookup by compiled code, which takes the operands in the opposite order
	first, second vec.ChainOp // first: the chain's value is the first operand; second: it is the second one, if that is possible
}

var chainUnary = map[ir.Op]vec.ChainOp{ir.Neg: vec.ChainNeg, ir.Abs: vec.ChainAbs, ir.Relu: vec.ChainRelu, ir.Sqrt: vec.ChainSqrt,
	ir.Floor: vec.ChainFloor, ir.Ceil: vec.ChainCeil, ir.Round: vec.ChainRound, ir.Sign: vec.ChainSign}

var chainBinary = map[ir.Op][2]vec.ChainOp{ir.Add: {vec.ChainAdd, vec.ChainAdd}, ir.Sub: {vec.ChainSub, vec.ChainSubFrom}, ir.Mul: {vec.ChainMul, vec.ChainMul},
	ir.Div: {vec.ChainDiv, vec.ChainDivInto}, ir.Maximum: {vec.ChainMax, vec.ChainMaxFrom}, ir.Minimum: {vec.ChainMin, vec.ChainMinFrom}}

var chainNumber = map[ir.Op]vec.ChainOp{ir.Add: vec.ChainAddNumber, ir.Sub: vec.ChainSubNumber, ir.Mul: vec.ChainMulNumber,
	ir.Maximum: vec.ChainMaxNumber, ir.Minimum: vec.ChainMinNumber}

var chainCompare = map[ir.Direction][2]vec.ChainOp{ir.Eq: {vec.ChainEqual, vec.ChainEqual}, ir.Ne: {vec.ChainNotEqual, vec.ChainNotEqual},
	ir.Lt: {vec.ChainLess, vec.ChainGreater}, ir.Gt: {vec.ChainGreater, vec.ChainLess},
	ir.Le: {vec.ChainLessEqual, vec.ChainGreaterEqual}, ir.Ge: {vec.ChainGreaterEqual, vec.ChainLessEqual}}

// keeps reports whether the register holds the same value before and after the operation.
func (f *chainForm) keeps() bool { return f.bytes || f.stores || f.masks }

// makesMask reports whether the result is a mask, which the chain holds beside the value.
func (f *chainForm) makesMask() bool { return f.bytes || f.masks }

// halfSteps holds, for each 16-bit type, the steps that load, round and store it.
var halfSteps = map[ir.DType][3]vec.ChainOp{ir.BFloat16: {vec.ChainLoadBF16, vec.ChainRoundBF16, vec.ChainStoreBF16},
	ir.Float16: {vec.ChainLoadF16, vec.ChainRoundF16, vec.ChainStoreF16}}

// widenOp loads half precision into a register, roundOp rounds a register to half precision, and narrowOp stores a
// rounded register.
func widenOp(d ir.DType, dst, a uint8) vmOp {
	s, ok := halfSteps[d]
	return vmOp{fn: block.Widen(d), dst: dst, a: a, chain: chainForm{ok: ok, unary: true, loads: true, half: true, first: s[0]}}
}

func roundOp(d ir.DType, dst uint8) vmOp {
	s, ok := halfSteps[d]
	return vmOp{fn: block.Round(d), dst: dst, a: dst, chain: chainForm{ok: ok, unary: true, half: true, first: s[1]}}
}

func narrowOp(d ir.DType, dst, a uint8) vmOp {
	s, ok := halfSteps[d]
	return vmOp{fn: block.Narrow(d), dst: dst, a: a, chain: chainForm{ok: ok, unary: true, stores: true, half: true, first: s[2]}}
}

// chainable reports whether chains can hold values of the type in registers.
func chainable(d ir.DType) bool { return d == ir.Float32 || d == ir.Int32 || d == ir.Float64 }

// formOf returns the form of a node with operands of type from and a result of type to. Half precision is held in
// float32 registers; a separate operation rounds it afterwards.
func formOf(n *ir.Node, from, to ir.DType) chainForm {
	f := formOfFloats(n, from, to)
	if f.double = from == ir.Float64 || to == ir.Float64; !f.ok {
		return compiledForm(n, from, to)
	}
	return f
}

func formOfFloats(n *ir.Node, from, to ir.DType) chainForm {
	plain, half := from == ir.Float32 && to == ir.Float32, to.IsHalf()
	from, to = block.ComputeType(from), block.ComputeType(to)
	switch n.Op {
	case ir.BitCast, ir.Identity: // the register holds the bits already
		return chainForm{ok: chainable(from) && chainable(to) && from.Size() == to.Size() && !half, unary: true, copies: true}
	case ir.IsFinite:
		return chainForm{ok: from.IsFloat(), unary: true, bytes: true, first: vec.ChainFinite}
	case ir.Convert:
		if from == ir.Float32 && to == ir.Float32 {
			return chainForm{ok: !plain, unary: true, copies: true, half: true}
		}
		if from == ir.Int32 && half { // must be rounded only once
			return chainForm{}
		}
		return conversionForm(from, to)
	case ir.Compare:
		f := chainCompare[n.Attrs.(ir.CompareAttrs).Direction]
		if from == ir.Bool {
			return compareMasks(n.Attrs.(ir.CompareAttrs).Direction)
		}
		if from == ir.Int32 {
			f = chainCompareInt[n.Attrs.(ir.CompareAttrs).Direction]
		}
		return chainForm{ok: from.IsFloat() || from == ir.Int32, bytes: true, first: f[0], second: f[1]}
	case ir.Select:
		return chainForm{ok: to.IsFloat() || to == ir.Int32, chooses: true, first: vec.ChainChoose, second: vec.ChainChooseOther}
	}
	unary, binary := chainUnary, chainBinary
	switch {
	case from == ir.Bool && to == ir.Bool:
		return maskForm(n.Op)
	case from != to || !from.IsFloat() && from != ir.Int32:
		return chainForm{}
	case from == ir.Int32:
		unary, binary = chainIntUnary, chainIntBinary
	}
	if f, ok := unary[n.Op]; ok {
		return chainForm{ok: true, unary: true, first: f}
	}
	f, ok := binary[n.Op]
	return chainForm{ok: ok, first: f[0], second: f[1]}
}

func scalarForm(op ir.Op, d ir.DType) chainForm {
	f, ok := chainNumber[op]
	return chainForm{ok: ok && d.IsFloat(), double: d == ir.Float64, first: f}
}

func reluGradForm(d ir.DType) chainForm {
	return chainForm{ok: d.IsFloat(), double: d == ir.Float64, first: vec.ChainKeepPositive, second: vec.ChainWherePositive}
}

func shareForm(d ir.DType) chainForm {
	return chainForm{ok: d.IsFloat(), double: d == ir.Float64, shares: true, first: vec.ChainShare}
}

// vmSegment is a part of a unit's operations: a chain, compiled code, or operations that run one by one.
type vmSegment struct {
	ops    []vmOp
	steps  []vmStep
	code   *jit.Code // runs in place of steps
	double bool      // 64-bit elements
	small  uint8     // bytes of an element if these are 1 or 2, else 0; 1 if all are bools
	rows   bool      // one element for each row
}

// vmStep is a step of a chain. x and y are numbers of pointers.
type vmStep struct {
	op   vec.ChainOp
	x, y uint8
}

// chainBuilder builds one chain.
type chainBuilder struct {
	b       *vmBuilder
	steps   []vmStep
	taken   int // number of operands that were in the register already
	holds   bool
	half    bool  // it converts or rounds
	current uint8 // the pointer whose value the register holds

	holdsMask bool
	mask      uint8 // the pointer of the comparison whose result is held
}

// leastChain is the smallest number of elements for which chains pay. With fewer, setting up the chain takes longer
// than its operations.
const leastChain = 32

// withChains is false in tests that compare chains with operations that run one by one.
var withChains = true

// chain cuts the operations into segments. If no operation passes on its result there are no segments, and the
// operations run one by one.
func (b *vmBuilder) chain() {
	ops, useful := b.prog.ops, false
	for first := 0; first < len(ops); {
		s := b.segment(first, maxChainOps, func(f *chainForm) bool { return f.ok })
		last := first + len(s.ops)
		if ops[first].chain.ok {
			c := &chainBuilder{b: b}
			for i := first; i < last; i++ {
				c.add(i, last)
			}
			if c.taken > 0 || c.half {
				s.steps, useful = c.steps, true
			}
		}
		b.prog.segments = append(b.prog.segments, s)
		first = last
	}
	if !useful || !withChains || b.prog.n < leastChain {
		b.prog.segments = nil
	}
}

// segment returns the longest run of operations from the first on that either can run together, then at most the given
// number, or have to run one by one.
func (b *vmBuilder) segment(first, most int, together func(*chainForm) bool) (s vmSegment) {
	ops, last, known := b.prog.ops, first, false
	s.rows = ops[first].rows
	for ; last < len(ops) && ops[last].rows == s.rows && together(&ops[last].chain) == together(&ops[first].chain); last++ {
		f := &ops[last].chain
		if !together(f) {
			continue
		}
		if last-first == most {
			break
		}
		if !f.masks { // operations on bytes fit floats of either size
			if known && (f.double != s.double || f.small != s.small) {
				break
			}
			known, s.double, s.small = true, f.double, f.small
		}
	}
	if s.ops = ops[first:last]; !known {
		s.small = 1
	}
	return s
}

// sides returns the operands that the register may hold, and whether there are two. The mask of a select is none of
// them.
func (op *vmOp) sides() (first, second uint8, two bool) {
	switch {
	case op.chain.chooses:
		return op.b, op.c, true
	case op.chain.unary:
		return op.a, 0, false
	}
	return op.a, op.b, true
}

// takes reports whether the register, which holds the value of the pointer current, provides an operand, and which one.
func (op *vmOp) takes(holds bool, current uint8) (first, second bool) {
	a, b, two := op.sides()
	if !holds || op.chain.loads || op.chain.masks {
		return false, false
	}
	if a == current {
		return true, false
	}
	return false, two && op.chain.second != 0 && b == current
}

// add appends the steps of operation i. The chain ends before operation last.
func (c *chainBuilder) add(i, last int) {
	op := &c.b.prog.ops[i]
	if op.chain.masks {
		c.addMask(i, last)
		return
	}
	first, second := op.takes(c.holds, c.current)
	a, other, two := op.sides()
	code := op.chain.first
	c.half = c.half || op.chain.half
	switch {
	case op.chain.loads:
		other = a
	case second:
		code, other = op.chain.second, a
		c.taken++
	case first:
		c.taken++
	default:
		c.steps = append(c.steps, c.b.withNumber(vmStep{op: vec.ChainLoad, x: a}))
		c.holds, c.current = true, a
	}
	if op.chain.copies {
		c.result(i, last)
		return
	}
	if !two && !op.chain.loads {
		other = op.dst // is not read, or is what is written
	}
	step := vmStep{op: code, x: other, y: op.dst}
	switch {
	case op.chain.bytes:
		store, held := c.b.maskUses(i, last)
		if c.holdsMask, c.mask = held, op.dst; held {
			step.op = step.op.Held()
		}
		if held && store {
			c.steps = append(c.steps, step)
			step = vmStep{op: vec.ChainStoreHeld, x: op.dst}
		}
	case op.chain.chooses && c.holdsMask && op.a == c.mask:
		step.op += vec.ChainChooseHeld - vec.ChainChoose
	case op.chain.chooses:
		step.y = op.a
	case op.chain.shares:
		step.y = op.c
	}
	c.steps = append(c.steps, c.b.withNumber(step))
	if !op.chain.keeps() {
		c.result(i, last)
	}
}

// withNumber returns the step that reads a splatted operand as a single number rather than as a row of copies.
func (b *vmBuilder) withNumber(s vmStep) vmStep {
	if op, ok := s.op.Number(); ok && b.splats[s.x] {
		s.op = op
	}
	return s
}

// result records that the register now holds the result of operation i, and stores it if it is needed in memory. The
// chain ends before operation last.
func (c *chainBuilder) result(i, last int) {
	dst := c.b.prog.ops[i].dst
	c.holds, c.current = true, dst
	if c.b.stored(i, last) {
		c.steps = append(c.steps, vmStep{op: vec.ChainStore, x: dst})
	}
}

// stored reports whether the result of operation i is needed in memory. The chain ends before operation last.
func (b *vmBuilder) stored(i, last int) bool {
	ops, ptr := b.prog.ops, b.prog.ops[i].dst
	if !b.isRegister(ptr) {
		return true
	}
	held := true // the register still holds the value
	for j := i + 1; j < len(ops); j++ {
		op := &ops[j]
		reads := 0
		for _, p := range []uint8{op.a, op.b, op.c} {
			if p == ptr {
				reads++
			}
		}
		if first, second := op.takes(held && j < last, ptr); first || second {
			reads -= op.unusedReads(ptr) + 1
		} else if op.chain.ok {
			reads -= op.unusedReads(ptr)
		}
		if reads > 0 {
			return true
		}
		if op.dst == ptr {
			return false
		}
		if op.chain.masks && j < last {
			continue
		}
		if j >= last || !op.chain.keeps() {
			held = false
		} else if first, second := op.takes(held, ptr); !first && !second {
			held = false // another operand was loaded into the register
		}
	}
	return b.readLast(ptr)
}

// unusedReads counts the operands that the operation lacks. Their pointers are 0, so they look like reads of pointer 0.
func (op *vmOp) unusedReads(ptr uint8) (n int) {
	if ptr != 0 {
		return 0
	}
	if op.chain.unary {
		n++
	}
	if !op.chain.chooses && !op.chain.shares {
		n++
	}
	return n
}

func (b *vmBuilder) isRegister(ptr uint8) bool {
	for _, r := range b.prog.registers {
		if r.ptr == ptr {
			return true
		}
	}
	return false
}

// elements returns how many elements a segment computes for a block of n.
func (p *vmProgram) elements(s *vmSegment, n int) int {
	if s.rows {
		return n / p.columns
	}
	return n
}

// runSegments computes a block of n elements.
func (p *vmProgram) runSegments(w *worker, n int) {
	for i := range p.segments {
		s := &p.segments[i]
		if s.steps == nil {
			p.runOps(&w.ptrs, s.ops, n)
			continue
		}
		for j := range s.steps {
			step := &s.steps[j]
			w.steps[j] = vec.ChainStep{Op: step.op, X: w.ptrs[step.x], Y: w.ptrs[step.y]}
		}
		if m := p.elements(s, n); s.double {
			vec.Chain64(w.steps[:len(s.steps)], m)
		} else {
			vec.Chain(w.steps[:len(s.steps)], m)
		}
	}
}
