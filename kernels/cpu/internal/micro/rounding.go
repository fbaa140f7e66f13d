package micro

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/amx"
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// Rounding says where the sums of a tile of pairs are stored as bfloat16, while they are in the first-level cache.
type Rounding struct {
	C         []uint16
	Row, Line int // strides, like CRow and CLine of the tile

	// Bias, if not nil, has a number for each column, which is added to the rounded sums; these are then rounded again.
	// The numbers of neighbouring lines are BiasLine apart.
	Bias     []float32
	BiasLine int
	ReLU     bool
}

// Rounds reports whether [RunRounded] can compute tiles of pairs that use matrix registers.
func Rounds() bool { return Matrices() && isa.Active().Has(isa.AVX512BF16Round) }

// RoundsVectors reports whether [RunRounded] can compute tiles of pairs that use vectors. These must have one line, and
// their sums must not continue from C.
func RoundsVectors() bool {
	return isa.Active().Has(isa.Vectors512|isa.AVX512BF16Round) && pairs().Lanes > 1
}

// RunRounded computes a tile for which [Rounds] or [RoundsVectors] is true, and stores its rounded sums. For matrix
// registers, the tile's C is memory for sums, as large as [Run] needs; it is read if Accumulate is set. Tiles for
// vectors need no C. They read whole vectors of the bias.
func RunRounded(t *Tile[float32], r *Rounding) {
	if t.Rows <= 0 || t.Cols <= 0 || t.Lines < 0 {
		return
	}
	matrices := t.fitsMatrices() && Rounds()
	if t.Bias != nil || t.ReLU || !t.Pairs || !matrices && (!RoundsVectors() || t.Lines > 1 || t.Accumulate || min(t.K, t.Segments, t.Outer) <= 0) {
		panic("micro: a tile that is not rounded")
	}
	if t.checkOperands(); matrices {
		t.checkSums()
	}
	lines := max(t.Lines, 1) - 1
	if need := lines*r.Line + (t.Rows-1)*r.Row + t.Cols; need > len(r.C) || min(r.Line, r.Row, r.BiasLine) < 0 {
		panic(fmt.Sprintf("micro: the result has %d elements, the tile needs %d", len(r.C), need))
	}
	if need := lines*r.BiasLine + t.Cols; r.Bias != nil && need > len(r.Bias) {
		panic(fmt.Sprintf("micro: bias has %d elements, the tile needs %d", len(r.Bias), need))
	}
	if !matrices {
		vectorRounded(pairs(), t, r)
		return
	}
	p := product(t)
	p.Half, p.HalfRow, p.HalfLine, p.ReLU = unsafe.Pointer(&r.C[0]), r.Row, r.Line, r.ReLU
	if r.Bias != nil {
		p.Bias, p.BiasLine = unsafe.Pointer(&r.Bias[0]), r.BiasLine
	}
	amx.Multiply(&p)
	runtime.KeepAlive(t)
	runtime.KeepAlive(r)
}
