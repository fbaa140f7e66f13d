package vec

// The indices of the float32 loops that have assembly.
type (
	halfKind int
	binaryOp int
	unaryOp  int
	scalarOp int

	compareOp           int
	testOp              int
	integerOp           int
	integerConversionOp int
	packedOp            int
	packedUnaryOp       int
	wideningOp          int
	unary64Op           int
	binary64Op          int
	compare64Op         int
	convert64Op         int
	smallPairOp         int
	powerOp             int
)

const (
	opAdd binaryOp = iota
	opSub
	opMul
	opDiv
	opMax
	opMin
	opReluGrad
	opTanhGrad
	opSigmoidGrad
	opGeluGrad
	opPow
	opRem
	opAtan2
)

const (
	opNeg unaryOp = iota
	opAbs
	opRelu
	opSqrt
	opRsqrt
	opExp
	opLog
	opTanh
	opSigmoid
	opErf
	opGelu
	opFloor
	opCeil
	opRound
	opSign
	opExpm1
	opLog1p
	opSin
	opCos
	opTan
	opAsin
	opAcos
	opAtan
	opSinh
	opCosh
	opAsinh
	opAcosh
	opAtanh
	opErfInv
	opErfc
	opExp2
)

const (
	opAffine scalarOp = iota
	opScale
	opAddScalar
	opMaxScalar
	opMinScalar
	opAxpy
)

const (
	f16 halfKind = iota
	bf16
)

const (
	opFloatEqual compareOp = iota
	opFloatNotEqual
	opFloatLess
	opFloatLessEqual
	opIntEqual
	opIntNotEqual
	opIntLess
	opIntLessEqual
)

const (
	opFloatNotZero testOp = iota
	opFloatFinite
)

const (
	opAddInt integerOp = iota
	opSubInt
	opMulInt
	opMaxInt
	opMinInt
	opShiftLeftInt
	opShiftRightInt
	opShiftRightUint
)

const (
	opIntToFloat integerConversionOp = iota
	opFloatToInt
	opNegInt
	opAbsInt
	opSignInt
)

const (
	opAddBytes packedOp = iota
	opSubBytes
	opMaxInt8
	opMinInt8
	opMaxUint8
	opMinUint8
	opMulBytes
	opAddWords
	opSubWords
	opMaxInt16
	opMinInt16
	opMaxUint16
	opMinUint16
	opMulWords
	opMaxUint32
	opMinUint32
	opAndBits
	opOrBits
	opXorBits
)

const (
	opNegBytes packedUnaryOp = iota
	opNegWords
	opAbsBytes
	opAbsWords
	opSignBytes
	opSignWords
	opFlipBits
	opFlipBools
)

const (
	opInt8ToInt wideningOp = iota
	opInt8ToFloat
	opInt16ToInt
	opInt16ToFloat
	opUint16ToInt
	opUint16ToFloat
)

const (
	opExp64 unary64Op = iota + 1
	opLog64
	opTanh64
	opSigmoid64
	opErf64
	opGelu64
	opExpm164
	opLog1p64
	opSin64
	opCos64
	opTan64
	opAsin64
	opAcos64
	opAtan64
	opSinh64
	opCosh64
	opAsinh64
	opAcosh64
	opAtanh64
	opErfInv64
	opErfc64
	opExp264
	opRsqrt64
	opLogGamma64
	opNegLongs
	opAbsLongs
	opSignLongs
)

const (
	opGeluGrad64 binary64Op = iota + 1
	opPow64
	opRem64
	opAtan264
	opAddLongs
	opSubLongs
	opMaxLongs
	opMinLongs
	opMaxUlongs
	opMinUlongs
)

const (
	opLongsEqual compare64Op = iota // in the order of [Relation]
	opLongsNotEqual
	opLongsLess
	opLongsLessEqual
	opUlongsLess
	opUlongsLessEqual
)

const (
	opFloatsToDoubles convert64Op = iota
	opDoublesToFloats
)

// Each operation has one index for int8, uint8, int16 and uint16 each.
const (
	opDivInt8 smallPairOp = iota
	opRemInt8
	opShiftLeftInt8
	opShiftRightInt8
	opDivUint8
	opRemUint8
	opShiftLeftUint8
	opShiftRightUint8
	opDivInt16
	opRemInt16
	opShiftLeftInt16
	opShiftRightInt16
	opDivUint16
	opRemUint16
	opShiftLeftUint16
	opShiftRightUint16
)

const (
	opPowerInt8 powerOp = iota
	opPowerUint8
	opPowerInt16
	opPowerUint16
	opPowerInt32
	opPowerUint32
)
