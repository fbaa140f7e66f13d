package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// oddStep is the last step of a transform whose length has an odd prime factor r. It needs only real matrices of a
// quarter of the size. With h = (r-1)/2, the sums a_j = x_j + x_{r-j} and the differences b_j = x_j - x_{r-j} for 1 ≤ j
// ≤ h,
//
//	y_k, y_{r-k} = x_0 + Σ_j cos(2πjk/r)·a_j ∓ i·Σ_j sin(2πjk/r)·b_j
//
// This takes r² multiplications of real numbers instead of 4r².
type oddStep[T block.Float] struct {
	half          int
	cosine, sines []T // cosine: (half+1)², for x_0 and the sums; sines: half², for the differences
}

// oddPays reports whether computing sums and differences of runs costs less than the multiplications that they save. It
// was measured on AVX-512: runs of 16 pay from primes of about 50 on, runs of 64 from 23 on, and long runs from 13 on.
func oddPays(r, run int) bool { return (r-12)*run >= 600 }

func newOddStep[T block.Float](r int) *oddStep[T] {
	s := &oddStep[T]{half: r / 2}
	for k := range s.half + 1 {
		for j := range s.half + 1 {
			sin, cos := ir.SincosTurn(j*k%r, r)
			s.cosine = append(s.cosine, T(cos))
			if j*k > 0 {
				s.sines = append(s.sines, T(sin))
			}
		}
	}
	return s
}

// run reads r runs of numbers from x and writes as many to y. It overwrites x with the products.
func (s *oddStep[T]) run(b fourierBuffers[T], run int) {
	h := s.half
	s.fold(b.yre, b.xre, run)
	s.fold(b.yim, b.xim, run)
	for _, part := range [...]struct{ to, from []T }{{b.xre, b.yre}, {b.xim, b.yim}} {
		sums := product[T]{m: h + 1, n: run, k: h + 1, a: s.cosine, lda: h + 1, b: part.from[:cap(part.from)], ldb: run, c: part.to, ldc: run}
		sums.runSmall()
		differences := product[T]{m: h, n: run, k: h, a: s.sines, lda: h, b: part.from[(h+1)*run : cap(part.from)], ldb: run, c: part.to[(h+1)*run:], ldc: run}
		differences.runSmall()
	}
	copy(b.yre[:run], b.xre)
	copy(b.yim[:run], b.xim)
	for k := 1; k <= h; k++ {
		at := func(x []T, k int) []T { return x[k*run : (k+1)*run] }
		vec.Add(at(b.yre, k), at(b.xre, k), at(b.xim, h+k))
		vec.Sub(at(b.yre, 2*h+1-k), at(b.xre, k), at(b.xim, h+k))
		vec.Sub(at(b.yim, k), at(b.xim, k), at(b.xre, h+k))
		vec.Add(at(b.yim, 2*h+1-k), at(b.xim, k), at(b.xre, h+k))
	}
}

// fold writes x_0, the sums and the differences.
func (s *oddStep[T]) fold(dst, x []T, run int) {
	h := s.half
	copy(dst[:run], x)
	for j := 1; j <= h; j++ {
		low, high := x[j*run:(j+1)*run], x[(2*h+1-j)*run:(2*h+2-j)*run]
		vec.Add(dst[j*run:(j+1)*run], low, high)
		vec.Sub(dst[(h+j)*run:(h+j+1)*run], low, high)
	}
}
