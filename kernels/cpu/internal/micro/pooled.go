package micro

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// HasPooled reports whether there are kernels for [RunPooled] under the active level.
func HasPooled[T Float]() bool {
	return hasPooled && isa.Active().Has(isa.Vectors256) && PanelWidth[T]() == 32
}

// RunPooled computes the maxima of windows of 2x2 sums. The sums are those of [Run], for pairs of lines and pairs of
// rows:
//
//	C[l·CLine + r·CRow + c] = max over i, j in {0, 1} of the sum at A[(2l+i)·ALine + (2r+j)·ARow]
//
// for Lines lines of Rows windows. This is convolution, bias, relu and max-pooling without memory for the unpooled
// result. A NaN among the four sums makes the maximum NaN; of zeros with different signs, either may be the maximum. If
// there is no kernel for the tile, it returns false and has done nothing.
func RunPooled[T Float](t *Tile[T]) bool {
	if !HasPooled[T]() || t.Rows <= 0 || t.Cols <= 0 || t.Lines <= 0 || t.Accumulate ||
		t.K <= 0 || t.Segments <= 0 || t.Outer <= 0 {
		return false
	}
	t.checkPooled()
	l := lanes[T]()
	if (t.Cols+l-1)/l*l+t.lastB() > cap(t.B) {
		return false
	}
	pooled(t)
	return true
}

// checkPooled panics unless all elements exist.
func (t *Tile[T]) checkPooled() {
	all := *t
	all.Rows, all.Lines = 2*t.Rows, 2*t.Lines
	all.CRow, all.CLine = 0, 0
	all.check()
	if need := (t.Lines-1)*t.CLine + (t.Rows-1)*t.CRow + t.Cols; t.CLine < 0 || t.CRow < 0 || need > len(t.C) {
		panic(fmt.Sprintf("micro: C has %d elements, the pooled tile needs %d", len(t.C), need))
	}
}
