package conv

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// smallResult computes a convolution, or an input gradient, with tiles of 2x2.
func smallResult(p *pool.Pool, w *Winograd, x, kernel []float32) []float32 {
	panels, y := scratchFor[float32](w.KernelSize()), scratchFor[float32](w.shape.sizeY())
	w.Transform(p, panels, kernel, scratchFor[float32](w.TransformScratch(p.Size())))
	w.Forward(p, x, panels, nil, false, y, scratchFor[float32](w.Scratch(p.Size())))
	return y
}

// TestSmallWinograd compares convolutions with tiles of 2x2, and their input gradients, with float64: within 2e-6 of
// the largest result, which is the rounding error of sums of so many products anyway, and with the same bits for any
// number of workers and images.
func TestSmallWinograd(t *testing.T) {
	workers := pool.New(3)
	defer workers.Close()
	for _, path := range isa.Paths() {
		defer isa.Override(path)()
		rng := rand.New(rand.NewPCG(3, 5))
		gradients := 0
		for i := range 12 {
			low := [2]int{rng.IntN(3), rng.IntN(3)}
			s := Shape{Batch: 4 + rng.IntN(3), In: [3]int{1, 10 + 2*rng.IntN(5), 10 + 2*rng.IntN(5)}, InChannels: 32 + rng.IntN(40), OutChannels: 32 + rng.IntN(40),
				Kernel: [3]int{1, 3, 3}, PadLow: [3]int{0, low[0], low[1]}, PadHigh: [3]int{0, rng.IntN(3), rng.IntN(3)}}
			if i%6 == 5 { // many channels: halves of panels are transformed
				s.Batch, s.OutChannels = 3, 129+rng.IntN(40)
			}
			x, kernel, dy := random[float32](rng, s.sizeX()), random[float32](rng, s.sizeKernel()), random[float32](rng, s.sizeY())
			want, gradient := make([]float64, s.sizeY()), make([]float64, s.sizeX())
			visit(&s, func(i, k, o int) {
				want[o] += float64(x[i]) * float64(kernel[k])
				gradient[i] += float64(dy[o]) * float64(kernel[k])
			})
			check := func(what string, w *Winograd, from, kernel []float32, want []float64) {
				got := smallResult(nil, w, from, kernel)
				requireNear(t, want, got, false, 2e-6, path, what, s)
				assert.Equal(t, got, smallResult(workers, w, from, kernel), "%v, %s: workers change the result of %+v", path, what, s)
				one := *w
				one.shape.Batch = 1
				assert.Equal(t, got[:len(got)/s.Batch], smallResult(nil, &one, from, kernel), "%v, %s: other images change the result of %+v", path, what, s)
			}
			w := NewSmallWinograd(&s, s.Batch)
			require.NotNil(t, w, "%+v", s)
			check("result", w, x, kernel, want)
			if w = NewWinogradInputGradient(&s, s.Batch); w != nil {
				check("gradient", w, dy, kernel, gradient)
				gradients++
			}
		}
		require.Greater(t, gradients, 8)
	}
}

// TestSmallWinogradShapes: shapes for which the transformations do not pay, or are impossible, are computed otherwise.
func TestSmallWinogradShapes(t *testing.T) {
	fits := Shape{Batch: 2, In: [3]int{1, 8, 8}, InChannels: 32, OutChannels: 48, Kernel: [3]int{1, 3, 3}, PadLow: [3]int{0, 1, 1}, PadHigh: [3]int{0, 1, 1}}
	require.NotNil(t, NewSmallWinograd(&fits, 4))
	require.NotNil(t, NewWinogradInputGradient(&fits, 4))
	for _, change := range []func(s *Shape){
		func(s *Shape) { s.Batch = 0 }, func(s *Shape) { s.In[2] = 4 }, func(s *Shape) { s.In[1], s.In[2] = 5, 5 },
		func(s *Shape) { s.In[0], s.Kernel[0] = 3, 3 }, func(s *Shape) { s.Kernel[1] = 5 }, func(s *Shape) { s.Strides = [3]int{1, 2, 2} }, func(s *Shape) { s.Dilation = [3]int{1, 2, 2} },
		func(s *Shape) { s.Groups = 2 }, func(s *Shape) { s.InChannels = 16 }, func(s *Shape) { s.OutChannels = 31 }, func(s *Shape) { s.PadLow[0] = 1 }, func(s *Shape) { s.PadLow[1] = 3 },
		func(s *Shape) { s.PadHigh[2] = -1 },
	} {
		s := fits
		change(&s)
		assert.Nil(t, NewSmallWinograd(&s, 4), "%+v", s)
		assert.Nil(t, NewWinogradInputGradient(&s, 4), "%+v", s)
	}
	assert.Nil(t, NewSmallWinograd(&fits, 3))
	seven := fits
	seven.In = [3]int{1, 7, 7}
	assert.NotNil(t, NewSmallWinograd(&seven, 4), "the last stage of networks for 224 pixels")
}

