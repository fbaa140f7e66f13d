package vector

import (
	"fmt"
	"os"
	"strings"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
	"github.com/mmcloughlin/avo/reg"
)

// AMD64 writes the assembly for AVX2 and AVX-512 to a file.
func (p *Program) AMD64(file, generator, pkg string) error {
	compiled, _, err := p.compile()
	if err != nil {
		return err
	}
	text, err := printer.NewGoAsm(printer.Config{Name: generator, Pkg: pkg}).Print(compiled)
	if err != nil {
		return err
	}
	if text, err = encodeHalfPairs(encodeRounding(text)); err != nil {
		return err
	}
	if p.ShareLines {
		text = shareLines(text)
	}
	return os.WriteFile(file, text, 0o644)
}

// compile passes the program to avo, which allocates the registers.
func (p *Program) compile() (*ir.File, map[*function]*amd64, error) {
	b := build.NewContext()
	functions := map[*function]*amd64{}
	for _, s := range p.sections {
		switch s := s.(type) {
		case *constant:
			b.StaticGlobal(s.name)
			b.DataAttributes(attr.RODATA | attr.NOPTR)
			for i, w := range s.words {
				b.AddDatum(4*i, operand.U32(w))
			}
		case *function:
			functions[s] = lower(b, s)
		}
	}
	file, err := b.Result()
	if err == nil {
		err = pass.Compile.Execute(file)
	}
	if err != nil {
		return nil, nil, err
	}
	for i, f := range file.Functions() {
		p.functions()[i].compiled(functions, f)
	}
	return file, functions, nil
}

func (p *Program) functions() (all []*function) {
	for _, s := range p.sections {
		if f, ok := s.(*function); ok {
			all = append(all, f)
		}
	}
	return all
}

func (f *function) compiled(functions map[*function]*amd64, to *ir.Function) {
	functions[f].allocation = to.Allocation
}

// amd64 is a function being lowered to avo's instructions.
type amd64 struct {
	*function
	b          *build.Context
	registers  map[*register]reg.Register
	allocation reg.Allocation
	frame      operand.Mem
}

func lower(b *build.Context, f *function) *amd64 {
	b.Function(f.name + f.machine.Name)
	b.Attributes(attr.NOSPLIT)
	b.SignatureExpr("func(" + strings.Join(f.parameters, ", ") + " uintptr)" + f.result)
	if f.doc != "" {
		b.Doc(f.doc)
	}
	l := &amd64{function: f, b: b, registers: map[*register]reg.Register{}}
	if f.locals > 0 {
		l.frame = b.AllocLocal(f.locals)
	}
	next := 0
	for i := range f.instructions {
		for ; next < len(f.registers) && f.registers[next].born <= i; next++ {
			r := f.registers[next]
			l.registers[r] = l.register(r)
		}
		if i := &f.instructions[i]; !i.arm {
			l.instruction(i)
		}
	}
	return l
}

// register returns avo's register for r, a new one if there is none yet.
func (l *amd64) register(r *register) reg.Register {
	switch {
	case r.alias != nil:
		return l.registers[r.alias]
	case r.class == scalar:
		return l.b.GP64()
	case r.class == bits && l.wide():
		return l.b.K()
	case r.class == bits:
		return l.b.YMM()
	}
	return map[int]func() reg.VecVirtual{16: l.b.XMM, 32: l.b.YMM, 64: l.b.ZMM}[r.bytes]()
}

func (l *amd64) operand(o Operand) operand.Op {
	switch o := o.(type) {
	case Scalar:
		return l.registers[o.register]
	case Vector:
		return l.registers[o.register]
	case Mask:
		return l.registers[o.register]
	case Number:
		return operand.U32(o)
	case Memory:
		if o.constant != nil {
			return operand.NewDataAddr(operand.NewStaticSymbol(o.constant.name), o.Offset)
		}
		if o.local {
			return l.frame.Offset(o.Offset)
		}
		m := operand.Mem{Base: l.registers[o.Base.register], Disp: o.Offset}
		if o.Index.register != nil {
			m = m.Idx(l.registers[o.Index.register], o.Scale)
		}
		return m
	}
	panic(fmt.Sprintf("%s: operand %T", l.name, o))
}

