package conv

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// paddedShape draws a convolution of sequences, most of which are copied with their padding.
func paddedShape(r *rand.Rand) Shape {
	s := Shape{Batch: 1 + r.IntN(5), In: [3]int{1, 1, 5 + r.IntN(30)}, InChannels: 1 + r.IntN(40), OutChannels: 1 + r.IntN(100), Kernel: [3]int{1, 1, 2 + r.IntN(6)}}
	s.Strides[2], s.Dilation[2] = 1+r.IntN(5)/4, 1+r.IntN(5)/4
	s.PadLow[2], s.PadHigh[2] = r.IntN(1+s.Kernel[2]), r.IntN(1+s.Kernel[2])
	return s
}

// TestPadded compares random convolutions of sequences with the definition, also with more images than are copied at a
// time. Each image has the same bits alone, in a plan, and with any number of workers.
func TestPadded(t *testing.T) {
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		r := rand.New(rand.NewPCG(61, 62))
		copied := 0
		for i := range 40 {
			s := paddedShape(r)
			if i == 19 {
				s = Shape{Batch: 3, In: [3]int{1, 1, 20}, InChannels: 14000, OutChannels: 1, Kernel: [3]int{1, 1, 7}, PadLow: [3]int{0, 0, 3}, PadHigh: [3]int{0, 0, 3}}
				n := s.normal()
				assert.Less(t, n.paddedImages(), s.Batch)
			}
			if i == 20 { // a product of the copies, which would need less memory than a plan packs the kernel in
				s = Shape{Batch: 1, In: [3]int{1, 1, 36}, InChannels: 7, OutChannels: 258, Kernel: [3]int{1, 1, 1}, PadHigh: [3]int{0, 0, 4}}
			}
			if n := s.normal(); pads[float32](&n) {
				copied++
			}
			check[float32](t, p, &s, uint64(i))
			if i != 19 {
				check[float64](t, p, &s, uint64(i))
				checkImagesAlone(t, p, r, &s)
				checkPlan[float32](t, p, r, &s)
			}
		}
		assert.Greater(t, copied, 12)
	})
}

// checkImagesAlone requires that an image has the same bits alone as in a batch, and with the kernel in panels.
func checkImagesAlone(t *testing.T, p *pool.Pool, r *rand.Rand, s *Shape) {
	t.Helper()
	x, kernel, bias := random[float32](r, s.sizeX()), random[float32](r, s.sizeKernel()), random[float32](r, s.OutChannels)
	y, again := scratchFor[float32](s.sizeY()), scratchFor[float32](s.sizeY())
	Forward(p, s, x, kernel, bias, true, y, scratchFor[float32](ForwardScratch[float32](s, p.Size())))
	one := *s
	one.Batch = 1
	for i := range s.Batch {
		Forward(nil, &one, x[i*one.sizeX():][:one.sizeX()], kernel, bias, true, again[i*one.sizeY():][:one.sizeY()], scratchFor[float32](ForwardScratch[float32](&one, 1)))
	}
	require.Equal(t, y, again, "%+v", *s)
	if rows, columns, packs := KernelMatrix[float32](s); packs {
		panels := make([]float32, gemm.PackedSize[float32](columns, rows))
		gemm.PackB(nil, panels, kernel, rows, columns, columns, false)
		ForwardPacked(p, s, x, panels, bias, true, again, scratchFor[float32](ForwardScratch[float32](s, p.Size())))
		require.Equal(t, y, again, "packed: %+v", *s)
	}
}
