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

// winograd computes a convolution with a transformed kernel.
func winograd(t *testing.T, p *pool.Pool, s *Shape, x, kernel, bias []float32, relu bool) []float32 {
	t.Helper()
	w := NewWinograd(s)
	require.NotNil(t, w, "%+v", *s)
	panels := scratchFor[float32](w.KernelSize())
	w.Transform(p, panels, kernel, scratchFor[float32](w.TransformScratch(p.Size())))
	x, _ = framed(x)
	y, intact := framed(scratchFor[float32](s.sizeY()))
	w.Forward(p, x, panels, bias, relu, y, scratchFor[float32](w.Scratch(p.Size())))
	require.True(t, intact(), "something beside the result of %+v is written", *s)
	return y
}

// requireNear requires results that differ from the expected ones, or from max(·, 0) of them, by at most a share of the
// largest; what is added to the message.
func requireNear(t *testing.T, want []float64, got []float32, relu bool, share float64, what ...any) {
	t.Helper()
	largest := 0.0
	for _, v := range want {
		largest = max(largest, math.Abs(v))
	}
	for i, v := range want {
		if relu {
			v = max(v, 0)
		}
		require.InDelta(t, v, got[i], share*largest, "element %d of %+v", i, what)
	}
}

// drawWinograd draws a shape: every sixth has tiles of 4x4, every sixth a kernel of one row, every sixth a large one.
func drawWinograd(rng *rand.Rand, i int) Shape {
	size, spread := 5, 9
	if i%6 == 5 {
		size, spread = 21, 4
	}
	s := Shape{Batch: 1 + rng.IntN(3), In: [3]int{1, size + rng.IntN(spread), size + rng.IntN(spread)}, InChannels: 32 + 8*rng.IntN(5), OutChannels: 32 + rng.IntN(40),
		Kernel: [3]int{1, 3, 3}, PadLow: [3]int{0, 1 + rng.IntN(2), rng.IntN(3)}, PadHigh: [3]int{0, 1 + rng.IntN(2), 2 + rng.IntN(2)}}
	if i%6 >= 3 {
		s.InChannels, s.OutChannels = 32+rng.IntN(45), 32+rng.IntN(45)
	}
	if i%4 == 3 { // one side is padded by more than a row, the other is cropped
		s.PadLow[2] = 20 + rng.IntN(3)
		if rng.IntN(2) == 0 {
			s.PadLow[2] *= -1
		}
		s.PadHigh[2] = 2 - s.PadLow[2]
	}
	switch i % 6 {
	case 3:
		taps, stride := 3+rng.IntN(6), 1
		if taps > 4 {
			stride += rng.IntN(2)
		}
		if i == 9 { // the group that reads furthest is not the last one
			taps, stride = 7, 2
		}
		s.In, s.Kernel, s.Strides, s.PadLow[1], s.PadHigh[1] = [3]int{1, 1 + rng.IntN(2), 40 + rng.IntN(300)}, [3]int{1, 1, taps}, [3]int{1, 1, stride}, 0, 0
	case 4:
		s.InChannels, s.OutChannels = 8+rng.IntN(16), 32+rng.IntN(12)
		s.Kernel, s.Strides = [3]int{1, 5 + rng.IntN(2), 5 + rng.IntN(2)}, [3]int{1, 1 + rng.IntN(2), 1 + rng.IntN(2)}
		s.In = [3]int{1, 16*s.Strides[1] + rng.IntN(4), 19*s.Strides[2] + rng.IntN(4)}
	}
	return s
}

// TestWinograd compares random shapes with the convolution itself, in float64: within 1e-5 of the largest result, and
// the same bits with any number of workers and images.
func TestWinograd(t *testing.T) {
	workers := pool.New(3)
	defer workers.Close()
	for _, path := range isa.Paths() {
		defer isa.Override(path)()
		rng := rand.New(rand.NewPCG(1, 2))
		for i := range 30 {
			s := drawWinograd(rng, i)
			x, kernel, bias := random[float32](rng, s.sizeX()), random[float32](rng, s.sizeKernel()), random[float32](rng, s.OutChannels)
			if rng.IntN(3) == 0 {
				bias = nil
			}
			relu := rng.IntN(2) == 0
			want := make([]float64, s.sizeY())
			for i := range want {
				if bias != nil {
					want[i] = float64(bias[i%s.OutChannels])
				}
			}
			visit(&s, func(i, k, o int) { want[o] += float64(x[i]) * float64(kernel[k]) })
			y := winograd(t, nil, &s, x, kernel, bias, relu)
			requireNear(t, want, y, relu, 1e-5, path, s)
			assert.Equal(t, y, winograd(t, workers, &s, x, kernel, bias, relu), "%v: workers change the result of %+v", path, s)
			one := s
			one.Batch = 1
			assert.Equal(t, y[:one.sizeY()], winograd(t, nil, &one, x, kernel, bias, relu), "%v: other images change the result of %+v", path, s)
		}
	}
}

