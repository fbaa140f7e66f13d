package vector

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// mask lowers operations that make or use masks: mask registers for AVX-512, vectors of all ones or zeros for AVX2.
func (l *amd64) mask(i *instruction, ops []operand.Op) bool {
	b := l.b
	if l.double && l.maskDoubles(i, ops) {
		return true
	}
	switch i.op {
	case opCompare:
		b.VCMPPS(append([]operand.Op{operand.U8(i.number)}, ops...)...)
	case opCompareInt:
		if Predicate(i.number) == Equal {
			b.VPCMPEQD(ops...)
		} else {
			b.VPCMPGTD(ops...)
		}
	case opSigns:
		if l.wide() {
			b.VPMOVD2M(ops[0], ops[1])
		}
	case opOdd:
		b.VPTESTMD(ops...)
	case opZeroBytes:
		if l.wide() {
			bytes := b.XMM()
			b.VMOVDQU(ops[1], bytes)
			b.VPTESTNMB(bytes, bytes, ops[2])
			break
		}
		b.VPMOVZXBD(ops[1], ops[2])
		b.VPCMPEQD(ops[0], ops[2], ops[2])
	case opLoadMask:
		if l.wide() {
			bytes := b.XMM()
			b.VMOVDQU8(ops[0], bytes)
			b.VPTESTMB(bytes, bytes, ops[1])
			break
		}
		zero := b.YMM()
		b.VPMOVZXBD(ops[0], ops[1])
		b.VPXOR(zero, zero, zero)
		b.VPCMPGTD(zero, ops[1], ops[1])
	case opStoreMask:
		l.storeMask(ops)
	case opMaskLanes:
		if l.wide() {
			b.VPMOVM2D(ops[0], ops[1])
		} else {
			b.VMOVAPS(ops[0], ops[1])
		}
	case opNot:
		if l.wide() {
			b.KNOTW(ops[0], ops[1])
		} else {
			b.VXORPS(ops...)
		}
	case opEither:
		if l.wide() {
			b.KORW(ops[1], ops[0], ops[1])
		} else {
			b.VORPS(ops[1], ops[0], ops[1])
		}
	case opBlend:
		if l.wide() {
			b.VMOVUPS(ops[1], ops[0], ops[2])
		} else {
			b.VBLENDVPS(ops[0], ops[1], ops[2], ops[2])
		}
	case opChoose:
		b.VBLENDVPS(ops[0], ops[1], ops[2], ops[3])
	case opKeep:
		if l.wide() {
			b.VMOVUPS_Z(ops[0], ops[1], ops[2])
		} else {
			b.VANDPS(ops...)
		}
	case opMaskBits:
		from := ops[0]
		if r, ok := from.(reg.GPVirtual); ok {
			from = r.As32()
		}
		if l.double {
			b.KMOVB(from, ops[1])
		} else {
			b.KMOVW(from, ops[1])
		}
	case opMaskWords:
		b.KMOVD(ops[0], ops[1])
	case opMaskTable:
		b.VMOVDQU(ops[0], ops[1])
	case opSetWhere:
		if l.wide() {
			b.VPTERNLOGD(operand.U8(0xff), ops[1], ops[1], ops[0], ops[1])
		} else {
			b.VORPS(ops[0], ops[1], ops[1])
		}
	case opLoadWhere, opStoreWhere:
		l.where(i.op, ops)
	case opSelect:
		b.VPTERNLOGD(append([]operand.Op{operand.U8(i.number)}, ops...)...)
	default:
		return false
	}
	return true
}

// where moves the elements that a mask selects.
func (l *amd64) where(o op, ops []operand.Op) {
	b := l.b
	switch load := o == opLoadWhere; {
	case !l.wide() && l.double:
		b.VMASKMOVPD(ops[0], ops[1], ops[2])
	case !l.wide():
		b.VMASKMOVPS(ops[0], ops[1], ops[2])
	case load && l.double:
		b.VMOVUPD_Z(ops[0], ops[1], ops[2])
	case load:
		b.VMOVUPS_Z(ops[0], ops[1], ops[2])
	case l.double:
		b.VMOVUPD(ops...)
	default:
		b.VMOVUPS(ops...)
	}
}

// storeMask stores bytes of 1 and 0.
func (l *amd64) storeMask(ops []operand.Op) {
	b, x := l.b, l.b.XMM()
	if l.wide() {
		ones, k, to := ops[0], ops[1], ops[2]
		b.VMOVDQU8_Z(ones, k, x)
		b.VMOVDQU8(x, to)
		return
	}
	k, to := ops[0], ops[1]
	high, low := b.XMM(), b.YMM()
	b.VPSRLD(operand.U8(31), k, low)
	b.VEXTRACTI128(operand.U8(1), low, high)
	b.VEXTRACTI128(operand.U8(0), low, x)
	b.VPACKUSDW(high, x, x)
	b.VPACKUSWB(x, x, x)
	b.VMOVQ(x, to)
}
