package vec

// The numbers of the float32 loops that have assembly.
type (
	halfKind int
	binaryOp int
	unaryOp  int
	scalarOp int
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
)

const (
	opAffine scalarOp = iota
	opScale
	opAddScalar
	opAxpy
)

const (
	f16 halfKind = iota
	bf16
)
