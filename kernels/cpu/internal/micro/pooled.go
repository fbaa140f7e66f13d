package micro

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// HasPooled reports whether there are kernels for [RunPooled] under the active level.
func HasPooled[T Float]() bool {
	return hasPooled && isa.Active().Has(isa.Vectors256) && PanelWidth[T]() == 32
}

// RunPooled computes the maxima of windows of 2x2 sums, with the sums of [Run] taken on pairs of lines and pairs of
// rows:
//
//	C[l·CLine + r·CRow + c] = max over i, j in {0, 1} of the sum at A[(2l+i)·ALine + (2r+j)·ARow]
//
// for Lines lines of Rows windows: convolution, bias, relu and max-pooling, without memory for what is pooled. A NaN
// among the four makes the maximum NaN; of zeros with different signs any may be it. It reports whether it has a kernel
// for the tile; if not, it has done nothing.
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

// checkPooled panics unless every element exists.
func (t *Tile[T]) checkPooled() {
	all := *t
	all.Rows, all.Lines = 2*t.Rows, 2*t.Lines
	all.CRow, all.CLine = 0, 0
	all.check()
	if need := (t.Lines-1)*t.CLine + (t.Rows-1)*t.CRow + t.Cols; t.CLine < 0 || t.CRow < 0 || need > len(t.C) {
		panic(fmt.Sprintf("micro: C has %d elements, the pooled tile needs %d", len(t.C), need))
	}
}
