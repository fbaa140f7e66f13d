package ir

import (
	"math"
	"math/bits"
)

// MaxElements is the largest number of elements of a value, empty axes counted as 1: with it, sizes in bytes and
// strides fit an int.
const MaxElements = math.MaxInt >> 4

// MaxNodes is the largest number of nodes of a program. A Go loop that traces too much (steps of an unrolled recurrent
// layer, bins of a pooling) then ends in an error before it exhausts the memory.
const MaxNodes = 1 << 20

// MaxTable is the largest number of elements of a table that is computed while a program is traced (weights of a
// filter, positions to read from), and of the window of a convolution or pooling.
const MaxTable = 1 << 26

// MulLengths multiplies lengths without overflow: a result that does not fit an int is math.MaxInt or math.MinInt.
func MulLengths(lengths ...int) int {
	n := 1
	for _, d := range lengths {
		n = times(n, d) //dim:known lengths that are open are not given to it
	}
	return n
}

func times(a, b int) int {
	high, low := bits.Mul(magnitude(a), magnitude(b))
	negative := (a < 0) != (b < 0) //dim:known a number
	switch {
	case high == 0 && low <= math.MaxInt && negative:
		return -int(low)
	case high == 0 && low <= math.MaxInt:
		return int(low)
	case negative:
		return math.MinInt
	}
	return math.MaxInt
}

func magnitude(n int) uint {
	if n < 0 { //dim:known a number
		return -uint(n) //dim:known a number
	}
	return uint(n) //dim:known a number
}

// AddLengths adds lengths without overflow: a result that does not fit an int is math.MaxInt or math.MinInt.
func AddLengths(lengths ...int) int {
	n := 0
	for _, d := range lengths {
		switch {
		case d > 0 && n > math.MaxInt-d:
			n = math.MaxInt
		case d < 0 && n < math.MinInt-d:
			n = math.MinInt
		default:
			n += d
		}
	}
	return n
}
