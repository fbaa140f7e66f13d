package vec

import "unsafe"

// ChainOp is the operation of a step of a chain. A chain takes one vector v after another through all its steps, in
// registers, so that what one step passes to the next never goes through memory. X and Y are the operands of a step.
type ChainOp uintptr

// The steps, numbered as in internal/asmgen/vec. Each computes the bits of the kernel of the same name.
const (
	ChainLoad                ChainOp = iota // v = X
	ChainLoadNumber                         // v = the number at X
	ChainLoadBytes                          // v = X, which are bytes of 0 and 1
	ChainStore                              // X = v
	ChainAdd                                // v + X
	ChainSub                                // v − X
	ChainSubFrom                            // X − v
	ChainMul                                // v·X
	ChainDiv                                // v / X
	ChainDivInto                            // X / v
	ChainMax                                // the larger of v and X
	ChainMaxFrom                            // the larger of X and v
	ChainMin                                // the smaller of v and X
	ChainMinFrom                            // the smaller of X and v
	ChainAddNumber                          // v + the number at X
	ChainSubNumber                          // v − the number at X
	ChainMulNumber                          // v times the number at X
	ChainMaxNumber                          // the larger of v and the number at X
	ChainMinNumber                          // the smaller of v and the number at X
	ChainNeg                                // −v
	ChainAbs                                // |v|
	ChainRelu                               // v where it is positive or NaN, else 0
	ChainSqrt                               // √v
	ChainFloor                              // ⌊v⌋
	ChainCeil                               // ⌈v⌉
	ChainRound                              // the nearest integer, ties to even
	ChainSign                               // −1, 0 or 1
	ChainKeepPositive                       // v where X > 0, else 0
	ChainWherePositive                      // X where v > 0, else 0
	ChainEqual                              // Y = v = X, as bytes of 0 and 1; v stays
	ChainNotEqual                           // Y = v ≠ X
	ChainLess                               // Y = v < X
	ChainLessEqual                          // Y = v ≤ X
	ChainGreater                            // Y = v > X
	ChainGreaterEqual                       // Y = v ≥ X
	ChainChoose                             // v where the byte of Y is 1, else X
	ChainChooseOther                        // X where the byte of Y is 1, else v
	ChainHoldEqual                          // v = X is held, until the next of these; v stays
	ChainHoldNotEqual                       // v ≠ X is held
	ChainHoldLess                           // v < X is held
	ChainHoldLessEqual                      // v ≤ X is held
	ChainHoldGreater                        // v > X is held
	ChainHoldGreaterEqual                   // v ≥ X is held
	ChainChooseHeld                         // v where what is held is true, else X
	ChainChooseOtherHeld                    // X where what is held is true, else v
	ChainShare                              // v where X > Y, half of v where X = Y, else 0
	ChainLoadBF16                           // v = X, which are bfloat16
	ChainStoreBF16                          // X = v, truncated to bfloat16
	ChainRoundBF16                          // the nearest bfloat16, ties to even
	ChainLoadF16                            // v = X, which are float16
	ChainStoreF16                           // X = v, rounded to float16
	ChainRoundF16                           // the nearest float16, ties to even
	ChainAddInt                             // v + X, integers of 32 bits from here on
	ChainSubInt                             // v − X
	ChainSubIntFrom                         // X − v
	ChainMulInt                             // v·X
	ChainMaxInt                             // the larger of v and X
	ChainMinInt                             // the smaller of v and X
	ChainAnd                                // v & X, bit by bit
	ChainOr                                 // v | X, bit by bit
	ChainXor                                // v ^ X, bit by bit
	ChainNegInt                             // −v
	ChainAbsInt                             // |v|
	ChainIntToFloat                         // the float nearest to v
	ChainFloatToInt                         // the float v truncated to an integer; saturates, and NaN gives 0
	ChainLoadByteInts                       // v = X, which are bytes
	ChainEqualInt                           // Y = v = X, as bytes of 0 and 1; v stays
	ChainNotEqualInt                        // Y = v ≠ X
	ChainLessInt                            // Y = v < X
	ChainLessEqualInt                       // Y = v ≤ X
	ChainGreaterInt                         // Y = v > X
	ChainGreaterEqualInt                    // Y = v ≥ X
	ChainHoldEqualInt                       // v = X is held, until the next of these; v stays
	ChainHoldNotEqualInt                    // v ≠ X is held
	ChainHoldLessInt                        // v < X is held
	ChainHoldLessEqualInt                   // v ≤ X is held
	ChainHoldGreaterInt                     // v > X is held
	ChainHoldGreaterEqualInt                // v ≥ X is held
	ChainHoldBytes                          // X, which are bytes of 0 and 1, is held; v stays from here on
	ChainAndBytes                           // what was held and X is held
	ChainOrBytes                            // what was held or X is held
	ChainXorBytes                           // exactly one of what was held and X is held
	ChainNotHeld                            // the complement of what was held is held
	ChainStoreHeld                          // X = what is held, as bytes
	ChainHoldEqualNumber                    // v = the number at X is held; the comparisons are in the order of those above
	ChainHoldNotEqualNumber
	ChainHoldLessNumber
	ChainHoldLessEqualNumber
	ChainHoldGreaterNumber
	ChainHoldGreaterEqualNumber
	ChainHoldEqualIntNumber // the same for integers
	ChainHoldNotEqualIntNumber
	ChainHoldLessIntNumber
	ChainHoldLessEqualIntNumber
	ChainHoldGreaterIntNumber
	ChainHoldGreaterEqualIntNumber
	ChainChooseHeldNumber      // v where what is held is true, else the number at X
	ChainChooseOtherHeldNumber // the number at X where what is held is true, else v
	ChainAddIntNumber          // v + the number at X, integers
	ChainMulIntNumber          // v times the number at X, integers
	ChainMaxIntNumber          // the larger of v and the number at X, integers
	ChainMinIntNumber          // the smaller of v and the number at X, integers
	ChainFinite                // Y = v is neither infinite nor NaN
	ChainHoldFinite            // whether v is finite is held
	ChainSameBytes             // whether what was held equals X is held
)

