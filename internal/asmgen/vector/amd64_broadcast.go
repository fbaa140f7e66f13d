package vector

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// broadcasts are AVX-512 operations that can read a single number and broadcast it to all lanes. Constants are read
// that way: Go's linker aligns data to 32 bytes, so half of all 64-byte constants would cross a cache line, and which
// ones depends on everything else in the program.
var broadcasts = map[op]func(b *build.Context, ops ...operand.Op){
	opLoad:             (*build.Context).VBROADCASTSS,
	opAdd:              (*build.Context).VADDPS_BCST,
	opSubtract:         (*build.Context).VSUBPS_BCST,
	opMultiply:         (*build.Context).VMULPS_BCST,
	opDivide:           (*build.Context).VDIVPS_BCST,
	opMax:              (*build.Context).VMAXPS_BCST,
	opMin:              (*build.Context).VMINPS_BCST,
	opAnd:              (*build.Context).VANDPS_BCST,
	opOr:               (*build.Context).VORPS_BCST,
	opXor:              (*build.Context).VXORPS_BCST,
	opScale:            (*build.Context).VSCALEFPS_BCST,
	opAddProduct:       (*build.Context).VFMADD231PS_BCST,
	opSubtractProduct:  (*build.Context).VFNMADD231PS_BCST,
	opMultiplyAdd:      (*build.Context).VFMADD213PS_BCST,
	opMultiplySubtract: (*build.Context).VFMSUB213PS_BCST,
	opSubtractScaled:   (*build.Context).VFNMADD213PS_BCST,
	opAddInt:           (*build.Context).VPADDD_BCST,
	opSubtractInt:      (*build.Context).VPSUBD_BCST,
	opMultiplyInt:      (*build.Context).VPMULLD_BCST,
	opMaxInt:           (*build.Context).VPMAXSD_BCST,
	opMinInt:           (*build.Context).VPMINSD_BCST,
	opAndInt:           (*build.Context).VPANDD_BCST,
	opOrInt:            (*build.Context).VPORD_BCST,
	opXorInt:           (*build.Context).VPXORD_BCST,
	opLoadInt:          (*build.Context).VPBROADCASTD,
	opFixUp:            func(b *build.Context, ops ...operand.Op) { b.VFIXUPIMMPS_BCST(operand.U8(0), ops[0], ops[1], ops[2]) },
	opOdd:              (*build.Context).VPTESTMD_BCST,
	opBlend:            func(b *build.Context, ops ...operand.Op) { b.VBROADCASTSS(ops[1], ops[0], ops[2]) },
	opKeep:             func(b *build.Context, ops ...operand.Op) { b.VBROADCASTSS_Z(ops[0], ops[1], ops[2]) },
}

// broadcast lowers an operation on a constant whose numbers are all the same; it returns false if the operation cannot
// read a single number.
func (l *amd64) broadcast(i *instruction, ops []operand.Op) bool {
	if l.wide() && l.double {
		return l.broadcastDouble(i, ops)
	}
	if !l.wide() || !repeatsConstant(i) {
		return false
	}
	switch i.op {
	case opCompare:
		l.b.VCMPPS_BCST(append([]operand.Op{operand.U8(i.number)}, ops...)...)
		return true
	case opCompareInt:
		if Predicate(i.number) == Equal {
			l.b.VPCMPEQD_BCST(ops...)
		} else {
			l.b.VPCMPGTD_BCST(ops...)
		}
		return true
	}
	f, ok := broadcasts[i.op]
	if ok {
		f(l.b, ops...)
	}
	return ok
}

func repeatsConstant(i *instruction) bool {
	for _, o := range i.operands {
		if m, ok := o.(Memory); ok && m.constant != nil && m.constant.same {
			return true
		}
	}
	return false
}
