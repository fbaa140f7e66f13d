package conv

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestBands computes shapes of few channels, and checks that many of them are computed in bands.
func TestBands(t *testing.T) {
	other := pool.New(1)
	defer other.Close()
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		r := rand.New(rand.NewPCG(33, 1))
		var taken [2]int
		for i := range 150 {
			s := fewChannels(r)
			var local [2]decisions
			for o := range taken {
				if decisionsOf[float32](&s, operation(o), &local[o]).way == wayBands {
					taken[o]++
				}
			}
			check[float32](t, p, &s, uint64(i))
			check[float64](t, p, &s, uint64(i))
			checkImagesAlone(t, p, r, &s)
			checkPlan[float32](t, p, r, &s)
			checkPanel(t, p, other, r, &s)
			checkBandsData(t, p, other, r, &s)
		}
		if micro.PadColumns[float32](1) > 1 {
			assert.Greater(t, min(taken[0], taken[1]), 20)
		}
	})
}

// fewChannels draws a shape.
func fewChannels(r *rand.Rand) Shape {
	s := Shape{Batch: 1 + r.IntN(40), InChannels: 1 + r.IntN(6), OutChannels: 1 + r.IntN(6), Groups: 1}
	axes, size := 1+r.IntN(3), 0
	for i := range 3 {
		s.In[i], s.Kernel[i], s.Strides[i], s.Dilation[i] = 1, 1, 1, 1
		if i < 3-axes {
			continue
		}
		if size == 0 || r.IntN(4) == 0 {
			size = 2 + r.IntN([]int{0, 70, 14, 6}[axes])
		}
		s.In[i], s.Kernel[i], s.Strides[i] = size, 1+r.IntN(5), 1+r.IntN(4)
		if s.Strides[i] == 1 && r.IntN(3) == 0 {
			s.Dilation[i] = 1 + r.IntN(3)
		}
		if reach := (s.Kernel[i] - 1) * s.Dilation[i]; r.IntN(2) == 0 || reach >= size {
			s.PadLow[i], s.PadHigh[i] = reach/2, reach-reach/2
		}
	}
	return s
}

// checkPanel requires that a kernel that is packed gives the same bits, for any number of workers.
func checkPanel(t *testing.T, p, other *pool.Pool, r *rand.Rand, s *Shape) {
	t.Helper()
	var local decisions
	if decisionsOf[float32](s, ofForward, &local).way != wayBands {
		return
	}
	x, kernel, bias := random[float32](r, s.sizeX()), random[float32](r, s.sizeKernel()), random[float32](r, s.OutChannels)
	y, again := scratchFor[float32](s.sizeY()), scratchFor[float32](s.sizeY())
	Forward(p, s, x, kernel, bias, true, y, scratchFor[float32](ForwardScratch[float32](s, p.Size())))
	rows, columns, packs := KernelMatrix[float32](s)
	require.False(t, packs)
	panels := make([]float32, gemm.PackedSize[float32](columns, rows))
	gemm.PackB(nil, panels, kernel, rows, columns, columns, false)
	ForwardPacked(other, s, x, panels, bias, true, again, scratchFor[float32](ForwardScratch[float32](s, other.Size())))
	require.Equal(t, y, again, "%+v", *s)
}

// checkBandsData requires the same bits of an input gradient for any number of workers, and in a
// smaller batch.
func checkBandsData(t *testing.T, p, other *pool.Pool, r *rand.Rand, s *Shape) {
	t.Helper()
	dy, kernel := random[float32](r, s.sizeY()), random[float32](r, s.sizeKernel())
	dx, again := scratchFor[float32](s.sizeX()), scratchFor[float32](s.sizeX())
	BackwardData(p, s, dy, kernel, dx, scratchFor[float32](BackwardDataScratch[float32](s, p.Size())))
	BackwardData(other, s, dy, kernel, again, scratchFor[float32](BackwardDataScratch[float32](s, other.Size())))
	require.Equal(t, dx, again, "%+v", *s)
	some := *s
	if some.Batch /= 2; some.Batch < 8 { // see Shape.Part
		return
	}
	BackwardData(nil, &some, dy[:some.sizeY()], kernel, again[:some.sizeX()], scratchFor[float32](BackwardDataScratch[float32](&some, 1)))
	require.Equal(t, dx[:some.sizeX()], again[:some.sizeX()], "half of %+v", *s)
}