// TestWinogradShapes: shapes for which the transformations do not pay or are impossible are computed otherwise.
func TestWinogradShapes(t *testing.T) {
	fits := Shape{Batch: 1, In: [3]int{1, 9, 9}, InChannels: 32, OutChannels: 32, Kernel: [3]int{1, 3, 3}}
	require.NotNil(t, NewWinograd(&fits))
	for _, change := range []func(s *Shape){
		func(s *Shape) { s.Batch = 0 }, func(s *Shape) { s.In[2] = 5 }, func(s *Shape) { s.In[0], s.Kernel[0] = 3, 3 }, func(s *Shape) { s.Kernel[1] = 5 },
		func(s *Shape) { s.Strides = [3]int{1, 2, 2} }, func(s *Shape) { s.Dilation = [3]int{1, 2, 2} }, func(s *Shape) { s.Groups = 2 },
		func(s *Shape) { s.InChannels = 16 }, func(s *Shape) { s.OutChannels = 31 }, func(s *Shape) { s.PadLow[0] = 1 },
		func(s *Shape) { s.In, s.OutChannels = [3]int{1, 24, 24}, 20 }, func(s *Shape) { s.In, s.InChannels = [3]int{1, 24, 24}, 15 },
		func(s *Shape) { s.In, s.InChannels = [3]int{1, 19, 19}, 24 },                                      // some tiles are cut off
		func(s *Shape) { s.In, s.Kernel = [3]int{1, 24, 24}, [3]int{1, 4, 4} },                             // saves only a factor of 1.7
		func(s *Shape) { s.In, s.Kernel, s.InChannels = [3]int{1, 28, 28}, [3]int{1, 5, 5}, 2000 },         // too large a kernel
		func(s *Shape) { s.In, s.Kernel, s.Strides = [3]int{1, 20, 20}, [3]int{1, 5, 5}, [3]int{1, 2, 2} }, // four tiles
	} {
		s := fits
		change(&s)
		assert.Nil(t, NewWinograd(&s), "%+v", s)
	}
	odd := Shape{Batch: 1, In: [3]int{1, 24, 24}, InChannels: 33, OutChannels: 76, Kernel: [3]int{1, 3, 3}}
	assert.NotNil(t, NewWinograd(&odd))
	for _, c := range []struct {
		height, width, in, out, taps, side int
	}{{24, 24, 16, 24, 3, 4}, {16, 16, 64, 48, 3, 4}, {15, 16, 64, 48, 3, 2}, {14, 14, 64, 48, 3, 2}, {7, 16, 112, 112, 7, 4}, {8, 12, 64, 64, 5, 4}, {20, 20, 224, 224, 5, 4}} {
		pad := [3]int{0, c.taps / 2, c.taps / 2}
		w := NewWinograd(&Shape{Batch: 1, In: [3]int{1, c.height, c.width}, InChannels: c.in, OutChannels: c.out, Kernel: [3]int{1, c.taps, c.taps}, PadLow: pad, PadHigh: pad})
		require.NotNil(t, w, "%+v", c)
		assert.Equal(t, c.side, w.side, "%+v", c)
	}
}

// BenchmarkWinograd runs 3x3 convolutions of networks: channels, pixels along an axis, images.
func BenchmarkWinograd(b *testing.B) {
	for _, c := range [][3]int{{100, 14, 1}, {40, 9, 8}, {64, 56, 1}, {128, 28, 1}, {256, 14, 1}, {512, 7, 1}, {64, 224, 1}, {96, 35, 1}, {192, 17, 1}, {512, 28, 1}, {64, 56, 8}, {128, 28, 8}, {256, 14, 8}, {76, 69, 8}, {136, 39, 8}, {44, 32, 8}, {33, 32, 8}} {
		s := Shape{Batch: c[2], In: [3]int{1, c[1], c[1]}, InChannels: c[0], OutChannels: c[0], Kernel: [3]int{1, 3, 3}, PadLow: [3]int{0, 1, 1}, PadHigh: [3]int{0, 1, 1}}
		x, kernel, y := make([]float32, s.sizeX()), make([]float32, s.sizeKernel()), make([]float32, s.sizeY())
		for _, side := range []int{2, 4} {
			w := NewWinograd(&s)
			w.prepare(side)
			panels, scratch := make([]float32, w.KernelSize()), make([]float32, w.Scratch(1)+w.TransformScratch(1))
			w.Transform(nil, panels, kernel, scratch)
			b.Run(fmt.Sprintf("%dx%dx%d/%dx%d", c[2], c[1], c[0], side, side), func(b *testing.B) {
				for b.Loop() {
					w.Forward(nil, x, panels, nil, false, y, scratch[:w.Scratch(1)])
				}
				b.ReportMetric(float64(s.FLOPs())*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
		direct := make([]float32, ForwardScratch[float32](&s, 1))
		b.Run(fmt.Sprintf("%dx%dx%d/direct", c[2], c[1], c[0]), func(b *testing.B) {
			for b.Loop() {
				Forward(nil, &s, x, kernel, nil, false, y, direct)
			}
			b.ReportMetric(float64(s.FLOPs())*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}
