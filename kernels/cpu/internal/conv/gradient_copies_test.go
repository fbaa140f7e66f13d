package conv

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestGradientCopies compares kernel gradients that use copies with sums in float64, over random shapes, strides,
// dilations and paddings, also negative ones. One worker and three compute the same bits.
func TestGradientCopies(t *testing.T) {
	workers := pool.New(3)
	defer workers.Close()
	defer byRulesAVX2.Without()() // AVX2 copies nothing
	for _, path := range isa.Paths() {
		defer isa.Override(path)()
		rng := rand.New(rand.NewPCG(7, 8))
		for i := range 10 {
			checkGradientCopies[float32](t, rng, workers, 2e-5, i == 0)
			checkGradientCopies[float64](t, rng, workers, 1e-13, i == 1)
		}
	}
}

func checkGradientCopies[T Float](t *testing.T, rng *rand.Rand, workers *pool.Pool, tolerance float64, blocks bool) {
	t.Helper()
	between := func(low, high int) int { return low + rng.IntN(high-low+1) }
	s := Shape{Batch: between(1, 3), In: [3]int{between(2, 3), between(7, 13), between(7, 40)}, InChannels: between(10, 33), OutChannels: between(33, 70),
		Kernel: [3]int{between(1, 2), between(1, 3), between(2, 4)}, Strides: [3]int{1, between(1, 2), between(1, 2)}, Dilation: [3]int{1, between(1, 2), between(1, 2)},
		PadLow: [3]int{0, between(-1, 2), between(-1, 3)}, PadHigh: [3]int{0, between(-1, 2), between(-1, 3)}}
	n := s.checked(ofWeights)
	if blocks { // of rows, several in an image
		s.In, s.InChannels, s.Kernel, s.Strides = [3]int{1, 13, 40}, 20, [3]int{1, 3, 3}, [3]int{1, 1, 1}
		n = s.checked(ofWeights)
		require.Less(t, gradientCopiesOf[T](&n).rows, n.Out()[1]-1)
		require.Positive(t, gradientCopiesOf[T](&n).rows)
	}
	x, _ := framed(random[T](rng, n.sizeX()))
	dy, _ := framed(random[T](rng, n.sizeY()))
	want := make([]float64, n.sizeKernel())
	visit(&s, func(i, k, o int) { want[k] += float64(x[i]) * float64(dy[o]) })
	largest := 0.0
	for _, v := range want {
		largest = max(largest, math.Abs(v))
	}
	one, intact := framed(make([]T, len(want)))
	three := make([]T, len(want))
	BackwardWeights(nil, &s, x, dy, one, scratchFor[T](BackwardWeightsScratch[T](&s, 1)))
	BackwardWeights(workers, &s, x, dy, three, scratchFor[T](BackwardWeightsScratch[T](&s, workers.Size())))
	for i, v := range want {
		require.InDelta(t, v, float64(one[i]), tolerance*largest, "element %d of %+v", i, s)
	}
	assert.True(t, intact(), "something beside the gradient of %+v is written", s)
	assert.Equal(t, one, three, "workers change the result of %+v", s)
}

// TestGradientsOfLongRows compares kernel gradients over rows that are cut with the definition, with copies and
// without, on one axis and on two.
func TestGradientsOfLongRows(t *testing.T) {
	defer byRulesAVX2.Without()()
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		r := rand.New(rand.NewPCG(11, 12))
		copied := 0
		for i := range 8 {
			s := Shape{Batch: 1 + r.IntN(2), In: [3]int{1, 1, 260 + r.IntN(900)}, InChannels: 1 + r.IntN(30), OutChannels: 1 + r.IntN(12), Kernel: [3]int{1, 1, 2 + r.IntN(4)}}
			s.Strides[2], s.Dilation[2], s.PadLow[2], s.PadHigh[2] = 1+r.IntN(3), 1+r.IntN(3)/2, r.IntN(5)-1, r.IntN(5)-1
			if i%2 == 0 {
				s.InChannels, s.OutChannels = 30+r.IntN(12), 33+r.IntN(9)
			}
			if i%4 > 1 {
				s.In[1], s.Kernel[1], s.PadLow[1], s.InChannels = 1+r.IntN(4), 1+r.IntN(2), r.IntN(2), 1+s.InChannels/2
			}
			if n := s.checked(ofWeights); gradientCopiesOf[float32](&n).pixels < n.Out()[2] && gradientCopiesOf[float32](&n).rows > 0 {
				copied++
			}
			check[float32](t, p, &s, uint64(i))
			check[float64](t, p, &s, uint64(i))
		}
		require.Positive(t, copied)
	})
}

// TestGradientCopiesInfinite: an infinite dy at the upper edge does not affect the taps above it. At the left edge, the
// taps beside it become NaN, as in XLA, because zeros are multiplied by it. Taps that see it become infinite.
func TestGradientCopiesInfinite(t *testing.T) {
	defer byRulesAVX2.Without()()
	rng := rand.New(rand.NewPCG(9, 10))
	s := Shape{Batch: 2, In: [3]int{1, 9, 9}, InChannels: 40, OutChannels: 76, Kernel: [3]int{1, 3, 3}, PadLow: [3]int{0, 1, 1}, PadHigh: [3]int{0, 1, 1}}
	n := s.checked(ofWeights)
	require.Positive(t, gradientCopiesOf[float32](&n).rows)
	for _, left := range []bool{false, true} {
		x, dy, kernel := random[float32](rng, n.sizeX()), random[float32](rng, n.sizeY()), make([]float32, n.sizeKernel())
		at := 4 // of the pixels of the first image
		if left {
			at = 4 * 9
		}
		dy[at*s.OutChannels+1] = float32(math.Inf(1))
		backwardWeightsByTaps(nil, n, x, dy, kernel, scratchFor[float32](byTapsScratch[float32](&n, 1)))
		for i, v := range kernel {
			tap, channel := i/(s.InChannels*s.OutChannels), i%s.OutChannels
			beyond := tap < 3
			if left {
				beyond = tap%3 == 0
			}
			switch {
			case channel == 1 && !beyond:
				require.True(t, math.IsInf(float64(v), 0), "element %d: %v", i, v)
			case channel == 1 && left:
				require.True(t, v != v, "element %d: %v", i, v)
			default:
				require.False(t, v != v || math.IsInf(float64(v), 0), "element %d: %v", i, v)
			}
		}
	}
}

// TestGradientCopiesShapes: copies are made if vectors of dy straddle cache lines and many tiles read them, but not for
// small images, nor by AVX2.
func TestGradientCopiesShapes(t *testing.T) {
	rules := byRulesAVX2.Without()
	odd := Shape{Batch: 1, In: [3]int{1, 9, 9}, InChannels: 40, OutChannels: 76, Kernel: [3]int{1, 3, 3}}
	n := odd.checked(ofWeights)
	require.Positive(t, gradientCopiesOf[float32](&n).rows)
	for _, change := range []func(s *Shape){
		func(s *Shape) { s.OutChannels = 80 }, func(s *Shape) { s.OutChannels = 30 }, func(s *Shape) { s.InChannels = 4 }, func(s *Shape) { s.Groups = 4 },
		func(s *Shape) { s.Kernel = [3]int{1, 1, 1} }, func(s *Shape) { s.In = [3]int{1, 6, 6} },
	} {
		s := odd
		change(&s)
		n := s.checked(ofWeights)
		assert.Zero(t, gradientCopiesOf[float32](&n).rows, "%+v", s)
	}
	rules()
	assert.Equal(t, usesAVX2(), gradientCopiesOf[float32](&n).rows == 0) // but for rows and large windows
}