// instruction lowers one instruction. Operands of amd64 are in reverse order.
func (l *amd64) instruction(i *instruction) {
	b := l.b
	ops := make([]operand.Op, len(i.operands))
	for j, o := range i.operands {
		ops[len(ops)-1-j] = l.operand(o)
	}
	if l.broadcast(i, ops) || l.widenDoubles(i, ops) {
		return
	}
	if f, ok := plainFloat64[i.op]; ok && l.double {
		f(b, ops...)
		return
	}
	if f, ok := plain[i.op]; ok {
		f(b, ops...)
		return
	}
	number := operand.U8(i.number)
	label := operand.LabelRef(i.label)
	if l.mask(i, ops) || l.control(i, ops, label) {
		return
	}
	switch i.op {
	case opStoreFirst:
		if l.double {
			b.VMOVSD(first(ops[0]), ops[1])
		} else {
			b.VMOVSS(first(ops[0]), ops[1])
		}
	case opExtract:
		if ops[0].(reg.Register).Size() == 64 {
			b.VEXTRACTF64X4(number, ops[0], ops[1])
		} else {
			b.VEXTRACTF128(number, ops[0], ops[1])
		}
	case opShuffle:
		b.VSHUFPS(append([]operand.Op{number}, ops...)...)
	case opHalves:
		b.VPERM2F128(number, ops[0], ops[1], ops[2])
	case opPattern:
		by := ops[0].(reg.GPVirtual).As32()
		b.MOVL(operand.U32(i.number), by)
		if l.wide() {
			b.VPBROADCASTD(by, ops[1])
		} else {
			b.VMOVD(by, first(ops[1]))
			b.VPBROADCASTD(first(ops[1]), ops[1])
		}
	case opXorInt:
		if l.wide() {
			b.VPXORD(ops...)
		} else {
			b.VPXOR(ops[0], ops[1], ops[2])
		}
	case opPermute:
		b.VPERMILPS(append([]operand.Op{number}, ops...)...)
	case opMultiplyAddConstant:
		if l.wide() {
			b.VFMADD213PS_BCST(ops...)
		} else {
			b.VFMADD213PS(ops...)
		}
	case opRound:
		if l.double {
			l.roundDoubles(i, ops)
		} else if l.wide() {
			b.VRNDSCALEPS(operand.U8(i.number|8), ops[0], ops[1])
		} else {
			b.VROUNDPS(operand.U8(i.number|8), ops[0], ops[1])
		}
	case opReduce:
		b.VREDUCEPS(operand.U8(i.number|8), ops[0], ops[1])
	case opFraction:
		if l.double {
			b.VGETMANTPD(number, ops[0], ops[1])
		} else {
			b.VGETMANTPS(number, ops[0], ops[1])
		}
	case opLoadInt, opStoreInt:
		if l.wide() {
			b.VMOVDQU32(ops...)
		} else {
			b.VMOVDQU(ops[0], ops[1])
		}
	case opShiftRightWords:
		b.VPSRLW(number, ops[0], ops[1])
	case opShiftLeftWords:
		b.VPSLLW(number, ops[0], ops[1])
	case opPacked:
		packed[Packed(i.number)](b, ops...)
	case opShiftLeft:
		if l.double {
			b.VPSLLQ(number, ops[0], ops[1])
		} else {
			b.VPSLLD(number, ops[0], ops[1])
		}
	case opShiftRight:
		if l.double {
			b.VPSRLQ(number, ops[0], ops[1])
		} else {
			b.VPSRLD(number, ops[0], ops[1])
		}
	case opShiftRightSigned:
		b.VPSRAD(number, ops[0], ops[1])
	case opAndInt:
		if l.wide() {
			b.VPANDD(ops...)
		} else {
			b.VPAND(ops[0], ops[1], ops[2])
		}
	case opOrInt:
		if l.wide() {
			b.VPORD(ops...)
		} else {
			b.VPOR(ops[0], ops[1], ops[2])
		}
	case opStoreLowWords:
		l.storeLowWords(ops[0], ops[1])
	case opStoreLowBytes:
		l.storeLowBytes(ops[0], ops[1])
	case opStoreFloats:
		h := ops[0].(reg.VecVirtual)
		if l.wide() {
			b.VCVTPD2PS(h, h.AsY())
			b.VMOVUPS(h.AsY(), ops[1])
		} else {
			b.VCVTPD2PSY(h, h.AsX())
			b.VMOVUPS(h.AsX(), ops[1])
		}
	case opStoreFloat16:
		b.VCVTPS2PH(operand.U8(0), ops[0], ops[1])
	case opRoundFloat16:
		h := b.XMM()
		if l.wide() {
			h = b.YMM()
		}
		b.VCVTPS2PH(operand.U8(0), ops[0], h)
		b.VCVTPH2PS(h, ops[0])
	case opStoreBFloat16:
		h := b.YMM()
		b.VCVTQQ2PS(ops[0], h) // see encodeRounding
		b.VMOVDQU(h, ops[1])
	case opRoundBFloat16:
		h := b.YMM()
		b.VCVTQQ2PS(ops[0], h)
		b.VPMOVZXWD(h, ops[0])
		b.VPSLLD(operand.U8(16), ops[0], ops[0])
	case opStoreBFloat16Where:
		h := b.YMM()
		b.VCVTQQ2PS(ops[0], h)
		b.VMOVDQU16(h, ops[1], ops[2])
	case opStoreBFloat16PairWhere:
		b.VPSADBW(ops[1], ops[0], ops[1]) // see encodeRounding
		b.VMOVDQU16(ops[1], ops[2], ops[3])
	default:
		panic(fmt.Sprintf("%s: operation %d", l.name, i.op))
	}
}

