package conv

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// drawWinogradWeights draws a convolution whose kernel gradient is computed by Winograd's algorithm; every fourth has
// rows of tiles that are cut into pieces.
func drawWinogradWeights(rng *rand.Rand, i int) Shape {
	for {
		s := Shape{Batch: 1 + rng.IntN(3), In: [3]int{1, 2 + rng.IntN(11), 2 + rng.IntN(11)}, InChannels: 32 + rng.IntN(40), OutChannels: 32 + rng.IntN(40),
			Kernel: [3]int{1, 3, 3}, PadLow: [3]int{0, rng.IntN(3), rng.IntN(3)}, PadHigh: [3]int{0, rng.IntN(3), rng.IntN(3)}}
		switch i % 4 {
		case 1:
			s.Batch, s.In[1], s.In[2] = 1, 2+rng.IntN(2), 190+rng.IntN(220)
		case 3:
			s.InChannels, s.OutChannels = 16+8*rng.IntN(2), 16+16*rng.IntN(2)
		case 2: // several blocks of channels
			s.InChannels, s.OutChannels = 32+rng.IntN(110), 32+rng.IntN(110)
		}
		if n := s.checked(ofWeights); hasWinogradWeights[float32](&n) {
			return s
		}
	}
}

// TestWinogradWeights compares kernel gradients with sums in float64, for numbers of any magnitude: they are within
// 2e-6 of the largest, like those of other algorithms. One worker and three compute the same bits.
func TestWinogradWeights(t *testing.T) {
	workers := pool.New(3)
	defer workers.Close()
	for _, path := range isa.Paths() {
		defer isa.Override(path)()
		rng := rand.New(rand.NewPCG(13, 14))
		for i := range 8 {
			s := drawWinogradWeights(rng, i)
			x, dy := random[float32](rng, s.sizeX()), random[float32](rng, s.sizeY())
			if i%3 == 2 { // nearly as large and as small as sums may be: 16 pixels of a tile are added up
				scale(x, 1e36)
				scale(dy, 1e-36)
			}
			want := make([]float64, s.sizeKernel())
			visit(&s, func(i, k, o int) { want[k] += float64(x[i]) * float64(dy[o]) })
			x, _ = framed(x)
			dy, _ = framed(dy)
			one, intact := framed(make([]float32, len(want)))
			BackwardWeights(nil, &s, x, dy, one, scratchFor[float32](BackwardWeightsScratch[float32](&s, 1)))
			requireNear(t, want, one, false, 2e-6, path, s)
			require.True(t, intact(), "something beside the gradient of %+v is written", s)
			three := make([]float32, len(want))
			BackwardWeights(workers, &s, x, dy, three, scratchFor[float32](BackwardWeightsScratch[float32](&s, workers.Size())))
			require.Equal(t, one, three, "%v: workers change the result of %+v", path, s)
		}
	}
}

func scale(x []float32, by float32) {
	for i := range x {
		x[i] *= by
	}
}

// TestWinogradWeightsRounding: the error of sums over many tiles is at most twice that of direct sums.
func TestWinogradWeightsRounding(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	s := Shape{Batch: 8, In: [3]int{1, 32, 32}, InChannels: 32, OutChannels: 32, Kernel: [3]int{1, 3, 3}, PadLow: [3]int{0, 1, 1}, PadHigh: [3]int{0, 1, 1}}
	n := s.checked(ofWeights)
	x, dy := random[float32](rng, n.sizeX()), random[float32](rng, n.sizeY())
	want := make([]float64, n.sizeKernel())
	visit(&s, func(i, k, o int) { want[k] += float64(x[i]) * float64(dy[o]) })
	tiles, taps := make([]float32, len(want)), make([]float32, len(want))
	backwardWeightsWinograd(nil, &n, x, dy, tiles, scratchFor[float32](winogradWeightsScratch(&n, 1)))
	backwardWeightsByTaps(nil, n, x, dy, taps, scratchFor[float32](byTapsScratch[float32](&n, 1)))
	off := func(got []float32) (sum float64) {
		for i, v := range want {
			sum += (v - float64(got[i])) * (v - float64(got[i]))
		}
		return math.Sqrt(sum)
	}
	t.Logf("%g, by taps %g", off(tiles), off(taps))
	assert.Less(t, off(tiles), 2*off(taps))
}

