package gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// halfPaths lists the sets of features with which products of 16-bit floats are computed in different ways.
func halfPaths() []isa.Features {
	paths := append(isa.Paths(), isa.Executable()&^(isa.AVX512BF16|isa.BF16))
	if isa.Executable() != isa.Detected() {
		paths = append(paths, isa.Executable())
	}
	if isa.MatrixRegisters() {
		paths = append(paths, isa.Detected()&^isa.AMXBF16)
	}
	return paths
}

// halves returns random 16-bit numbers, and the same in float32.
func halves(r *rand.Rand, h vec.Half, n int) ([]uint16, []float32) {
	x, wide := make([]uint16, n), make([]float32, n)
	for i := range wide {
		wide[i] = float32(r.NormFloat64())
	}
	h.Narrow(x, wide)
	h.Widen(wide, x)
	return x, wide
}

// randomHalf returns a product of random shape, with the expected sums and the sums of absolute values.
func randomHalf(r *rand.Rand) (a *HalfArgs, c []uint16, sums, sizes []float64) {
	size := func() int {
		if r.IntN(4) == 0 {
			return 1 + r.IntN(700)
		}
		return 1 + r.IntN(70)
	}
	a = &HalfArgs{Type: vec.Half(r.IntN(2)), M: size(), N: size(), K: size(), TransA: r.IntN(2) == 0, TransB: r.IntN(2) == 0, ReLU: r.IntN(3) == 0}
	if r.IntN(10) == 0 {
		a.K = 900 + r.IntN(1500)
	}
	a.Batch = [2]int{1 + r.IntN(2), 1 + r.IntN(2)}
	if r.IntN(4) == 0 { // many small ones
		a.M, a.N, a.K = 1+r.IntN(40), 1+r.IntN(40), 1+r.IntN(60)
		a.Batch[r.IntN(2)] = 8 + r.IntN(30)
	}
	matrix := func(rows, cols int, trans bool, ld *int, stride *[2]int) int {
		if trans {
			rows, cols = cols, rows
		}
		*ld = cols + r.IntN(3)*r.IntN(5)
		one := rows * *ld
		*stride = [2]int{a.Batch[1] * one, one}
		return a.Batch[0] * a.Batch[1] * one
	}
	var wideA, wideB, wideBias []float32
	a.A, wideA = halves(r, a.Type, matrix(a.M, a.K, a.TransA, &a.LDA, &a.StrideA))
	a.B, wideB = halves(r, a.Type, matrix(a.K, a.N, a.TransB, &a.LDB, &a.StrideB))
	c = make([]uint16, matrix(a.M, a.N, false, &a.LDC, &a.StrideC))
	wideBias = make([]float32, a.N)
	if r.IntN(2) == 0 {
		a.Bias, wideBias = halves(r, a.Type, a.N)
	}
	at := func(x []float32, row, col, ld int, trans bool) float64 {
		if trans {
			row, col = col, row
		}
		return float64(x[row*ld+col])
	}
	sums, sizes = make([]float64, len(c)), make([]float64, len(c))
	for e := range a.Batch[0] * a.Batch[1] {
		for m := range a.M {
			for n := range a.N {
				var sum, size float64
				for k := range a.K {
					p := at(wideA[e*a.StrideA[1]:], m, k, a.LDA, a.TransA) * at(wideB[e*a.StrideB[1]:], k, n, a.LDB, a.TransB)
					sum, size = sum+p, size+math.Abs(p)
				}
				i := e*a.StrideC[1] + m*a.LDC + n
				rounding := math.Abs(sum) + math.Abs(sum+float64(wideBias[n])) // both are rounded to 16 bits
				sizes[i] = size + rounding*halfEpsilon(a.Type)*(1<<22)
				if sum += float64(wideBias[n]); a.ReLU {
					sum = max(sum, 0)
				}
				sums[i] = sum
			}
		}
	}
	return a, c, sums, sizes
}

