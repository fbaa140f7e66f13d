package vector

// op is the kind of an instruction.
type op uint8

const (
	opLoad op = iota
	opStore
	opCopy
	opBroadcast
	opStoreFirst
	opAddFirst
	opExtract
	opPermute
	opLookup
	opInterleaveLow
	opInterleaveHigh
	opShuffle
	opHalves
	opPattern

	opAdd
	opSubtract
	opMultiply
	opDivide
	opMax
	opMin
	opAnd
	opOr
	opXor
	opSqrt
	opRound
	opScale
	opExponent
	opFraction
	opAddProduct
	opAddProductOf
	opSubtractProduct
	opMultiplyAdd
	opMultiplyAddConstant
	opMultiplySubtract
	opSubtractScaled

	opToInt
	opTruncateToInt
	opToFloat
	opAddInt
	opSubtractInt
	opMultiplyInt
	opMaxInt
	opMinInt
	opAndInt
	opOrInt
	opXorInt
	opLoadInt
	opStoreInt
	opBroadcastInt
	opAddDots
	opAddPairs
	opAddBytePairs
	opAddHalfPairsOf
	opOnes
	opShiftRightWords
	opShiftLeftWords
	opPacked
	opWidenSignedBytes
	opWidenSignedWords
	opShiftLeft
	opShiftRight
	opShiftRightSigned
	opShiftLeftBy
	opShiftRightBy
	opShiftRightSignedBy

	opCompare
	opCompareInt
	opSigns
	opOdd
	opZeroBytes
	opLoadMask
	opStoreMask
	opMaskLanes
	opNot
	opEither
	opBlend
	opChoose
	opKeep
	opStoreWhere
	opLoadWhere
	opSetWhere
	opMaskBits
	opMaskTable
	opSelect

	opWidenBytes
	opWidenWords
	opStoreLowWords
	opStoreLowBytes
	opLoadFloat16
	opStoreFloat16
	opRoundFloat16

	opParameter
	opReturn
	opAssign
	opClear
	opIncrease
	opDecrease
	opIntersect
	opUnite
	opAtMost
	opAddress
	opPrefetch
	opPrefetchNear
	opLabel
	opJump
	opJumpBelow
	opJumpEqual
	opJumpNotEqual
	opJumpZero
	opJumpIf
	opJumpUnless
	opJumpAtLeast
	opCountdown
	opCountedOut
	opEnd
)
