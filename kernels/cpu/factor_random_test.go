package cpu

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gokeras/gokeras/kernels/ir"
)

var (
	firstFactor = flag.Uint64("factors-first", 0, "the first seed of TestRandomFactors")
	manyFactors = flag.Uint64("factors", 24, "how many matrices TestRandomFactors draws")
)

// TestRandomFactors draws matrices of any size and of kinds that make factorizations fail: rank-deficient, with equal
// or close singular values, graded, constant, nearly singular, permuted, zero. The factors have the right form and
// product.
func TestRandomFactors(t *testing.T) {
	for seed := *firstFactor; seed < *firstFactor+*manyFactors; seed++ {
		r := rand.New(rand.NewPCG(seed, 2911))
		n := 1 + r.IntN([]int{6, 40, 90, 240}[r.IntN(4)])
		m := n + r.IntN([]int{1, 30, 300}[r.IntN(3)])
		d, tolerance := ir.Float64, 1e-13
		if seed%2 == 0 {
			d, tolerance = ir.Float32, 4e-6
		}
		kind := factoredKinds[r.IntN(len(factoredKinds))]
		a := asSingle(kind.draw(r, m, n))
		t.Run(fmt.Sprintf("%d %s %v %d x %d", seed, kind.name, d, m, n), func(t *testing.T) {
			for _, wide := range []bool{false, true} {
				requireLU(t, d, tolerance*4, a, wide)
				requireQR(t, d, tolerance, a, wide)
				requireSVD(t, d, tolerance, a, wide)
			}
			square := asSingle(a.transposed().times(a))
			requireEigh(t, d, tolerance, square)
			for i := range n {
				square.x[i*n+i] += 1 + mostOf(square)
			}
			square = asSingle(square)
			requireCholesky(t, d, tolerance, square)
			requireTriangles(t, d, tolerance, square)
		})
	}
}

// factoredKinds are kinds of matrices (m, n).
var factoredKinds = []struct {
	name string
	draw func(r *rand.Rand, m, n int) dense
}{
	{"normal", normal},
	{"of low rank", func(r *rand.Rand, m, n int) dense {
		k := r.IntN(n) + 1
		return normal(r, m, k).times(normal(r, k, n))
	}},
	{"graded", func(r *rand.Rand, m, n int) dense {
		step := 0.2 + r.Float64()
		a := normal(r, m, n)
		return newDense(m, n, func(i, j int) float64 { return a.at(i, j) * math.Pow(2, -step*float64(j+i%2)) })
	}},
	{"with equal values", func(r *rand.Rand, m, n int) dense {
		return newDense(m, n, func(i, j int) float64 {
			if i%n == j {
				return float64(1 + j%3)
			}
			return 0
		})
	}},
	{"with close values", func(r *rand.Rand, m, n int) dense {
		a := normal(r, m, n)
		return newDense(m, n, func(i, j int) float64 {
			if i == j {
				return 1
			}
			return a.at(i, j) * 1e-7
		})
	}},
	{"of one number", func(r *rand.Rand, m, n int) dense { return newDense(m, n, func(i, j int) float64 { return -2.5 }) }},
	{"of zeros", func(r *rand.Rand, m, n int) dense { return newDense(m, n, func(i, j int) float64 { return 0 }) }},
	{"of Hilbert", func(r *rand.Rand, m, n int) dense {
		return newDense(m, n, func(i, j int) float64 { return 1 / float64(i+j+1) })
	}},
	{"of whole numbers", func(r *rand.Rand, m, n int) dense {
		return newDense(m, n, func(i, j int) float64 { return float64(r.IntN(3) - 1) })
	}},
	{"permuted", func(r *rand.Rand, m, n int) dense {
		places := r.Perm(m)
		return newDense(m, n, func(i, j int) float64 { return map[bool]float64{true: 1}[places[i] == j] })
	}},
	{"with rows of zeros", func(r *rand.Rand, m, n int) dense {
		a, row := normal(r, m, n), r.IntN(m)
		return newDense(m, n, func(i, j int) float64 { return a.at(i, j) * min(math.Abs(float64(i-row)), 1) })
	}},
}

func normal(r *rand.Rand, m, n int) dense {
	return newDense(m, n, func(i, j int) float64 { return r.NormFloat64() })
}

// asSingle rounds numbers to float32.
func asSingle(a dense) dense {
	return newDense(a.m, a.n, func(i, j int) float64 { return float64(float32(a.at(i, j))) })
}

func mostOf(a dense) (size float64) {
	for _, v := range a.x {
		size = max(size, math.Abs(v))
	}
	return size
}
