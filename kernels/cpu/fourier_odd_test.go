package cpu

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
)

// TestOddLengths compares transforms whose last step has a larger prime, and others, with the sums of the definition,
// in lines side by side.
func TestOddLengths(t *testing.T) {
	odd := 0
	for _, n := range []int{5, 15, 25, 73, 100, 7 * 31, 255, 251, 17 * 17, 8 * 13} {
		odd += oddLength[float32](t, n, 0x1p-23)
		oddLength[float64](t, n, 0x1p-52)
	}
	if odd < 5 {
		t.Errorf("%d of the lengths have a step by sums and differences, want 5 at least", odd)
	}
}

// oddLength returns 1 if the transform of length n has an [oddStep].
func oddLength[T block.Float](t *testing.T, n int, unit float64) int {
	p := newFourierPlan[T](n, fewLines, longestInLanes[T]())
	b := p.buffersOf(make([]T, p.need()))
	rng := rand.New(rand.NewPCG(uint64(n), 1))
	x := make([]complex128, p.size())
	for i := range x {
		b.xre[i], b.xim[i] = T(rng.NormFloat64()), T(rng.NormFloat64())
		x[i] = complex(float64(b.xre[i]), float64(b.xim[i]))
	}
	b = p.run(b)
	for i := range x {
		k, lane, sum := i/p.lanes, i%p.lanes, complex128(0)
		for j := range n {
			sum += x[j*p.lanes+lane] * cmplx.Rect(1, -2*math.Pi*float64(j*k%n)/float64(n))
		}
		// The errors of n terms of size 1 grow as √n, with those of the factors.
		if got := complex(float64(b.xre[i]), float64(b.xim[i])); !(cmplx.Abs(got-sum) <= 8*unit*math.Sqrt(float64(n))*math.Log2(float64(n))) {
			t.Fatalf("length %d, %T: element %d of line %d is %v, want %v", n, b.xre[0], k, lane, got, sum)
		}
	}
	for _, s := range p.primes {
		if s != nil {
			return 1
		}
	}
	return 0
}
