package ir

import "math/bits"

// LeastPaddedRows is the smallest batch that is padded: kernels for fewer rows form sums in other orders than kernels
// for many.
const LeastPaddedRows = 8

// PaddedRows is the number of rows that a batch of n is padded to when batch sizes share programs: n itself below
// [LeastPaddedRows], then powers of two, above 64 multiples of 64, above 512 eighths of the power of two that holds n.
// A choice that affects the bits of an example is made for this number, not for n, so that an example has the same bits
// in all batches that share a program.
func PaddedRows(n int) int {
	if n < LeastPaddedRows {
		return n
	}
	power := 1 << bits.Len(uint(n-1))
	if power <= 64 {
		return power
	}
	step := max(64, power/8)
	return (n + step - 1) / step * step
}