// halfEpsilon is half the distance from 1 to the next number.
func halfEpsilon(h vec.Half) float64 {
	if h == vec.BFloat16 {
		return 0x1p-8
	}
	return 0x1p-11
}

// TestRunHalf compares random products with float64, on every path: a float32 sum is rounded once, and once more with
// the bias. The number of workers changes no bit.
func TestRunHalf(t *testing.T) {
	workers := pool.New(3)
	defer workers.Close()
	for _, path := range halfPaths() {
		t.Run(path.String(), func(t *testing.T) {
			defer isa.Override(path)()
			r := rand.New(rand.NewPCG(1, 2))
			tries := 60
			if testing.Short() {
				tries = 25
			}
			for try := range tries {
				a, c, sums, sizes := randomHalf(r)
				a.C = c
				RunHalf(nil, a, make([]float32, HalfScratch(a, 1)))
				got := make([]float32, len(c))
				a.Type.Widen(got, c)
				for i, want := range sums {
					if bound := sizes[i]*0x1p-22 + 1e-6; math.Abs(float64(got[i])-want) > bound {
						t.Fatalf("product %d, %v: element %d: %v, want %v ± %v", try, describeHalf(a), i, got[i], want, bound)
					}
				}
				a.C = make([]uint16, len(c))
				RunHalf(workers, a, make([]float32, HalfScratch(a, workers.Size())))
				require.Equal(t, c, a.C, "product %d with workers", try)
			}
		})
	}
}

func describeHalf(a *HalfArgs) string {
	return fmt.Sprintf("M %d N %d K %d, strides %d%v %d%v %d, type %d", a.M, a.N, a.K, a.LDA, a.TransA, a.LDB, a.TransB, a.LDC, a.Type)
}

// A row's results do not depend on how many rows are computed together: a batch may be split. With matrix registers a
// single row may differ.
func TestHalfRowsAreIndependent(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const m, n, k = 61, 75, 333
	a := HalfArgs{Type: vec.BFloat16, M: m, N: n, K: k, C: make([]uint16, m*n)}
	a.A, _ = halves(r, a.Type, m*k)
	a.B, _ = halves(r, a.Type, k*n)
	RunHalf(nil, &a, make([]float32, HalfScratch(&a, 1)))
	all := a.C
	for first := 0; first < m; {
		part := a
		if part.M = min(1+r.IntN(9), m-first); part.M == 1 && micro.Matrices() {
			part.M, first = 2, min(first, m-2)
		}
		part.A, part.C = a.A[first*k:], make([]uint16, part.M*n)
		RunHalf(nil, &part, make([]float32, HalfScratch(&part, 1)))
		require.Equal(t, all[first*n:(first+part.M)*n], part.C)
		first += part.M
	}
}

// A NaN after an operand, where an incomplete pair might read, does not reach the result.
func TestHalfReadsNoNeighbours(t *testing.T) {
	for _, path := range halfPaths() {
		defer isa.Override(path)()
		const m, n, k = 3, 5, 7
		x := make([]uint16, m*k+1, m*k+64)
		y := make([]uint16, k*n+1, k*n+64)
		for i := range x {
			x[i] = 0x3f80
		}
		for i := range y {
			y[i] = 0x3f80
		}
		for _, behind := range [][]uint16{x[m*k : cap(x)], y[k*n : cap(y)]} {
			for i := range behind {
				behind[i] = 0x7fc0
			}
		}
		a := HalfArgs{Type: vec.BFloat16, M: m, N: n, K: k, A: x[:m*k], B: y[:k*n], C: make([]uint16, m*n)}
		RunHalf(nil, &a, make([]float32, HalfScratch(&a, 1)))
		for _, c := range a.C {
			require.Equal(t, uint16(0x40e0), c) // 7
		}
	}
}

