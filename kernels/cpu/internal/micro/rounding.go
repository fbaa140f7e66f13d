package micro

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/amx"
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// Rounding is where the sums of a tile of pairs go as bfloat16, while they are in the first-level cache.
type Rounding struct {
	C         []uint16
	Row, Line int // strides, as CRow and CLine of the tile

	// Bias, if not nil, is added to the rounded sums, which are then rounded again: a number for each column, of a line
	// BiasLine after those of the line before.
	Bias     []float32
	BiasLine int
	ReLU     bool
}

// Rounds reports whether [RunRounded] computes tiles of pairs, which matrix registers do.
func Rounds() bool { return Matrices() && isa.Active().Has(isa.AVX512BF16Round) }

// RunRounded computes a tile for which [Rounds] is true and stores its rounded sums. The tile's C is memory for sums,
// as large as those that [Run] stores; it is read if the tile says Accumulate.
func RunRounded(t *Tile[float32], r *Rounding) {
	if t.Rows <= 0 || t.Cols <= 0 || t.Lines < 0 {
		return
	}
	t.check()
	if t.Bias != nil || t.ReLU || !t.Pairs || !t.fitsMatrices() || !Rounds() {
		panic("micro: a tile that is not rounded")
	}
	lines := max(t.Lines, 1) - 1
	if need := lines*r.Line + (t.Rows-1)*r.Row + t.Cols; need > len(r.C) || min(r.Line, r.Row, r.BiasLine) < 0 {
		panic(fmt.Sprintf("micro: the result has %d elements, the tile needs %d", len(r.C), need))
	}
	p := product(t)
	p.Half, p.HalfRow, p.HalfLine, p.ReLU = unsafe.Pointer(&r.C[0]), r.Row, r.Line, r.ReLU
	if r.Bias != nil {
		if need := lines*r.BiasLine + t.Cols; need > len(r.Bias) {
			panic(fmt.Sprintf("micro: bias has %d elements, the tile needs %d", len(r.Bias), need))
		}
		p.Bias, p.BiasLine = unsafe.Pointer(&r.Bias[0]), r.BiasLine
	}
	amx.Multiply(&p)
	runtime.KeepAlive(t)
	runtime.KeepAlive(r)
}