// ChainStep is a step with the addresses of its operands.
type ChainStep struct {
	Op   ChainOp
	X, Y unsafe.Pointer
}

// MaxChain is the most steps of a chain.
const MaxChain = 48

// elements reports what X and Y point to.
func (op ChainOp) elements() (x, y int) {
	switch {
	case op == ChainFinite:
		return 0, 1
	case op == ChainSameBytes:
		return 1, 0
	case op > ChainStoreHeld:
		return 0, 0
	case op == ChainLoadBytes, op == ChainLoadByteInts, op >= ChainHoldBytes && op != ChainNotHeld:
		return 1, 0
	case op == ChainLoadNumber, op == ChainNotHeld, op >= ChainAddNumber && op <= ChainSign, op >= ChainNegInt && op <= ChainFloatToInt:
		return 0, 0
	case op >= ChainEqual && op < ChainHoldEqual, op >= ChainEqualInt && op <= ChainGreaterEqualInt:
		return 4, 1
	case op == ChainShare:
		return 4, 4
	case op == ChainRoundBF16, op == ChainRoundF16:
		return 0, 0
	case op >= ChainLoadBF16 && op < ChainAddInt:
		return 2, 0
	}
	return 4, 0
}

// stores reports whether the step writes X or Y.
func (op ChainOp) stores() (x, y bool) {
	x = op == ChainStore || op == ChainStoreBF16 || op == ChainStoreF16 || op == ChainStoreHeld
	return x, op >= ChainEqual && op <= ChainGreaterEqual || op >= ChainEqualInt && op <= ChainGreaterEqualInt || op == ChainFinite
}

// Held returns the step that holds what the comparison op would store.
func (op ChainOp) Held() ChainOp {
	if op == ChainFinite {
		return ChainHoldFinite
	}
	if op >= ChainEqualInt {
		return op + ChainHoldEqualInt - ChainEqualInt
	}
	return op + ChainHoldEqual - ChainEqual
}

// numbered maps steps to their forms with one number for all elements.
var numbered = map[ChainOp]ChainOp{ChainLoad: ChainLoadNumber, ChainAdd: ChainAddNumber, ChainSub: ChainSubNumber, ChainMul: ChainMulNumber,
	ChainChooseHeld: ChainChooseHeldNumber, ChainChooseOtherHeld: ChainChooseOtherHeldNumber, ChainAddInt: ChainAddIntNumber,
	ChainMulInt: ChainMulIntNumber, ChainMaxInt: ChainMaxIntNumber, ChainMinInt: ChainMinIntNumber}

// Number returns the step that does the same with the one number at X, if there is one.
func (op ChainOp) Number() (ChainOp, bool) {
	switch {
	case op >= ChainHoldEqual && op <= ChainHoldGreaterEqual:
		return op + ChainHoldEqualNumber - ChainHoldEqual, true
	case op >= ChainHoldEqualInt && op <= ChainHoldGreaterEqualInt:
		return op + ChainHoldEqualIntNumber - ChainHoldEqualInt, true
	}
	other, ok := numbered[op]
	return other, ok
}
