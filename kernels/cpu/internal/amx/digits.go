package amx

import "unsafe"

// Digits is a product of rows of numbers in three digits of eight bits and a block of a panel of bytes, whose sums are
// those of each digit:
//
//	C[r, d, c] = Σ_k A[r, d, k] · B[k, c]
//
// C has 64 numbers of 32 bits for each digit, whatever Columns is. The last step is a whole one, too: behind Groups,
// where they are more than 16, either A or B has to be zeros, and both have to be there.
type Digits struct {
	A, B, C unsafe.Pointer
	Signed  bool // A is bytes with a sign and B without one; else A has none and B has one

	Rows, Columns, Groups int
	ARow, Plane           int // bytes from row to row and from digit to digit
}

// DigitSums is how many numbers a row of C has.
const DigitSums = 3 * PanelColumns