// BenchmarkHalf measures 16-bit products in each way in which they can be computed, and those of float32, in turn: the
// fastest run of each.
func BenchmarkHalf(b *testing.B) {
	for _, s := range [][3]int{{64, 512, 784}, {2048, 512, 128}, {2048, 128, 512}, {512, 512, 2048}, {128, 128, 32}, {64, 512, 128}, {1024, 1024, 1024}} {
		for _, trans := range []string{"", "A", "B"} {
			b.Run(fmt.Sprintf("%v%s", s, trans), func(b *testing.B) { benchmarkHalf(b, s, trans) })
		}
	}
}

func benchmarkHalf(b *testing.B, s [3]int, trans string) {
	f := Args[float32]{M: s[0], N: s[1], K: s[2], TransA: trans == "A", TransB: trans == "B"}
	f.A, f.B, f.C = make([]float32, f.M*f.K), make([]float32, f.K*f.N), make([]float32, f.M*f.N)
	h := HalfArgs{M: f.M, N: f.N, K: f.K, TransA: f.TransA, TransB: f.TransB}
	h.A, h.B, h.C = make([]uint16, h.M*h.K), make([]uint16, h.K*h.N), make([]uint16, h.M*h.N)
	others := make([]byte, 4<<20) // read before each product, so that its operands are in the third-level cache, as in a model
	best := make(map[string]float64)
	measure := func(name string, run func()) {
		for i := 0; i < len(others); i += 64 {
			others[i]++
		}
		start := time.Now()
		run()
		rate := 2 * float64(f.M*f.N*f.K) / float64(time.Since(start).Nanoseconds())
		best[name] = max(best[name], rate)
	}
	for b.Loop() {
		for _, path := range halfPaths() {
			if path == isa.Portable {
				continue
			}
			restore := isa.Override(path)
			kind, _, _ := strings.Cut(path.String(), "+")
			scratch := make([]float32, ScratchSize(&f, 1))
			measure(kind+"-f32", func() { Run(nil, &f, scratch) })
			for t, name := range map[vec.Half]string{vec.BFloat16: "bf16", vec.Float16: "f16"} {
				if h.Type = t; t == vec.BFloat16 && path.Has(isa.AVX512BF16) {
					name = "pairs"
				}
				scratch = append(scratch, make([]float32, HalfScratch(&h, 1))...)
				measure(kind+"-"+name, func() { RunHalf(nil, &h, scratch) })
			}
			restore()
		}
	}
	for name, rate := range best {
		b.ReportMetric(rate, name)
	}
}

// TestHalfRowApart: a row whose numbers are not contiguous, as in an entry of a batch, gives the bits of the same row
// without gaps, with B in place, transposed, and in panels.
func TestHalfRowApart(t *testing.T) {
	for _, path := range halfPaths() {
		t.Run(path.String(), func(t *testing.T) {
			defer isa.Override(path)()
			r := rand.New(rand.NewPCG(7, 8))
			for try := range 48 {
				a := HalfArgs{Type: vec.Half(r.IntN(2)), M: 1, N: 1 + r.IntN(300), K: 1 + r.IntN(600), TransA: true, LDA: 1 + r.IntN(4)}
				a.A, _ = halves(r, a.Type, a.K*a.LDA)
				a.B, _ = halves(r, a.Type, a.K*a.N)
				a.TransB, a.Narrow, a.C = try%3 == 0, r.IntN(2) == 0, make([]uint16, a.N)
				if try%3 == 1 {
					_, size := HalfPanels(&a)
					a.Packed = make([]float32, size)
					PackHalf(nil, a.Packed, &a)
				}
				row := a
				row.TransA, row.LDA, row.A, row.C = false, a.K, make([]uint16, a.K), make([]uint16, a.N)
				for k := range row.A {
					row.A[k] = a.A[k*a.LDA]
				}
				RunHalf(nil, &a, make([]float32, HalfScratch(&a, 1)))
				RunHalf(nil, &row, make([]float32, HalfScratch(&row, 1)))
				require.Equal(t, row.C, a.C, describeHalf(&a))
			}
		})
	}
}
