package micro

import (
	"runtime"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/amx"
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// Matrices reports whether products of pairs use matrix registers (AMX). These need the pairs of A to be contiguous
// along k; a tile with another AK is computed with vectors.
func Matrices() bool { return pairs().Needs.Has(isa.AMXTile) }

// fitsMatrices reports whether a tile of pairs can use matrix registers. It depends only on what all tiles of a product
// share, so that all sums have the same order.
func (t *Tile[T]) fitsMatrices() bool { return !t.Vectors && t.AK == 1 && t.K > 0 }

// matrix computes the tile in matrix registers.
func matrix(t *Tile[float32]) {
	p := product(t)
	if t.Bias != nil {
		p.Accumulate = true
		eachRow(t, func(line int, row []float32) {
			if !t.Accumulate {
				clear(row)
			}
			for c, bias := range t.Bias[line*t.BiasLine:][:len(row)] {
				row[c] += bias
			}
		})
	}
	amx.Multiply(&p)
	if t.ReLU {
		eachRow(t, func(_ int, row []float32) {
			for c, v := range row {
				if v < 0 {
					row[c] = 0
				}
			}
		})
	}
	runtime.KeepAlive(t)
}

// product describes the tile for package amx, without bias and relu.
func product(t *Tile[float32]) amx.Product {
	return amx.Product{A: unsafe.Pointer(&t.A[0]), B: unsafe.Pointer(&t.B[0]), C: unsafe.Pointer(&t.C[0]), Rows: t.Rows, Cols: t.Cols, K: t.K,
		Segments: t.Segments, Outer: t.Outer, ARow: t.ARow, ASegment: t.ASegment, AOuter: t.AOuter, BK: t.BK, BSegment: t.BSegment, BOuter: t.BOuter,
		CRow: t.CRow, Lines: t.Lines, ALine: t.ALine, BLine: t.BLine, CLine: t.CLine, Accumulate: t.Accumulate}
}

// eachRow calls f with each row of C and the line that it belongs to.
func eachRow(t *Tile[float32], f func(line int, row []float32)) {
	for line := range max(t.Lines, 1) {
		for r := range t.Rows {
			f(line, t.C[line*t.CLine+r*t.CRow:][:t.Cols])
		}
	}
}
