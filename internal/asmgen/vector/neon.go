package vector

import (
	"fmt"
	"slices"

	"github.com/mmcloughlin/avo/reg"

	. "github.com/gokeras/gokeras/internal/asmgen/arm64"
)

// NEON writes the functions recorded for AVX2 to a file for arm64. A vector of 256 bits becomes two registers, so the
// algorithms and the bits are the same. The registers correspond to those that the function uses on amd64: arm64 has at
// least twice the 16 that amd64 has of either kind.
func (p *Program) NEON(file, generator string, leaveOut ...string) error {
	_, registers, err := p.compile()
	if err != nil {
		return err
	}
	text := NewText(generator)
	used := map[*constant]bool{}
	for _, f := range p.functions() {
		if f.wide() || slices.Contains(leaveOut, f.name) {
			continue
		}
		n := &neon{Text: text, function: f, amd64: registers[f], constants: used, kind: Float32s}
		if f.double {
			n.kind = Float64s
		}
		n.emit()
	}
	for _, s := range p.sections {
		if c, ok := s.(*constant); ok && used[c] {
			if !c.same && !c.pairs {
				tableText(text, c)
				continue
			}
			text.Raw("\nDATA %[1]s<>+0(SB)/8, $0x%08[2]x%08[3]x\nDATA %[1]s<>+8(SB)/8, $0x%08[2]x%08[3]x\nGLOBL %[1]s<>(SB), RODATA|NOPTR, $16\n", c.name, c.words[1], c.words[0])
		}
	}
	return text.WriteFile(file)
}

// neon is a function being written for arm64.
type neon struct {
	*Text
	*function
	amd64     *amd64
	constants map[*constant]bool

	body    []instruction
	kind    Kind
	pairs   map[string]V // the first of two registers, by the register on amd64
	scratch []V          // free registers
}

func (n *neon) emit() {
	n.body = n.instructions
	if n.assign(); len(n.scratch) < 3 { // leave out the unrolled loops: the others do the same work
		n.body = slices.DeleteFunc(slices.Clone(n.instructions), func(i instruction) bool { return i.unrolled })
		if n.assign(); len(n.scratch) < 3 {
			panic("too many registers in " + n.name)
		}
	}
	frame := 8 * len(n.parameters)
	if n.result != "" {
		frame += n.kind.Size
	}
	n.Raw("\n// %[1]sNEON is %[1]sAVX2 with two registers for one.\nTEXT ·%[1]sNEON(SB), NOSPLIT, $0-%[2]d\n", n.name, frame)
	for i := range n.body {
		if i := &n.body[i]; !n.scalar(i) && !n.float(i) && !n.integer(i) && !n.masked(i) {
			panic(fmt.Sprintf("%s: operation %d", n.name, i.op))
		}
	}
}

// physical returns the register on amd64.
func (n *neon) physical(r *register) reg.Physical {
	return n.amd64.allocation.LookupRegister(n.amd64.registers[r])
}

// assign assigns two registers to each amd64 register of the body, in the order in which they appear, and lists the
// free ones.
func (n *neon) assign() {
	n.pairs = map[string]V{}
	for _, i := range n.body {
		if i.op == opSigns {
			continue
		}
		for _, o := range slices.Backward(i.operands) {
			var r *register
			switch o := o.(type) {
			case Vector:
				r = o.register
			case Mask:
				r = o.register
			default:
				continue
			}
			id := fmt.Sprint(n.physical(r).PhysicalIndex())
			if _, ok := n.pairs[id]; !ok {
				n.pairs[id] = V(2 * len(n.pairs))
			}
		}
	}
	n.scratch = nil
	for r := V(2 * len(n.pairs)); r < 32; r++ {
		n.scratch = append(n.scratch, r)
	}
}

// pair returns the registers of a vector or a mask.
func (n *neon) pair(o Operand) [2]V {
	var r *register
	switch o := o.(type) {
	case Vector:
		r = o.register
	case Mask:
		r = o.register
	}
	d := n.pairs[fmt.Sprint(n.physical(r).PhysicalIndex())]
	return [2]V{d, d + 1}
}

