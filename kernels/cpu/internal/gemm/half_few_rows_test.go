package gemm

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// TestHalfSingleRow: a single row is computed with vectors even if there are matrix registers, with a packed B and
// without. The second half of each sum cancels the first, so that the rounding error is left, which reveals the order.
func TestHalfSingleRow(t *testing.T) {
	if !isa.MatrixRegisters() {
		t.Skip("needs matrix registers (AMX), or an emulator of them (make amx)")
	}
	r := rand.New(rand.NewPCG(21, 22))
	for try := range 12 {
		a := HalfArgs{Type: vec.BFloat16, M: 1, N: 1 + r.IntN(100), K: 2 * (9 + r.IntN(150)), C: make([]uint16, 100)}
		a.A, _ = halves(r, a.Type, a.K/2)
		a.B, _ = halves(r, a.Type, a.K/2*a.N)
		a.B = append(a.B, a.B...)
		for _, x := range a.A[:a.K/2] {
			a.A = append(a.A, x^1<<15)
		}
		if try%2 == 1 {
			_, n := HalfPanels(&a)
			packed := make([]float32, n)
			PackHalf(nil, packed, &a)
			a.Packed = packed
		}
		RunHalf(nil, &a, make([]float32, HalfScratch(&a, 1)))
		got := slices.Clone(a.C)
		restore := isa.Override(isa.Active() &^ matrixRegisters)
		if a.Packed != nil { // its layout differs then
			_, n := HalfPanels(&a)
			a.Packed = make([]float32, n)
			PackHalf(nil, a.Packed, &a)
		}
		RunHalf(nil, &a, make([]float32, HalfScratch(&a, 1)))
		restore()
		require.Equal(t, a.C, got, describeHalf(&a))
	}
}

const matrixRegisters = isa.AMXTile | isa.AMXInt8 | isa.AMXBF16

// BenchmarkHalfFewRows multiplies a few rows by panels that stay in the caches: in pairs of bfloat16, with matrix
// registers and with vectors, and in float32. The choice between these is based on the microseconds that it reports.
func BenchmarkHalfFewRows(b *testing.B) {
	for _, rows := range []int{1, 2, 3, 4, 6, 8, 12, 16, 32} {
		for _, cols := range []int{64, 256, 1024} {
			for _, sums := range []int{32, 128, 512, 2048} {
				for _, way := range []string{"matrices", "vectors", "float32"} {
					b.Run(fmt.Sprintf("%dx%dx%d/%s", rows, cols, sums, way), func(b *testing.B) {
						benchmarkFewRows(b, rows, cols, sums, way)
					})
				}
			}
		}
	}
}

func benchmarkFewRows(b *testing.B, rows, cols, sums int, way string) {
	if way == "matrices" && !isa.MatrixRegisters() {
		b.Skip("this processor has no AMX, which it times beside vectors; make amx-machine runs it where there is one")
	}
	if way == "vectors" {
		defer isa.Override(isa.Active() &^ matrixRegisters)()
	}
	run := fewRowsInHalves(rows, cols, sums)
	if way == "float32" {
		run = fewRowsInFloat32(rows, cols, sums)
	}
	for b.Loop() {
		run()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e3, "us")
}

func fewRowsInHalves(rows, cols, sums int) func() {
	a := &HalfArgs{Type: vec.BFloat16, M: rows, N: cols, K: sums}
	a.A, a.B, a.C = make([]uint16, rows*sums), make([]uint16, sums*cols), make([]uint16, rows*cols)
	_, n := HalfPanels(a)
	packed := make([]float32, n)
	PackHalf(nil, packed, a)
	a.Packed = packed
	scratch := make([]float32, HalfScratch(a, 1))
	return func() { RunHalf(nil, a, scratch) }
}

func fewRowsInFloat32(rows, cols, sums int) func() {
	a := &Args[float32]{M: rows, N: cols, K: sums, A: make([]float32, rows*sums), C: make([]float32, rows*cols), Packed: true}
	a.B = make([]float32, PackedSize[float32](cols, sums))
	PackB(nil, a.B, make([]float32, sums*cols), sums, cols, cols, false)
	scratch := make([]float32, ScratchSize(a, 1))
	return func() { Run(nil, a, scratch) }
}
