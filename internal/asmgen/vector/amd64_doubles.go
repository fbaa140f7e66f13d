package vector

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// maskDoubles lowers operations that make or use masks of float64 if they need a different instruction than float32.
func (l *amd64) maskDoubles(i *instruction, ops []operand.Op) bool {
	b := l.b
	switch i.op {
	case opCompare:
		b.VCMPPD(append([]operand.Op{operand.U8(i.number)}, ops...)...)
	case opCompareInt:
		if Predicate(i.number) == Equal {
			b.VPCMPEQQ(ops...)
		} else {
			b.VPCMPGTQ(ops...)
		}
	case opLoadMask:
		l.loadDoublesMask(ops[0], ops[1])
	case opStoreMask:
		l.storeDoublesMask(ops)
	case opSigns:
		if l.wide() {
			b.VPMOVQ2M(ops[0], ops[1])
		}
	case opMaskLanes:
		if !l.wide() {
			return false
		}
		b.VPMOVM2Q(ops[0], ops[1])
	case opBlend:
		if l.wide() {
			b.VMOVUPD(ops[1], ops[0], ops[2])
		} else {
			b.VBLENDVPD(ops[0], ops[1], ops[2], ops[2])
		}
	case opChoose:
		b.VBLENDVPD(ops[0], ops[1], ops[2], ops[3])
	case opKeep:
		if !l.wide() {
			return false
		}
		b.VMOVUPD_Z(ops[0], ops[1], ops[2])
	default:
		return false
	}
	return true
}

// loadDoublesMask makes a mask from one byte for each element.
func (l *amd64) loadDoublesMask(from, to operand.Op) {
	b := l.b
	if l.wide() {
		bytes := b.XMM()
		b.VMOVQ(from, bytes)
		b.VPTESTMB(bytes, bytes, to)
		return
	}
	zero := b.YMM()
	b.VPMOVZXBQ(from, to)
	b.VPXOR(zero, zero, zero)
	b.VPCMPGTQ(zero, to, to)
}

// storeDoublesMask stores bytes of 1 and 0.
func (l *amd64) storeDoublesMask(ops []operand.Op) {
	b := l.b
	if l.wide() {
		x := b.XMM()
		b.VMOVDQU8_Z(ops[0], ops[1], x)
		b.VMOVQ(x, ops[2])
		return
	}
	bits := b.GP32()
	b.VMOVMSKPD(ops[0], bits)
	b.IMUL3L(operand.U32(0x204081), bits, bits) // copies each bit to the lowest one of its byte
	b.ANDL(operand.U32(0x01010101), bits)
	b.MOVL(bits, ops[1])
}

func (l *amd64) roundDoubles(i *instruction, ops []operand.Op) {
	if l.wide() {
		l.b.VRNDSCALEPD(operand.U8(i.number|8), ops[0], ops[1])
	} else {
		l.b.VROUNDPD(operand.U8(i.number|8), ops[0], ops[1])
	}
}

// widenDoubles converts bytes or 32-bit integers, half as many as usual, to float64.
func (l *amd64) widenDoubles(i *instruction, ops []operand.Op) bool {
	half := func(o operand.Op) operand.Op {
		if l.wide() {
			return o.(reg.VecVirtual).AsY()
		}
		return o.(reg.VecVirtual).AsX()
	}
	switch {
	case !l.double:
		return false
	case i.op == opWidenBytes:
		l.b.VPMOVZXBD(ops[0], half(ops[1]))
	case i.op == opToFloat:
		l.b.VCVTDQ2PD(half(ops[0]), ops[1])
	default:
		return false
	}
	return true
}

// broadcastDoubles are [broadcasts] of 64-bit floats and integers.
var broadcastDoubles = map[op]func(b *build.Context, ops ...operand.Op){
	opLoad:                (*build.Context).VBROADCASTSD,
	opAdd:                 (*build.Context).VADDPD_BCST,
	opSubtract:            (*build.Context).VSUBPD_BCST,
	opMultiply:            (*build.Context).VMULPD_BCST,
	opDivide:              (*build.Context).VDIVPD_BCST,
	opMax:                 (*build.Context).VMAXPD_BCST,
	opMin:                 (*build.Context).VMINPD_BCST,
	opAnd:                 (*build.Context).VANDPD_BCST,
	opOr:                  (*build.Context).VORPD_BCST,
	opXor:                 (*build.Context).VXORPD_BCST,
	opAddProduct:          (*build.Context).VFMADD231PD_BCST,
	opSubtractProduct:     (*build.Context).VFNMADD231PD_BCST,
	opMultiplyAdd:         (*build.Context).VFMADD213PD_BCST,
	opMultiplyAddConstant: (*build.Context).VFMADD213PD_BCST,
	opMultiplySubtract:    (*build.Context).VFMSUB213PD_BCST,
	opSubtractScaled:      (*build.Context).VFNMADD213PD_BCST,
	opMultiplyLongs:       (*build.Context).VPMULUDQ_BCST,
	opAddInt:              (*build.Context).VPADDQ_BCST,
	opSubtractInt:         (*build.Context).VPSUBQ_BCST,
	opAndInt:              (*build.Context).VPANDQ_BCST,
	opOrInt:               (*build.Context).VPORQ_BCST,
	opBlend:               func(b *build.Context, ops ...operand.Op) { b.VBROADCASTSD(ops[1], ops[0], ops[2]) },
	opKeep:                func(b *build.Context, ops ...operand.Op) { b.VBROADCASTSD_Z(ops[0], ops[1], ops[2]) },
}

// broadcastDouble lowers an operation on a 64-bit constant, which is shorter than a vector.
func (l *amd64) broadcastDouble(i *instruction, ops []operand.Op) bool {
	for _, o := range i.operands {
		m, ok := o.(Memory)
		if !ok || m.constant == nil || !m.constant.pairs {
			continue
		}
		if i.op == opCompare {
			l.b.VCMPPD_BCST(append([]operand.Op{operand.U8(i.number)}, ops...)...)
		} else {
			broadcastDoubles[i.op](l.b, ops...)
		}
		return true
	}
	return false
}