// spare is a register for temporaries within an instruction.
func (n *neon) spare() V { return n.scratch[len(n.scratch)-1] }

// halves is the number of registers of a vector.
func halves(o Operand) int {
	if v, ok := o.(Vector); ok && v.bytes < 32 {
		return 1
	}
	return 2
}

// general are the registers for scalars; those from R19 up are used by the translation.
var general = map[string]string{"AX": "R0", "CX": "R1", "DX": "R2", "BX": "R3", "SI": "R4", "DI": "R5", "R8": "R6", "R9": "R7", "R10": "R8",
	"R11": "R9", "R12": "R10", "R13": "R11", "R14": "R12", "R15": "R13"}

// value formats a scalar or a number.
func (n *neon) value(o Operand) string {
	if v, ok := o.(Number); ok {
		return fmt.Sprintf("$%d", int(v))
	}
	return general[n.physical(o.(Scalar).register).Asm()]
}

// address returns a base register and an offset; if there is an index, it first computes the sum.
func (n *neon) address(m Memory) (base string, offset int) {
	base = n.value(m.Base)
	if m.Index.register != nil {
		shift := map[uint8]int{1: 0, 2: 1, 4: 2, 8: 3}[m.Scale]
		n.Asm("ADD %s<<%d, %s, R19", n.value(m.Index), shift, base)
		base = "R19"
	}
	return base, m.Offset
}

// source returns the registers that hold an operand's halves. If the operand is in memory, it loads them into scratch
// registers.
func (n *neon) source(o Operand, scratch int) [2]V {
	m, ok := o.(Memory)
	if !ok {
		return n.pair(o)
	}
	at := n.scratch[scratch]
	if m.constant != nil {
		n.constant(m, at)
		return [2]V{at, at}
	}
	base, offset := n.address(m)
	n.Asm("FLDPQ %d(%s), (F%d, F%d)", offset, base, at, n.scratch[scratch+1])
	return [2]V{at, n.scratch[scratch+1]}
}

func (n *neon) constant(m Memory, to V) {
	if !m.constant.same && !m.constant.pairs {
		panic(n.name + ": a table")
	}
	n.constants[m.constant] = true
	n.Asm("MOVD $%s<>(SB), R20", m.constant.name)
	n.Asm("FMOVQ (R20), F%d", to)
}

// scalar writes instructions on scalars, and control flow.
func (n *neon) scalar(i *instruction) bool {
	a := i.operands
	switch i.op {
	case opParameter:
		n.Asm("MOVD %s+%d(FP), %s", i.label, n.offset(i.label), n.value(a[0]))
	case opReturn:
		move := map[int]string{4: "FMOVS", 8: "FMOVD"}[n.kind.Size]
		n.Asm("%s F%d, ret+%d(FP)", move, n.pair(a[0])[0], 8*len(n.parameters))
	case opAssign:
		if m, ok := a[1].(Memory); ok {
			base, offset := n.address(m)
			n.Asm("MOVD %d(%s), %s", offset, base, n.value(a[0]))
		} else if from, to := n.value(a[1]), n.value(a[0]); from != to {
			n.Asm("MOVD %s, %s", from, to)
		}
	case opIncrease:
		n.Asm("ADD %s, %s", n.value(a[1]), n.value(a[0]))
	case opDecrease:
		n.Asm("SUBS %s, %s", n.value(a[1]), n.value(a[0]))
	case opClear:
		n.Asm("MOVD $0, %s", n.value(a[0]))
	case opAtMost:
		n.Asm("CMP %s, %s", n.value(a[1]), n.value(a[0]))
		n.Asm("CSEL GT, %s, %s, %s", n.value(a[1]), n.value(a[0]), n.value(a[0]))
	case opAddress:
		base, offset := n.address(a[1].(Memory))
		n.Asm("ADD $%d, %s, %s", offset, base, n.value(a[0]))
	case opPrefetch:
		base, offset := n.address(a[0].(Memory))
		n.Asm("PRFM %d(%s), PLDL2KEEP", offset, base)
	case opLabel:
		n.Label(i.label)
	case opJump:
		n.Asm("B %s", i.label)
	case opJumpBelow, opJumpEqual, opJumpAtLeast:
		n.Asm("CMP %s, %s", n.value(a[1]), n.value(a[0]))
		n.Asm("%s %s", map[op]string{opJumpBelow: "BLO", opJumpEqual: "BEQ", opJumpAtLeast: "BHS"}[i.op], i.label)
	case opJumpZero:
		n.Asm("CBZ %s, %s", n.value(a[0]), i.label)
	case opCountdown:
		n.Asm("SUBS %s, %s", n.value(a[1]), n.value(a[0]))
		n.Asm("BNE %s", i.label)
	case opEnd:
		n.Asm("RET")
	default:
		return false
	}
	return true
}

