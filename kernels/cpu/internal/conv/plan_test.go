package conv

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// maxima are the 2x2 maxima of images [batch, h, w, c].
func maxima[T Float](y []T, batch, h, w, c int) []T {
	out := make([]T, 0, batch*(h/2)*(w/2)*c)
	for i := range batch * (h / 2) * (w / 2) * c {
		channel, column := i%c, i/c%(w/2)
		row, image := i/c/(w/2)%(h/2), i/c/(w/2)/(h/2)
		m := T(math.Inf(-1))
		for k := range 4 {
			m = max(m, y[((image*h+2*row+k/2)*w+2*column+k%2)*c+channel])
		}
		out = append(out, m)
	}
	return out
}

func randomShape(rng *rand.Rand) Shape {
	s := Shape{Batch: 1 + rng.IntN(3)/2, In: [3]int{1, 1 + rng.IntN(14), 1 + rng.IntN(30)}, Groups: 1 + rng.IntN(5)/4, Kernel: [3]int{1, 1 + rng.IntN(4), 1 + rng.IntN(4)},
		Strides: [3]int{1, 1 + rng.IntN(2), 1 + rng.IntN(2)}, Dilation: [3]int{1, 1 + rng.IntN(2), 1 + rng.IntN(4)/3}}
	if rng.IntN(3) == 0 {
		s.PadLow[1], s.PadHigh[1], s.PadLow[2], s.PadHigh[2] = rng.IntN(4)-1, rng.IntN(4)-1, rng.IntN(4)-1, rng.IntN(4)-1
	}
	s.InChannels, s.OutChannels = (1+rng.IntN(9))*s.Groups, []int{1 + rng.IntN(80), 32, 64}[rng.IntN(3)]*s.Groups
	return s
}

func checkPlan[T Float](t *testing.T, p *pool.Pool, rng *rand.Rand, s *Shape) (pooled, padded bool) {
	t.Helper()
	x, kernel := random[T](rng, s.sizeX()), random[T](rng, s.sizeKernel())
	bias, relu := random[T](rng, s.OutChannels), rng.IntN(2) == 0
	if rng.IntN(2) == 0 {
		bias = nil
	}
	want := make([]T, s.sizeY())
	Forward(p, s, x, kernel, bias, relu, want, scratchFor[T](ForwardScratch[T](s, p.Size())))

	plan := NewPlan[T](s)
	scratch := scratchFor[T](plan.Scratch())
	y := scratchFor[T](len(want))
	plan.Run(x, kernel, bias, relu, y, scratch, false)
	require.Equal(t, want, y, "%+v", *s)

	var panels []T
	if rows, columns, packs := KernelMatrix[T](s); packs {
		panels = make([]T, gemm.PackedSize[T](columns, rows))
		gemm.PackB(nil, panels, kernel, rows, columns, 0, false)
		y = scratchFor[T](len(want))
		plan.Run(x, panels, bias, relu, y, scratch, true)
		require.Equal(t, want, y, "in panels: %+v", *s)
		y = scratchFor[T](len(want))
		ForwardPacked(p, s, x, panels, bias, relu, y, scratchFor[T](ForwardScratch[T](s, p.Size())))
		require.Equal(t, want, y, "in panels: %+v", *s)
	}
	out := s.Out()
	best := maxima(want, s.Batch*out[0], out[1], out[2], s.OutChannels)
	got := scratchFor[T](len(best))
	if !plan.RunPooled(x, kernel, bias, relu, got, scratch, false) {
		return false, false
	}
	require.Equal(t, best, got, "pooled: %+v", *s)
	if panels != nil {
		got = scratchFor[T](len(best))
		require.True(t, plan.RunPooled(x, panels, bias, relu, got, scratch, true))
		require.Equal(t, best, got, "pooled, in panels: %+v", *s)
	}
	return true, plan.padded != nil
}

// TestPlan: a plan gives the bits of Forward, also with the kernel in panels; with pooling it gives their maxima.
func TestPlan(t *testing.T) {
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		plain, withPadding := 0, 0
		for seed := range uint64(300) {
			rng := rand.New(rand.NewPCG(seed, 7))
			s := randomShape(rng)
			switch pooled, padded := checkPlan[float32](t, p, rng, &s); {
			case padded:
				withPadding++
			case pooled:
				plain++
			}
			if seed%4 == 0 {
				pooled, _ := checkPlan[float64](t, p, rng, &s)
				require.False(t, pooled, "there is no such kernel")
			}
		}
		require.Equal(t, isa.Active().Has(isa.Vectors256), plain > 50 && withPadding > 10, "%d shapes pooled, %d with padding", plain, withPadding)
	})
}

// Taps that no output uses, since they always lie in the padding, above or below.
func TestPlanOfUnseenTaps(t *testing.T) {
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		for i, pad := range [][2]int{{2, 0}, {0, 2}} {
			s := Shape{Batch: 1, In: [3]int{1, 2, 9}, InChannels: 3, OutChannels: 32, Kernel: [3]int{1, 2, 2}, Dilation: [3]int{1, 2, 1}}
			s.PadLow[1], s.PadHigh[1] = pad[0], pad[1]
			require.Equal(t, [3]int{1, 2, 8}, s.Out())
			checkPlan[float32](t, p, rand.New(rand.NewPCG(uint64(i), 8)), &s)
		}
	})
}

// TestPlanAllocatesNothing: a run only uses the stack.
func TestPlanAllocatesNothing(t *testing.T) {
	forLevels(t, func(t *testing.T, _ *pool.Pool) {
		s := Shape{Batch: 1, In: [3]int{1, 14, 14}, InChannels: 2, OutChannels: 40, Kernel: [3]int{1, 3, 3}}
		plan := NewPlan[float32](&s)
		x, kernel := make([]float32, s.sizeX()), make([]float32, s.sizeKernel())
		y, scratch := make([]float32, s.sizeY()), make([]float32, plan.Scratch())
		require.Zero(t, testing.AllocsPerRun(100, func() {
			plan.Run(x, kernel, nil, true, y, scratch, false)
			plan.RunPooled(x, kernel, nil, true, y, scratch, false)
		}))
	})
}
