package gemm

import (
	"fmt"
	"testing"

	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// BenchmarkHalfRates multiplies matrices of bfloat16 from real workloads, plain and packed, and reports GFLOP/s.
func BenchmarkHalfRates(b *testing.B) {
	shapes := [][3]int{{64, 64, 64}, {128, 128, 128}, {256, 256, 256}, {512, 512, 512}, {1024, 1024, 1024}, {2048, 2048, 2048}, {64, 512, 784}, {64, 4096, 4096}, {2048, 384, 128},
		{2048, 512, 128}, {2048, 128, 512}, {128, 512, 2048}, {2048, 1000, 128}, {2048, 768, 192}, {2048, 192, 768}, {16384, 64, 64}, {65536, 16, 144}, {144, 16, 65536}}
	for _, s := range shapes {
		for _, form := range []string{"nn", "nt", "tn", "packed"} {
			b.Run(fmt.Sprintf("%dx%dx%d-%s", s[0], s[1], s[2], form), func(b *testing.B) {
				a := &HalfArgs{Type: vec.BFloat16, M: s[0], N: s[1], K: s[2], TransA: form == "tn", TransB: form == "nt"}
				a.A, a.B, a.C = make([]uint16, a.M*a.K), make([]uint16, a.K*a.N), make([]uint16, a.M*a.N)
				if form == "packed" {
					_, n := HalfPanels(a)
					packed := make([]float32, n)
					PackHalf(nil, packed, a)
					a.Packed = packed
				}
				scratch := make([]float32, HalfScratch(a, 1))
				for b.Loop() {
					RunHalf(nil, a, scratch)
				}
				b.ReportMetric(2*float64(a.M*a.N*a.K)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}

// BenchmarkHalfPacks packs a matrix, stored both ways, and reports how many GB/s it reads.
func BenchmarkHalfPacks(b *testing.B) {
	for _, s := range [][2]int{{128, 512}, {784, 512}, {1024, 1024}, {4096, 4096}} {
		for _, trans := range []bool{false, true} {
			b.Run(fmt.Sprintf("%dx%d-%v", s[0], s[1], trans), func(b *testing.B) {
				a := &HalfArgs{Type: vec.BFloat16, M: 64, N: s[1], K: s[0], TransB: trans, B: make([]uint16, s[0]*s[1])}
				_, n := HalfPanels(a)
				packed := make([]float32, n)
				for i := range a.B { // memory that was never written is one page
					a.B[i] = uint16(i)
				}
				for b.Loop() {
					PackHalf(nil, packed, a)
				}
				b.ReportMetric(2*float64(a.N*a.K)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GB/s")
			})
		}
	}
}
