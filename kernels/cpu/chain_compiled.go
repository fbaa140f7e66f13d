package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/jit"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Where package jit can generate code, successive operations run as compiled code, and as chains where it cannot.

// withCode is false in tests that compare compiled code with chains.
var withCode = true

// compileSegments generates code for successive operations. Without any code there are no segments. Code pays off even
// for a single element, because calling it takes as long as one kernel.
func (b *vmBuilder) compileSegments() {
	if !withCode || !withChains || !jit.Usable() || b.prog.n < leastChain && !jit.Roomy() {
		return
	}
	ops := b.prog.ops
	var segments []vmSegment
	for first := 0; first < len(ops); {
		s := b.segment(first, len(ops), (*chainForm).isCode)
		s.ops = s.ops[:untilDependent(s.ops)]
		last := first + len(s.ops)
		if ops[first].chain.isCode() && (worthCode(s.ops) || b.prog.line > 0) {
			steps := make([]jit.Step, len(s.ops))
			for i := range steps {
				steps[i] = b.jitStep(first+i, last)
			}
			s.code = jit.Compile(steps, s.size(), func(p uint8) bool { return b.splats[p] })
			if s.code != nil {
				b.prog.code = s.code
			}
		}
		segments = append(segments, s)
		first = last
	}
	if b.prog.code != nil {
		b.prog.compiled = segments
	}
}

// size returns the bytes of an element.
func (s *vmSegment) size() int {
	switch {
	case s.double:
		return 8
	case s.small > 0:
		return int(s.small)
	}
	return 4
}

// isCode reports whether compiled code can compute the operation.
func (f *chainForm) isCode() bool { return f.ok || f.compiled && jit.Has(f.first) }

// worthCode reports whether code is faster than calling the kernels one by one.
func worthCode(ops []vmOp) bool {
	f := &ops[0].chain
	return len(ops) > 1 || f.half || f.double || f.compiled && f.first < jit.Rsqrt // kernels of functions compute several vectors at a time
}

// jitStep returns the step for operation i of a segment that ends before operation last.
func (b *vmBuilder) jitStep(i, last int) jit.Step {
	op := &b.prog.ops[i]
	if op.chain.lookup != nil {
		return jit.Step{Op: jit.Lookup, Dst: op.dst, In: [3]uint8{op.b, op.a}, Stored: b.leaves(i, last), Lookup: op.chain.lookup}
	}
	return jit.Step{Op: op.chain.first, Dst: op.dst, In: [3]uint8{op.a, op.b, op.c}, Stored: b.leaves(i, last), From: op.chain.from, To: op.chain.to}
}

// compiledForm returns the form of an operation that only compiled code supports: a conversion, or an operation on
// bools, unsigned integers or 64-bit integers.
func compiledForm(n *ir.Node, from, to ir.DType) chainForm {
	rounded := to.IsHalf()
	from, to = block.ComputeType(from), block.ComputeType(to)
	f := chainForm{compiled: true, unary: len(n.Inputs) == 1, double: from.Size() == 8 || to.Size() == 8}
	switch n.Op {
	case ir.Convert:
		if f.first, f.from, f.to = jit.Convert, from, to; rounded && (from.Size() == 8 || from.Size() == 4 && !from.IsFloat()) {
			f.first = jit.ConvertOdd
			return f
		}
		f.compiled = !(from == to || rounded && from.Size() > 2)
		f.small = smallSize(max(from.Size(), to.Size()))
		return f
	case ir.BitCast, ir.Identity:
		f.compiled = from.Size() == to.Size() && to.Size() >= 4 && !rounded
		return f
	case ir.Compare:
		f.masks, f.first = from == ir.Bool, compiledCompare(n.Attrs.(ir.CompareAttrs).Direction, from)
	case ir.Select:
		if f.first, f.masks = vec.ChainChoose, to == ir.Bool; f.masks {
			f.first = jit.ChooseBytes
		}
		f.small = smallSize(to.Size())
		f.compiled = true
		return f
	default:
		if f.first = compiledInteger(n.Op, to); from == ir.Float32 && to == ir.Float32 {
			f.first = compiledFunctions[n.Op]
		}
	}
	f.compiled, f.small = f.first != 0, smallSize(from.Size())
	return f
}

// smallSize returns the size of an element of one or two bytes, and 0 for larger ones.
func smallSize(size int) uint8 {
	if size > 2 {
		return 0
	}
	return uint8(size)
}