// BenchmarkSmallWinograd runs 3x3 convolutions of networks as in training, including the transformation of the kernel,
// and their input gradients, in comparison with direct computation: channels, pixels along an axis, images.
func BenchmarkSmallWinograd(b *testing.B) {
	for _, c := range [][3]int{{32, 16, 64}, {64, 56, 8}, {128, 28, 8}, {256, 14, 8}, {512, 14, 2}, {512, 28, 1}, {256, 8, 4}, {64, 8, 4}, {32, 8, 4}, {33, 24, 8}, {40, 24, 8}, {68, 24, 8}, {100, 24, 8}, {108, 24, 8}, {64, 9, 8}, {96, 11, 8}, {128, 13, 8}, {512, 8, 16}} {
		s := Shape{Batch: c[2], In: [3]int{1, c[1], c[1]}, InChannels: c[0], OutChannels: c[0], Kernel: [3]int{1, 3, 3}, PadLow: [3]int{0, 1, 1}, PadHigh: [3]int{0, 1, 1}}
		x, kernel, y := make([]float32, s.sizeX()), make([]float32, s.sizeKernel()), make([]float32, s.sizeY())
		w, g := NewSmallWinograd(&s, s.Batch), NewWinogradInputGradient(&s, s.Batch)
		panels := make([]float32, w.KernelSize())
		scratch := make([]float32, max(w.Scratch(1), w.TransformScratch(1), g.TransformScratch(1), ForwardScratch[float32](&s, 1), BackwardDataScratch[float32](&s, 1)))
		for _, op := range []struct {
			name string
			run  func()
		}{
			{"forward/tiles", func() { w.Transform(nil, panels, kernel, scratch); w.Forward(nil, x, panels, nil, false, y, scratch) }},
			{"forward/direct", func() { Forward(nil, &s, x, kernel, nil, false, y, scratch) }},
			{"gradient/tiles", func() {
				g.Transform(nil, panels, kernel, scratch)
				g.Forward(nil, y, panels, nil, false, x, scratch)
			}},
			{"gradient/direct", func() { BackwardData(nil, &s, y, kernel, x, scratch) }},
		} {
			b.Run(fmt.Sprintf("%dx%dx%d/%s", c[2], c[1], c[0], op.name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					op.run()
				}
				b.ReportMetric(float64(s.FLOPs())*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}

// BenchmarkWinogradTransform runs transformations of kernels as in each training step, with one worker and with two:
// input and output channels.
func BenchmarkWinogradTransform(b *testing.B) {
	for _, c := range []int{64, 256, 512} {
		s := Shape{Batch: 4, In: [3]int{1, 14, 14}, InChannels: c, OutChannels: c, Kernel: [3]int{1, 3, 3}, PadLow: [3]int{0, 1, 1}, PadHigh: [3]int{0, 1, 1}}
		for name, w := range map[string]*Winograd{"forward": NewSmallWinograd(&s, 4), "gradient": NewWinogradInputGradient(&s, 4)} {
			for _, workers := range []int{1, 2} {
				b.Run(fmt.Sprintf("%d/%s/%d", c, name, workers), func(b *testing.B) {
					p := pool.New(workers)
					defer p.Close()
					kernel, panels, scratch := make([]float32, s.sizeKernel()), make([]float32, w.KernelSize()), make([]float32, w.TransformScratch(workers))
					b.ReportAllocs()
					for b.Loop() {
						w.Transform(p, panels, kernel, scratch)
					}
				})
			}
		}
	}
}