func first(v operand.Op) operand.Op { return v.(reg.VecVirtual).AsX() }

func (l *amd64) storeLowWords(v, to operand.Op) {
	b := l.b
	if l.wide() {
		b.VPMOVDW(v, to)
		return
	}
	b.VPACKUSDW(v, v, v)
	b.VPERMQ(operand.U8(0x08), v, v)
	h := b.XMM()
	b.VEXTRACTI128(operand.U8(0), v, h)
	b.VMOVDQU(h, to)
}

func (l *amd64) storeLowBytes(v, to operand.Op) {
	b := l.b
	if l.wide() {
		b.VPMOVDB(v, to)
		return
	}
	b.VPACKUSDW(v, v, v)
	b.VPERMQ(operand.U8(0x08), v, v)
	b.VPACKUSWB(v, v, v)
	b.VMOVQ(first(v), to)
}

// control lowers operations on scalars and control flow.
func (l *amd64) control(i *instruction, ops []operand.Op, label operand.LabelRef) bool {
	b := l.b
	switch i.op {
	case opParameter:
		b.Load(b.Param(i.label), ops[0].(reg.Register))
	case opReturn:
		b.Store(ops[0].(reg.Register), b.ReturnIndex(0))
	case opAtMost:
		b.CMPQ(ops[1], ops[0])
		b.CMOVQGT(ops[0], ops[1])
	case opLabel:
		b.Label(i.label)
	case opJump:
		b.JMP(label)
	case opJumpBelow:
		b.CMPQ(ops[1], ops[0])
		b.JB(label)
	case opJumpEqual:
		b.CMPQ(ops[1], ops[0])
		b.JEQ(label)
	case opJumpNotEqual:
		b.CMPQ(ops[1], ops[0])
		b.JNE(label)
	case opJumpZero:
		b.TESTQ(ops[0], ops[0])
		b.JE(label)
	case opJumpIf:
		b.TESTQ(ops[0], ops[1])
		b.JNE(label)
	case opJumpUnless:
		b.TESTQ(ops[0], ops[1])
		b.JE(label)
	case opJumpAtLeast:
		b.CMPQ(ops[1], ops[0])
		b.JAE(label)
	case opCountdown, opCountedOut:
		if i.operands[1] == Number(1) {
			b.DECQ(ops[1])
		} else {
			b.SUBQ(ops[0], ops[1])
		}
		if i.op == opCountdown {
			b.JNE(label)
		} else {
			b.JE(label)
		}
	case opEnd:
		b.VZEROUPPER()
		b.RET()
	default:
		return false
	}
	return true
}
