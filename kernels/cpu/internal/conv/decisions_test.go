package conv

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestRemember: what a shape remembers changes no bit, run after run, and does not hold for a copy that was changed.
func TestRemember(t *testing.T) {
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		ways := map[[2]int]int{}
		for seed := range uint64(400) {
			rng := rand.New(rand.NewPCG(seed, 81))
			s := rememberedShape(rng)
			if s.sizeX() == 0 || s.sizeY() == 0 {
				continue
			}
			if seed%8 == 7 {
				checkRemembered[float64](t, p, rng, s, ways)
			} else {
				checkRemembered[float32](t, p, rng, s, ways)
			}
		}
		for o := range 3 {
			require.Greater(t, ways[[2]int{o, int(wayTiles)}], 30)
			require.Greater(t, ways[[2]int{o, int(wayAbreast)}]+ways[[2]int{o, int(waySplit)}]+ways[[2]int{o, int(wayRepeat)}], 5)
		}
	})
}

// TestEmptyBatch: nothing is computed from no images, whatever the way, and the gradient of the kernel is zero.
func TestEmptyBatch(t *testing.T) {
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		for seed := range uint64(600) {
			s := rememberedShape(rand.New(rand.NewPCG(seed, 82)))
			s.Batch = 0
			if seed%2 == 1 {
				s.Remember()
			}
			if seed%8 > 5 {
				checkEmptyBatch[float64](t, p, s)
			} else {
				checkEmptyBatch[float32](t, p, s)
			}
		}
	})
}

func checkEmptyBatch[T Float](t *testing.T, p *pool.Pool, s Shape) {
	t.Helper()
	kernel, bias := make([]T, s.sizeKernel()), make([]T, max(s.InChannels, s.OutChannels))
	Forward(p, &s, nil, kernel, bias[:s.OutChannels], true, nil, scratchFor[T](ForwardScratch[T](&s, p.Size())))
	Transposed(p, &s, nil, kernel, nil, false, nil, scratchFor[T](TransposedScratch[T](&s, p.Size(), false)))
	for i := range kernel {
		kernel[i] = 1
	}
	BackwardWeights(p, &s, nil, nil, kernel, scratchFor[T](BackwardWeightsScratch[T](&s, p.Size())))
	for _, v := range kernel {
		require.Zero(t, v, "%+v", s)
	}
}

// rememberedShape draws a shape that is computed in any way.
func rememberedShape(r *rand.Rand) Shape {
	one := func(n ...int) int { return n[r.IntN(len(n))] }
	axes := one(1, 2, 2, 3)
	s := Shape{Batch: one(1, 2, 3, 9, 18), In: [3]int{1, 1, 1}, Kernel: [3]int{1, 1, 1}, Strides: [3]int{1, 1, 1}, Dilation: [3]int{1, 1, 1}, Groups: 1}
	for i := 3 - axes; i < 3; i++ {
		s.In[i], s.Kernel[i], s.Strides[i], s.Dilation[i] = 1+r.IntN(12/axes+3), one(1, 2, 3, 3, 5), one(1, 1, 1, 2, 3), one(1, 1, 1, 2)
		s.PadLow[i], s.PadHigh[i] = r.IntN(3), r.IntN(3)
	}
	s.InChannels, s.OutChannels = one(1, 2, 3, 8, 16, 33), one(1, 2, 3, 8, 24, 65)
	switch r.IntN(4) {
	case 0:
		s.Groups, s.OutChannels = s.InChannels, s.InChannels*one(1, 1, 2, 3)
	case 1:
		s.Groups = one(2, 3, 8)
		s.InChannels, s.OutChannels = s.Groups*one(1, 2, 3, 7), s.Groups*one(1, 2, 5, 12)
	}
	return s
}

func checkRemembered[T Float](t *testing.T, p *pool.Pool, rng *rand.Rand, s Shape, ways map[[2]int]int) {
	t.Helper()
	x, y, kernel := random[T](rng, s.sizeX()), random[T](rng, s.sizeY()), random[T](rng, s.sizeKernel())
	in, out := random[T](rng, s.InChannels), random[T](rng, s.OutChannels)
	type results struct{ y, dx, dkernel []T }
	run := func(s *Shape, k int) results {
		r := results{make([]T, len(y)), make([]T, len(x)), make([]T, len(kernel))}
		var b, c []T
		if k%2 == 1 {
			b, c = out, in
		}
		Forward(p, s, x, kernel, b, k > 1, r.y, scratchFor[T](ForwardScratch[T](s, p.Size())))
		Transposed(p, s, y, kernel, c, k > 1, r.dx, scratchFor[T](TransposedScratch[T](s, p.Size(), c != nil)))
		BackwardWeights(p, s, x, y, r.dkernel, scratchFor[T](BackwardWeightsScratch[T](s, p.Size())))
		return r
	}
	kept := s
	kept.Remember()
	for k := range 4 {
		require.Equal(t, run(&s, k), run(&kept, k), "%+v, run %d", s, k)
	}
	for o := range kept.known.decisions {
		ways[[2]int{o, int(kept.known.decisions[o][typeOf[T]()].Load().way)}]++
	}
	other, changed := s, kept
	if s.Batch == 1 {
		return
	}
	other.Batch, changed.Batch = s.Batch-1, s.Batch-1
	x, y = x[:other.sizeX()], y[:other.sizeY()]
	require.Equal(t, run(&other, 1), run(&changed, 1), "%+v, changed", other)
}