// neonPlain are the operations that are one instruction on three registers, d = a op b.
var neonPlain = map[op]struct {
	name string
	code uint32
	bits bool // for any element type
}{
	opAdd: {"fadd", 0x4e20d400, false}, opSubtract: {"fsub", 0x4ea0d400, false}, opMultiply: {"fmul", 0x6e20dc00, false}, opDivide: {"fdiv", 0x6e20fc00, false},
	opAnd: {"and", 0x4e201c00, true}, opOr: {"orr", 0x4ea01c00, true}, opXor: {"eor", 0x6e201c00, true},
	opMultiplyInt: {"mul", 0x4ea09c00, true}, opMaxInt: {"smax", 0x4ea06400, true}, opMinInt: {"smin", 0x4ea06c00, true},
	opAddInt: {"add", 0x4ea08400, false}, opSubtractInt: {"sub", 0x6ea08400, false}, opAndInt: {"and", 0x4e201c00, true}, opOrInt: {"orr", 0x4ea01c00, true},
	opInterleaveLow: {"zip1", 0x4e803800, false}, opInterleaveHigh: {"zip2", 0x4e807800, false},
	opXorInt: {"eor", 0x6e201c00, true}, opAddFirst: {"fadd", 0x4e20d400, false},
}

// float writes instructions on floats, and moves of vectors.
func (n *neon) float(i *instruction) bool {
	k, a := n.kind, i.operands
	if s, ok := neonPlain[i.op]; ok {
		if s.bits {
			k = Float32s
		}
		b, x, d := n.source(a[2], 0), n.source(a[1], 2), n.pair(a[0])
		for h := range n.count(i) {
			n.Three(k, s.name, s.code, d[h], x[h], b[h])
		}
		return true
	}
	switch i.op {
	case opLoad, opCopy, opLoadInt, opMaskLanes:
		n.load(a[1], n.pair(a[0]))
	case opStore, opStoreInt:
		n.store(a[0].(Memory), n.pair(a[1]))
	case opBroadcast:
		base, offset := n.address(a[1].(Memory))
		d := n.pair(a[0])
		n.Asm("ADD $%d, %s, R19", offset, base)
		n.Asm("VLD1R (R19), [%v.%s]", d[0], n.kind.Lanes)
		n.Move(d[1], d[0])
	case opStoreFirst:
		base, offset := n.address(a[0].(Memory))
		move := "FMOVS"
		if n.kind == Float64s {
			move = "FMOVD"
		}
		n.Asm("%s F%d, %d(%s)", move, n.pair(a[1])[0], offset, base)
	case opExtract:
		n.Move(n.pair(a[0])[0], n.pair(a[1])[i.number])
	case opPermute:
		d, x := n.pair(a[0]), n.pair(a[1])
		if i.number == SwapPairs {
			n.Asm("VEXT $8, %v.B16, %v.B16, %v.B16", x[0], x[0], d[0])
		} else {
			n.Asm("VREV64 %v.S4, %v.S4", x[0], d[0])
		}
	case opLookup:
		n.lookup(a[2].(Memory), n.pair(a[1]), n.pair(a[0]))
	case opSqrt:
		n.each(i, func(d, x V) { n.Two(k, "fsqrt", 0x6ea1f800, d, x) })
	case opRound:
		name, code := []string{"frintn", "frintm", "frintp", "frintz"}[i.number], []uint32{0x4e218800, 0x4e219800, 0x4ea18800, 0x4ea19800}[i.number]
		n.each(i, func(d, x V) { n.Two(k, name, code, d, x) })
	case opMax, opMin:
		n.extreme(i)
	case opAddProduct, opSubtractProduct, opMultiplyAdd, opMultiplyAddConstant, opMultiplySubtract, opSubtractScaled:
		n.product(i.op, n.source(a[2], 0), n.source(a[1], 2), n.pair(a[0]))
	default:
		return false
	}
	return true
}

