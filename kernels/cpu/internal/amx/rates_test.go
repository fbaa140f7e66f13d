package amx

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// BenchmarkRates multiplies operands that are in the first-level or the second-level cache, with one and two tiles in
// each direction, with long and short sums, and reports GFLOP/s.
func BenchmarkRates(b *testing.B) {
	if !isa.MatrixRegisters() {
		b.Skip("this processor has no AMX, whose rates it measures; make amx-machine runs it where there is one")
	}
	for _, s := range []struct{ rows, cols, k int }{
		{32, 32, 16}, {32, 32, 64}, {32, 32, 256}, {32, 32, 512}, {16, 32, 256}, {16, 16, 256}, {32, 16, 256}, {1, 32, 512},
		{128, 32, 64}, {128, 32, 256}, {128, 32, 512}, {256, 32, 512}, {512, 32, 512}, {128, 64, 512}, {128, 256, 512}, {128, 32, 13},
	} {
		b.Run(fmt.Sprintf("%dx%dx%d", s.rows, s.cols, s.k), func(b *testing.B) {
			// B in panels of 32 columns, one after the other
			a, bb, c := make([]uint32, s.rows*(s.k+16)), make([]uint32, s.k*((s.cols+31)/32*32)+64), make([]uint32, s.rows*s.cols)
			p := Product{A: unsafe.Pointer(&a[0]), Rows: s.rows, Cols: min(s.cols, 32), K: s.k, Segments: 1, Outer: 1, ARow: s.k + 16, BK: 32, CRow: s.cols}
			for b.Loop() {
				for col := 0; col < s.cols; col += 32 {
					p.B, p.C = unsafe.Pointer(&bb[col*s.k]), unsafe.Pointer(&c[col])
					Multiply(&p)
				}
			}
			b.ReportMetric(4*float64(s.rows*s.cols*s.k)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}
