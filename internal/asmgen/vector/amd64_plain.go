package vector

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// plain are the operations that are one instruction on the same operands.
var plain = map[op]func(b *build.Context, ops ...operand.Op){
	opLoad:            (*build.Context).VMOVUPS,
	opStore:           (*build.Context).VMOVUPS,
	opCopy:            (*build.Context).VMOVAPS,
	opBroadcast:       (*build.Context).VBROADCASTSS,
	opAddFirst:        (*build.Context).VADDSS,
	opLookup:          func(b *build.Context, ops ...operand.Op) { b.VPERMPS(ops...) },
	opAdd:             (*build.Context).VADDPS,
	opSubtract:        (*build.Context).VSUBPS,
	opMultiply:        (*build.Context).VMULPS,
	opDivide:          (*build.Context).VDIVPS,
	opMax:             (*build.Context).VMAXPS,
	opMin:             (*build.Context).VMINPS,
	opAnd:             (*build.Context).VANDPS,
	opOr:              (*build.Context).VORPS,
	opXor:             (*build.Context).VXORPS,
	opSqrt:            (*build.Context).VSQRTPS,
	opScale:           func(b *build.Context, ops ...operand.Op) { b.VSCALEFPS(ops...) },
	opExponent:        func(b *build.Context, ops ...operand.Op) { b.VGETEXPPS(ops...) },
	opAddProduct:      (*build.Context).VFMADD231PS,
	opSubtractProduct: (*build.Context).VFNMADD231PS,
	opMultiplyAdd:     (*build.Context).VFMADD213PS,

	opMultiplySubtract:   (*build.Context).VFMSUB213PS,
	opSubtractScaled:     (*build.Context).VFNMADD213PS,
	opToInt:              (*build.Context).VCVTPS2DQ,
	opTruncateToInt:      (*build.Context).VCVTTPS2DQ,
	opToFloat:            (*build.Context).VCVTDQ2PS,
	opAddInt:             (*build.Context).VPADDD,
	opSubtractInt:        (*build.Context).VPSUBD,
	opMultiplyInt:        (*build.Context).VPMULLD,
	opMaxInt:             (*build.Context).VPMAXSD,
	opMinInt:             (*build.Context).VPMINSD,
	opShiftLeftBy:        (*build.Context).VPSLLVD,
	opShiftRightBy:       (*build.Context).VPSRLVD,
	opShiftRightSignedBy: (*build.Context).VPSRAVD,
	opBroadcastInt:       (*build.Context).VPBROADCASTD,
	opAddDots:            (*build.Context).VPDPBUSD,
	opAddPairs:           (*build.Context).VPMADDWD,
	opAddHalfPairsOf:     func(b *build.Context, ops ...operand.Op) { b.VPDPWSSD_BCST(ops...) }, // see encodeHalfPairs
	opOnes:               (*build.Context).VPCMPEQW,
	opWidenBytes:         (*build.Context).VPMOVZXBD,
	opWidenSignedBytes:   (*build.Context).VPMOVSXBD,
	opWidenSignedWords:   (*build.Context).VPMOVSXWD,
	opWidenWords:         (*build.Context).VPMOVZXWD,
	opLoadFloat16:        (*build.Context).VCVTPH2PS,
	opInterleaveLow:      (*build.Context).VUNPCKLPS,
	opInterleaveHigh:     (*build.Context).VUNPCKHPS,
	opAddProductOf:       (*build.Context).VFMADD231PS_BCST,
	opIntersect:          func(b *build.Context, ops ...operand.Op) { b.ANDQ(ops[0], ops[1]) },
	opUnite:              func(b *build.Context, ops ...operand.Op) { b.ORQ(ops[0], ops[1]) },
	opPrefetchNear:       func(b *build.Context, ops ...operand.Op) { b.PREFETCHT0(ops[0]) },
	opAddress:            func(b *build.Context, ops ...operand.Op) { b.LEAQ(ops[0], ops[1]) },
	opAssign:             func(b *build.Context, ops ...operand.Op) { b.MOVQ(ops[0], ops[1]) },
	opIncrease:           func(b *build.Context, ops ...operand.Op) { b.ADDQ(ops[0], ops[1]) },
	opDecrease:           func(b *build.Context, ops ...operand.Op) { b.SUBQ(ops[0], ops[1]) },
	opClear:              func(b *build.Context, ops ...operand.Op) { b.XORQ(ops[0], ops[0]) },
	opPrefetch:           func(b *build.Context, ops ...operand.Op) { b.PREFETCHT1(ops[0]) },
}

// plainFloat64 are those that are another instruction for floats of 64 bits.
var plainFloat64 = map[op]func(b *build.Context, ops ...operand.Op){
	opLoad:         (*build.Context).VMOVUPD,
	opStore:        (*build.Context).VMOVUPD,
	opBroadcast:    (*build.Context).VBROADCASTSD,
	opAddFirst:     (*build.Context).VADDSD,
	opAdd:          (*build.Context).VADDPD,
	opSubtract:     (*build.Context).VSUBPD,
	opMultiply:     (*build.Context).VMULPD,
	opDivide:       (*build.Context).VDIVPD,
	opMax:          (*build.Context).VMAXPD,
	opMin:          (*build.Context).VMINPD,
	opSqrt:         (*build.Context).VSQRTPD,
	opAddProduct:   (*build.Context).VFMADD231PD,
	opAddProductOf: (*build.Context).VFMADD231PD_BCST,
}