// lookup looks up bytes in a table of 32.
func (n *neon) lookup(m Memory, index, d [2]V) {
	n.constants[m.constant] = true
	n.Asm("MOVD $%s<>(SB), R20", m.constant.name)
	n.Asm("FLDPQ %d(R20), (F%d, F%d)", m.Offset, n.scratch[0], n.scratch[1])
	for h := range d {
		n.Asm("VTBL %v.B16, [%v.B16, %v.B16], %v.B16", index[h], n.scratch[0], n.scratch[1], d[h])
	}
}

// tableText writes a constant whose words differ.
func tableText(text *Text, c *constant) {
	text.Raw("\n")
	for i := 0; i < len(c.words); i += 2 {
		text.Raw("DATA %s<>+%d(SB)/8, $0x%08x%08x\n", c.name, 4*i, c.words[i+1], c.words[i])
	}
	text.Raw("GLOBL %s<>(SB), RODATA|NOPTR, $%d\n", c.name, 4*len(c.words))
}

// count is the number of registers of an instruction's result.
func (n *neon) count(i *instruction) int { return halves(i.operands[0]) }

// each applies f to each register of an instruction with one source.
func (n *neon) each(i *instruction, f func(d, x V)) {
	x, d := n.source(i.operands[1], 0), n.pair(i.operands[0])
	for h := range n.count(i) {
		f(d[h], x[h])
	}
}

func (n *neon) load(from Operand, d [2]V) {
	m, ok := from.(Memory)
	switch {
	case !ok:
		if s := n.pair(from); s != d {
			n.Move(d[0], s[0])
			n.Move(d[1], s[1])
		}
	case m.constant != nil:
		n.constant(m, d[0])
		n.Move(d[1], d[0])
	default:
		base, offset := n.address(m)
		n.Asm("FLDPQ %d(%s), (F%d, F%d)", offset, base, d[0], d[1])
	}
}

func (n *neon) store(to Memory, s [2]V) {
	base, offset := n.address(to)
	n.Asm("FSTPQ (F%d, F%d), %d(%s)", s[0], s[1], offset, base)
}

// extreme is a > b ? a : b, or a < b.
func (n *neon) extreme(i *instruction) {
	b, x, d := n.source(i.operands[2], 0), n.source(i.operands[1], 2), n.pair(i.operands[0])
	for h := range n.count(i) {
		t := d[h]
		if t == x[h] || t == b[h] {
			t = n.spare()
		}
		if i.op == opMax {
			n.Three(n.kind, "fcmgt", 0x6ea0e400, t, x[h], b[h])
		} else {
			n.Three(n.kind, "fcmgt", 0x6ea0e400, t, b[h], x[h])
		}
		n.Three(Float32s, "bsl", 0x6e601c00, t, x[h], b[h])
		if t != d[h] {
			n.Move(d[h], t)
		}
	}
}

// product writes fused multiply-adds: fmla and fmls add to their destination.
func (n *neon) product(o op, c, b, d [2]V) {
	const fmla, fmls = 0x4e20cc00, 0x4ea0cc00
	k, t := n.kind, n.spare()
	for h := range 2 {
		switch o {
		case opAddProduct:
			n.Three(k, "fmla", fmla, d[h], b[h], c[h])
			continue
		case opSubtractProduct:
			n.Three(k, "fmls", fmls, d[h], b[h], c[h])
			continue
		case opMultiplySubtract:
			n.Two(k, "fneg", 0x6ea0f800, t, c[h])
		default:
			n.Move(t, c[h])
		}
		if o == opSubtractScaled {
			n.Three(k, "fmls", fmls, t, b[h], d[h])
		} else {
			n.Three(k, "fmla", fmla, t, b[h], d[h])
		}
		n.Move(d[h], t)
	}
}