// compiledFunctions are the functions of float32.
var compiledFunctions = map[ir.Op]vec.ChainOp{ir.Rsqrt: jit.Rsqrt, ir.Exp: jit.Exp, ir.Log: jit.Log, ir.Tanh: jit.Tanh, ir.Sigmoid: jit.Sigmoid,
	ir.Erf: jit.Erf, ir.Expm1: jit.Expm1, ir.Log1p: jit.Log1p, ir.Asin: jit.Asin, ir.Acos: jit.Acos, ir.Atan: jit.Atan, ir.Sinh: jit.Sinh,
	ir.Cosh: jit.Cosh, ir.Asinh: jit.Asinh, ir.Acosh: jit.Acosh, ir.Atanh: jit.Atanh, ir.ErfInv: jit.ErfInv, ir.Exp2: jit.Exp2, ir.Pow: jit.Pow, ir.Atan2: jit.Atan2,
	ir.Gelu: jit.Gelu, ir.GeluGrad: jit.GeluGrad}

// coarseFunctions replace functions whose results are rounded to bfloat16. They compute only the digits that bfloat16
// needs.
var coarseFunctions = map[ir.Op]vec.ChainOp{ir.Gelu: jit.CoarseGelu, ir.GeluGrad: jit.CoarseGeluGrad, ir.Exp: jit.CoarseExp,
	ir.Sigmoid: jit.CoarseSigmoid}

// compiledCompare returns the comparison of bools or integers, or 0 if there is none.
func compiledCompare(d ir.Direction, t ir.DType) vec.ChainOp {
	first := jit.LessUint
	switch {
	case t == ir.Bool:
		first = jit.LessBytes
	case t.IsFloat():
		return 0
	case d == ir.Eq || d == ir.Ne || t.IsSigned():
		return chainCompareInt[d][0]
	}
	switch d {
	case ir.Lt:
		return first
	case ir.Le:
		return first + 1
	case ir.Gt:
		return first + 2
	case ir.Ge:
		return first + 3
	}
	return 0
}

// compiledInteger returns the operation on integers, or 0 if there is none. Integers of one and two bytes cannot be
// shifted.
func compiledInteger(op ir.Op, t ir.DType) vec.ChainOp {
	switch signed := t.IsSigned(); {
	case t.IsFloat() || t == ir.Bool || t.Size() < 4 && (op == ir.ShiftLeft || op == ir.ShiftRight):
	case compiledDivisions[t][op] != 0:
		return compiledDivisions[t][op]
	case op == ir.Maximum && !signed:
		return jit.MaxUint
	case op == ir.Minimum && !signed:
		return jit.MinUint
	case chainIntUnary[op] != 0 && (signed || op == ir.Neg):
		return chainIntUnary[op]
	case op == ir.Not:
		return jit.NotInt
	case op == ir.ShiftLeft:
		return jit.ShiftLeft
	case signed:
		if f := signedIntegers[op]; f != 0 {
			return f
		}
		return chainIntBinary[op][0]
	case op == ir.Sign:
		return jit.SignUint
	case op == ir.ShiftRight:
		return jit.ShiftRightUint
	default:
		return chainIntBinary[op][0]
	}
	return 0
}

var signedIntegers = map[ir.Op]vec.ChainOp{ir.Relu: jit.ReluInt, ir.Sign: jit.SignInt, ir.ShiftRight: jit.ShiftRightInt}

var (
	signedDivisions   = map[ir.Op]vec.ChainOp{ir.Div: jit.DivInt, ir.Rem: jit.RemInt}
	unsignedDivisions = map[ir.Op]vec.ChainOp{ir.Div: jit.DivUint, ir.Rem: jit.RemUint}

	compiledDivisions = map[ir.DType]map[ir.Op]vec.ChainOp{ir.Int32: signedDivisions, ir.Int64: signedDivisions,
		ir.Uint32: unsignedDivisions, ir.Uint64: unsignedDivisions}
)

// leaves reports whether the result of operation i is needed in memory after its segment, which ends before operation
// last.
func (b *vmBuilder) leaves(i, last int) bool {
	ops, ptr := b.prog.ops, b.prog.ops[i].dst
	if !b.isRegister(ptr) {
		return true
	}
	for j := i + 1; j < len(ops); j++ {
		op := &ops[j]
		if j >= last && (op.a == ptr || op.b == ptr || op.c == ptr) {
			return true
		}
		if op.dst == ptr {
			return false
		}
	}
	return b.readLast(ptr)
}

// runCompiled computes a block of n elements.
func (p *vmProgram) runCompiled(w *worker, n int) {
	for i := range p.compiled {
		s := &p.compiled[i]
		if s.code == nil {
			p.runOps(&w.ptrs, s.ops, n)
			continue
		}
		s.code.Run(unsafe.Pointer(&w.ptrs), p.elements(s, n))
		if w.lookups.failure.Number != 0 {
			p.noteFailure(&w.lookups)
			return
		}
	}
}

// usable reports whether the program can run as compiled code or as chains at present.
func (p *vmProgram) usable() (code, chains bool) {
	return p.code != nil && p.code.Usable(), len(p.segments) > 0 && vec.Chains()
}
