package quant_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/quant"
)

func product(p *pool.Pool, a, b []int8, m, n, k int, transA, transB bool) []int32 {
	rowB, colB := n, 1
	if transB {
		rowB, colB = 1, k
	}
	packed := make([]byte, quant.PackedSize(k, n))
	quant.Pack(p, packed, b, k, n, rowB, colB)
	args := &quant.Args{M: m, N: n, K: k, A: a, RowStride: k, ColStride: 1, B: packed, C: make([]int32, m*n), LDC: n, Scratch: make([]byte, quant.ScratchSize(m, k))}
	if transA {
		args.RowStride, args.ColStride = 1, m
	}
	c := args.C
	quant.Run(p, args)
	return c
}

// TestProductsAreExact compares all instruction sets with 64-bit sums, over the whole range of int8, including -128,
// where a kernel might saturate.
func TestProductsAreExact(t *testing.T) {
	p := pool.New(2)
	defer p.Close()
	for _, path := range isa.Paths() {
		restore := isa.Override(path)
		for _, s := range [][3]int{{1, 1, 1}, {1, 64, 4}, {1, 65, 7}, {2, 200, 33}, {3, 130, 64}, {5, 64, 129}, {7, 100, 40}, {13, 257, 300}, {4, 3, 5}, {6, 128, 0},
			{16, 15, 65}, {17, 70, 64}, {20, 20, 20}, {33, 81, 100}, {40, 178, 260}, {70, 113, 513}, {9, 47, 70}, {100, 49, 200}, {66, 40, 13000}} {
			m, n, k := s[0], s[1], s[2]
			for _, trans := range []bool{false, true} {
				r := rand.New(rand.NewPCG(uint64(m*n), uint64(k)))
				a, b := make([]int8, m*k), make([]int8, k*n)
				for i := range a {
					a[i] = []int8{-128, 127, int8(r.IntN(256) - 128)}[min(r.IntN(6), 2)]
				}
				for i := range b {
					b[i] = []int8{-128, 127, int8(r.IntN(256) - 128)}[min(r.IntN(6), 2)]
				}
				got := product(p, a, b, m, n, k, trans, trans)
				for i := range m {
					for j := range n {
						sum := int64(0)
						for l := range k {
							x, y := i*k+l, l*n+j
							if trans {
								x, y = l*m+i, j*k+l
							}
							sum += int64(a[x]) * int64(b[y])
						}
						require.Equal(t, int32(sum), got[i*n+j], fmt.Sprint(path, s, trans, " at ", i, " ", j))
					}
				}
			}
		}
		restore()
	}
}

// TestSumsOfRows sums rows that are too long for 16-bit sums, also of the largest and the smallest numbers.
func TestSumsOfRows(t *testing.T) {
	p := pool.New(1)
	defer p.Close()
	r := rand.New(rand.NewPCG(3, 4))
	for _, k := range []int{7, 8, 2048, 2049, 5003} {
		for _, same := range []int{-128, 127, 1000} {
			a, b := make([]int8, k), make([]int8, k)
			sum := int32(0)
			for i := range a {
				if b[i], a[i] = 1, int8(same); same > 127 {
					a[i] = int8(r.IntN(256) - 128)
				}
				sum += int32(a[i])
			}
			require.Equal(t, sum, product(p, a, b, 1, 1, k, false, false)[0], "%d of %d", same, k)
		}
	}
}

// BenchmarkNarrow is of few columns, where widening the rows takes as long as the products.
func BenchmarkNarrow(b *testing.B) {
	p := pool.New(1)
	defer p.Close()
	const m, n = 376, 32
	for _, k := range []int{64, 159, 160, 1024} {
		b.Run(fmt.Sprint(m, "x", n, "x", k), func(b *testing.B) {
			packed := make([]byte, quant.PackedSize(k, n))
			args, x, c, s := &quant.Args{}, make([]int8, m*k), make([]int32, m*n), make([]byte, quant.ScratchSize(m, k))
			b.SetBytes(int64(m * n * k))
			for b.Loop() {
				*args = quant.Args{M: m, N: n, K: k, A: x, RowStride: k, ColStride: 1, B: packed, C: c, LDC: n, Scratch: s}
				quant.Run(p, args)
			}
		})
	}
}

func BenchmarkRow(b *testing.B) {
	p := pool.New(1)
	defer p.Close()
	for _, shape := range [][2]int{{1, 4096}, {1, 1024}, {1, 512}, {64, 4096}} {
		m, n, k := shape[0], shape[1], shape[1]
		b.Run(fmt.Sprint(m, "x", n), func(b *testing.B) {
			packed := make([]byte, quant.PackedSize(k, n))
			quant.Pack(p, packed, make([]int8, k*n), k, n, n, 1)
			args, x, c, s := &quant.Args{}, make([]int8, m*k), make([]int32, m*n), make([]byte, quant.ScratchSize(m, k))
			b.SetBytes(int64(k * n))
			for b.Loop() {
				*args = quant.Args{M: m, N: n, K: k, A: x, RowStride: k, ColStride: 1, B: packed, C: c, LDC: n, Scratch: s}
				quant.Run(p, args)
			}
		})
	}
}
