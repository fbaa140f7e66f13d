package amx

import "unsafe"

// Words is the number of words of a row of a tile, and so of a whole step of a sum.
const Words = 16

// Product describes a product of pairs of bfloat16, in words, which are pairs, or float32 in C. The operands have to
// have what their strides reach: nothing is checked here.
type Product struct {
	A, B, C unsafe.Pointer

	Rows, Cols         int // of C
	K, Segments, Outer int // at least 1

	ARow, ASegment, AOuter int
	BK, BSegment, BOuter   int
	CRow                   int

	Lines               int // 0 means 1: the product is repeated with A, B and C moved on by
	ALine, BLine, CLine int // these strides

	Accumulate bool // add to C instead of overwriting it

	// Half, if not nil, is where the complete sums of pairs are rounded to: numbers of bfloat16 with these strides. C
	// is memory for sums then. Bias, of a float32 for each column, is added to the rounded sums, which are rounded
	// again.
	Half              unsafe.Pointer
	HalfRow, HalfLine int
	Bias              unsafe.Pointer
	BiasLine          int
	ReLU              bool // negative results become 0
}
