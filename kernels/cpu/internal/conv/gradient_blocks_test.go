package conv

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestGradientBlocks compares kernel gradients that copy both operands in blocks with sums in float64: of several
// images in a block, of rows of one image, of parts of long rows, of volumes; with dilations, also by the stride, with
// windows smaller than the stride, with paddings, also negative ones. One worker and three compute the same bits.
func TestGradientBlocks(t *testing.T) {
	workers := pool.New(3)
	defer workers.Close()
	shapes := []struct {
		what  string
		holds func(g *gradientBlocks) bool
		s     Shape
	}{
		{"images", func(g *gradientBlocks) bool { return g.planes > 1 },
			Shape{Batch: 3, In: [3]int{1, 9, 8}, InChannels: 201, OutChannels: 150, Kernel: [3]int{1, 3, 3}, Strides: [3]int{1, 2, 2}, PadLow: [3]int{0, 1, 1}, PadHigh: [3]int{0, 0, 1}}},
		{"rows", func(g *gradientBlocks) bool { return g.planes == 1 && g.rows > 1 },
			Shape{Batch: 1, In: [3]int{1, 13, 49}, InChannels: 192, OutChannels: 200, Kernel: [3]int{1, 2, 3}, Strides: [3]int{1, 1, 3}, PadLow: [3]int{0, 1, 2}, PadHigh: [3]int{0, -1, -2}}},
		{"parts of rows", func(g *gradientBlocks) bool { return g.planes == 1 && g.rows == 1 && g.pixels < 200 },
			Shape{Batch: 1, In: [3]int{1, 1, 420}, InChannels: 260, OutChannels: 130, Kernel: [3]int{1, 1, 4}, Strides: [3]int{1, 1, 2}, Dilation: [3]int{1, 1, 3}, PadLow: [3]int{0, 0, 5}, PadHigh: [3]int{0, 0, 1}}},
		{"taps in one phase", func(g *gradientBlocks) bool { return g.phases == 1 && g.step == 1 },
			Shape{Batch: 3, In: [3]int{1, 12, 14}, InChannels: 196, OutChannels: 130, Kernel: [3]int{1, 2, 3}, Strides: [3]int{1, 2, 2}, Dilation: [3]int{1, 2, 2}, PadLow: [3]int{0, -1, 2}, PadHigh: [3]int{0, 1, 2}}},
		{"a window smaller than the stride", func(g *gradientBlocks) bool { return g.phases == 4 },
			Shape{Batch: 3, In: [3]int{1, 10, 24}, InChannels: 256, OutChannels: 260, Kernel: [3]int{1, 1, 3}, Strides: [3]int{1, 3, 4}, PadHigh: [3]int{0, 0, 1}}},
		{"volumes", func(g *gradientBlocks) bool { return g.planes > 2 },
			Shape{Batch: 2, In: [3]int{4, 6, 9}, InChannels: 193, OutChannels: 133, Kernel: [3]int{2, 3, 3}, Strides: [3]int{2, 1, 2}, PadLow: [3]int{1, 1, 1}, PadHigh: [3]int{0, 1, 1}}},
	}
	doubles := 0
	for _, c := range shapes {
		n := c.s.checked(ofWeights)
		g := gradientBlocksOf[float32](&n)
		require.Equal(t, wayTiles, wayWeights[float32](&n))
		require.True(t, g.planes > 0 && c.holds(&g), "%s: %+v", c.what, g)
		checkGradientBlocks[float32](t, &c.s, workers, c.what)
		if s := c.s; n.In[0] == 1 {
			s.InChannels += 128
			n = s.checked(ofWeights)
			if double := gradientBlocksOf[float64](&n); double.planes > 0 {
				doubles++
			}
			checkGradientBlocks[float64](t, &s, workers, c.what)
		}
	}
	require.Equal(t, 3, doubles)
}

func checkGradientBlocks[T Float](t *testing.T, s *Shape, workers *pool.Pool, what string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, 8))
	n := s.checked(ofWeights)
	x, _ := framed(random[T](rng, n.sizeX()))
	dy, _ := framed(random[T](rng, n.sizeY()))
	want := make([]float64, n.sizeKernel())
	visit(s, func(i, k, o int) { want[k] += float64(x[i]) * float64(dy[o]) })
	largest := 0.0
	for _, v := range want {
		largest = max(largest, math.Abs(v))
	}
	for _, path := range isa.Paths() {
		if path == isa.Portable && testing.Short() {
			continue // it takes seconds
		}
		restore := isa.Override(path)
		one, intact := framed(make([]T, len(want)))
		three := make([]T, len(want))
		BackwardWeights(nil, s, x, dy, one, scratchFor[T](BackwardWeightsScratch[T](s, 1)))
		BackwardWeights(workers, s, x, dy, three, scratchFor[T](BackwardWeightsScratch[T](s, workers.Size())))
		worst := 0.0
		for i, v := range want {
			worst = max(worst, math.Abs(v-float64(one[i])))
		}
		assert.LessOrEqual(t, worst, 170*epsilon[T]()*largest, "%s, %v", what, path)
		assert.True(t, intact(), "%s: something beside the gradient is written", what)
		assert.True(t, slices.Equal(one, three), "%s: workers change the result", what)
		restore()
	}
}

// TestGradientBlocksShapes: blocks are copied for strides and many channels whose copies are used often, but not for
// tiny images.
func TestGradientBlocksShapes(t *testing.T) {
	many := Shape{Batch: 1, In: [3]int{1, 16, 16}, InChannels: 192, OutChannels: 128, Kernel: [3]int{1, 4, 4}, Strides: [3]int{1, 2, 2}}
	n := many.checked(ofWeights)
	require.Positive(t, gradientBlocksOf[float32](&n).planes)
	assert.Zero(t, gradientBlocksOf[float64](&n).planes)
	n.InChannels = blockDouble
	assert.Positive(t, gradientBlocksOf[float64](&n).planes)
	n.In[0], n.Kernel[0] = 2, 2
	assert.Zero(t, gradientBlocksOf[float64](&n).planes)
	for _, change := range []func(s *Shape){
		func(s *Shape) { s.OutChannels = 95 }, func(s *Shape) { s.InChannels = 190 }, func(s *Shape) { s.Groups = 2 }, func(s *Shape) { s.Kernel[2] = 2 },
		func(s *Shape) { s.Strides = [3]int{1, 1, 1} }, func(s *Shape) { s.In = [3]int{1, 9, 9} },
	} {
		s := many
		change(&s)
		n := s.checked(ofWeights)
		assert.Zero(t, gradientBlocksOf[float32](&n).planes, "%+v", s)
	}
}
