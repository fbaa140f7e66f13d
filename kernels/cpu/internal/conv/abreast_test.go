package conv

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// drawAbreast draws a convolution of few channels on one to three axes.
func drawAbreast(r *rand.Rand) *Shape {
	s := &Shape{Batch: 8 + r.IntN(40), In: [3]int{1, 1 + r.IntN(9), 1 + r.IntN(12)}, InChannels: 1 + r.IntN(3), Kernel: [3]int{1, 1 + r.IntN(4), 1 + r.IntN(5)},
		Strides: [3]int{1, 1 + r.IntN(2), 1 + r.IntN(3)}, Dilation: [3]int{1, 1, 1 + r.IntN(2)}}
	if r.IntN(4) == 0 {
		s.In[0], s.Kernel[0], s.Strides[0], s.Dilation[0] = 1+r.IntN(4), 1+r.IntN(3), 1+r.IntN(2), 1+r.IntN(2)
	}
	if s.OutChannels, s.Groups = s.InChannels, s.InChannels; r.IntN(3) == 0 {
		s.OutChannels *= 2 + r.IntN(2)
	}
	for a := range 3 {
		s.PadLow[a], s.PadHigh[a] = r.IntN(3)-r.IntN(2), r.IntN(3)
	}
	return s
}

// TestAbreast compares random convolutions of few channels with the definition.
func TestAbreast(t *testing.T) {
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		r := rand.New(rand.NewPCG(29, 620))
		var done [3]int
		several, parts := 0, 0
		for i := range 200 {
			s := drawAbreast(r)
			if i%50 == 0 { // several blocks
				s.Batch, s.In, s.InChannels, s.OutChannels, s.Groups, s.Kernel = 70, [3]int{1, 30, 20}, 3, 3, 3, [3]int{1, 3, 3}
			}
			n := s.normal()
			for o := range done {
				if !abreast[float32](&n, operation(o)) {
					continue
				}
				done[o]++
				if plan := abreastPlanOf(&n, operation(o)); plan.blocks > 1 {
					several++
					parts = max(parts, plan.parts)
				}
			}
			check[float32](t, p, s, uint64(i))
		}
		if micro.PadColumns[float32](1) == 1 {
			require.Zero(t, done[0]+done[1]+done[2])
			return
		}
		require.Greater(t, min(done[0], done[1], done[2]), 20)
		require.Greater(t, several, 5)
		require.Greater(t, parts, 1)
	})
}

// TestAbreastBits: the bits of an image depend neither on the number of workers nor on that of images, from 8 images
// on.
func TestAbreastBits(t *testing.T) {
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		several := pool.New(3)
		defer several.Close()
		r := rand.New(rand.NewPCG(29, 621))
		for range 60 {
			s := drawAbreast(r)
			few := *s
			few.Batch = 8 + r.IntN(3)
			x, kernel, dy := random[float32](r, s.sizeX()), random[float32](r, s.sizeKernel()), random[float32](r, s.sizeY())
			y, dx, dkernel := results(p, s, x, kernel, dy)
			y3, dx3, dkernel3 := results(several, s, x, kernel, dy)
			require.Equal(t, y, y3, "%+v", *s)
			require.Equal(t, dx, dx3, "%+v", *s)
			require.Equal(t, dkernel, dkernel3, "%+v", *s)
			some := min(few.Batch, s.Batch)
			few.Batch = some
			yFew, dxFew, _ := results(p, &few, x[:few.sizeX()], kernel, dy[:few.sizeY()])
			require.Equal(t, y[:len(yFew)], yFew, "%+v", *s)
			require.Equal(t, dx[:len(dxFew)], dxFew, "%+v", *s)
		}
	})
}

// results computes all three operations.
func results(p *pool.Pool, s *Shape, x, kernel, dy []float32) (y, dx, dkernel []float32) {
	y, dx, dkernel = make([]float32, s.sizeY()), make([]float32, s.sizeX()), make([]float32, s.sizeKernel())
	Forward(p, s, x, kernel, nil, false, y, scratchFor[float32](ForwardScratch[float32](s, p.Size())))
	BackwardData(p, s, dy, kernel, dx, scratchFor[float32](BackwardDataScratch[float32](s, p.Size())))
	BackwardWeights(p, s, x, dy, dkernel, scratchFor[float32](BackwardWeightsScratch[float32](s, p.Size())))
	return y, dx, dkernel
}

// TestAbreastParts: in a part of a batch, an image gets the bits that it gets alone.
func TestAbreastParts(t *testing.T) {
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		r := rand.New(rand.NewPCG(29, 622))
		for range 40 {
			s := drawAbreast(r)
			s.Part = true
			one := *s
			one.Batch = 1
			x, kernel := random[float32](r, s.sizeX()), random[float32](r, s.sizeKernel())
			y := make([]float32, s.sizeY())
			Forward(p, s, x, kernel, nil, false, y, scratchFor[float32](ForwardScratch[float32](s, p.Size())))
			got, scratch := make([]float32, one.sizeY()), scratchFor[float32](ForwardScratch[float32](&one, p.Size()))
			for n := range s.Batch {
				Forward(p, &one, x[n*one.sizeX():], kernel, nil, false, got, scratch)
				require.Equal(t, y[n*len(got):(n+1)*len(got)], got, "%+v", *s)
			}
		}
	})
}