// TestWinogradWeightsNotFinite: a number that is not finite, in the input or the gradient, makes all sums that use it
// not finite, and does not affect the others.
func TestWinogradWeightsNotFinite(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 18))
	s := Shape{Batch: 2, In: [3]int{1, 9, 9}, InChannels: 40, OutChannels: 76, Kernel: [3]int{1, 3, 3}, PadLow: [3]int{0, 1, 1}, PadHigh: [3]int{0, 1, 1}}
	n := s.checked(ofWeights)
	for _, bad := range []float64{math.Inf(1), math.Inf(-1), math.NaN()} {
		for _, ofX := range []bool{false, true} {
			x, dy, kernel := random[float32](rng, n.sizeX()), random[float32](rng, n.sizeY()), make([]float32, n.sizeKernel())
			if ofX {
				x[40*40+3] = float32(bad)
			} else {
				dy[40*76+5] = float32(bad)
			}
			BackwardWeights(nil, &s, x, dy, kernel, scratchFor[float32](BackwardWeightsScratch[float32](&s, 1)))
			for i, v := range kernel {
				sees := i%s.OutChannels == 5
				if ofX {
					sees = i/s.OutChannels%s.InChannels == 3
				}
				finite := v == v && !math.IsInf(float64(v), 0)
				require.Equal(t, !sees, finite, "element %d: %v", i, v)
			}
		}
	}
}

// TestWinogradWeightsShapes: shapes for which the transformations do not pay or are impossible are computed otherwise.
func TestWinogradWeightsShapes(t *testing.T) {
	fits := Shape{Batch: 2, In: [3]int{1, 8, 8}, InChannels: 32, OutChannels: 48, Kernel: [3]int{1, 3, 3}, PadLow: [3]int{0, 1, 1}, PadHigh: [3]int{0, 1, 1}}
	n := fits.checked(ofWeights)
	require.True(t, hasWinogradWeights[float32](&n))
	require.False(t, hasWinogradWeights[float64](&n))
	for _, change := range []func(s *Shape){
		func(s *Shape) { s.Batch = 0 }, func(s *Shape) { s.In[1], s.In[2] = 5, 5 }, func(s *Shape) { s.In[0], s.Kernel[0] = 3, 3 }, func(s *Shape) { s.Kernel[1] = 5 },
		func(s *Shape) { s.Strides = [3]int{1, 2, 2} }, func(s *Shape) { s.Dilation = [3]int{1, 2, 2} }, func(s *Shape) { s.Groups = 2 }, func(s *Shape) { s.InChannels = 17 }, func(s *Shape) { s.InChannels = 8 },
		func(s *Shape) { s.OutChannels = 23 }, func(s *Shape) { s.PadLow[0] = 1 }, func(s *Shape) { s.PadLow[1] = 3 }, func(s *Shape) { s.PadHigh[2] = -1 }, func(s *Shape) { s.Pairs = true },
	} {
		s := fits
		change(&s)
		n := s.checked(ofWeights)
		assert.False(t, hasWinogradWeights[float32](&n), "%+v", s)
	}
}

// BenchmarkWinogradWeights runs kernel gradients in comparison with direct computation: channels, pixels along an axis,
// images.
func BenchmarkWinogradWeights(b *testing.B) {
	for _, c := range [][3]int{{16, 32, 32}, {24, 16, 32}, {32, 16, 32}, {64, 8, 32}, {64, 56, 16}, {128, 28, 32}, {256, 14, 32}, {512, 7, 32}, {512, 14, 8}, {32, 8, 1}, {32, 4, 4}, {64, 5, 4}, {33, 24, 8}, {40, 24, 8}, {100, 24, 8}, {256, 7, 1}, {512, 4, 4}, {64, 224, 1}} {
		s := Shape{Batch: c[2], In: [3]int{1, c[1], c[1]}, InChannels: c[0], OutChannels: c[0], Kernel: [3]int{1, 3, 3}, PadLow: [3]int{0, 1, 1}, PadHigh: [3]int{0, 1, 1}}
		n := s.checked(ofWeights)
		x, kernel, y := make([]float32, s.sizeX()), make([]float32, s.sizeKernel()), make([]float32, s.sizeY())
		scratch := make([]float32, max(winogradWeightsScratch(&n, 1), byTapsScratch[float32](&n, 1)))
		for name, run := range map[string]func(){
			"tiles": func() { backwardWeightsWinograd(nil, &n, x, y, kernel, scratch) },
			"taps":  func() { backwardWeightsByTaps(nil, n, x, y, kernel, scratch) },
		} {
			b.Run(fmt.Sprintf("%dx%dx%d/%s", c[2], c[1], c[0], name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					run()
				}
				b.ReportMetric(float64(s.FLOPs())*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}
