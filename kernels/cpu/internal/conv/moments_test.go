package conv

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// momentShapes covers one block and several blocks in an image, images that are cut unevenly, taps in the padding,
// strides, groups and three axes.
var momentShapes = []Shape{
	{Batch: 2, In: [3]int{1, 9, 7}, InChannels: 3, OutChannels: 5, Kernel: [3]int{1, 3, 3}, PadLow: [3]int{0, 1, 1}, PadHigh: [3]int{0, 1, 1}},
	{Batch: 1, In: [3]int{1, 61, 64}, InChannels: 16, OutChannels: 24, Kernel: [3]int{1, 3, 3}, PadLow: [3]int{0, 1, 1}, PadHigh: [3]int{0, 1, 1}},
	{Batch: 1, In: [3]int{1, 103, 128}, InChannels: 8, OutChannels: 16, Kernel: [3]int{1, 3, 3}, Strides: [3]int{1, 2, 1}},
	{Batch: 3, In: [3]int{4, 9, 6}, InChannels: 4, OutChannels: 8, Kernel: [3]int{2, 3, 3}, PadLow: [3]int{1, 1, 1}, PadHigh: [3]int{1, 1, 1}},
	{Batch: 2, In: [3]int{1, 30, 30}, InChannels: 6, OutChannels: 6, Groups: 6, Kernel: [3]int{1, 3, 3}},
	{Batch: 2, In: [3]int{1, 30, 30}, InChannels: 32, OutChannels: 32, Groups: 32, Kernel: [3]int{1, 3, 3}},
	{Batch: 2, In: [3]int{1, 20, 20}, InChannels: 20, OutChannels: 36, Groups: 2, Kernel: [3]int{1, 3, 3}},
	{Batch: 2, In: [3]int{1, 40, 40}, InChannels: 20, OutChannels: 70, Kernel: [3]int{1, 1, 1}},
	{Batch: 2, In: [3]int{1, 1, 59}, InChannels: 41, OutChannels: 17, Kernel: [3]int{1, 1, 4}, PadLow: [3]int{0, 0, 3}, PadHigh: [3]int{0, 0, 1}}, // which Forward pads
	{Batch: 1, In: [3]int{1, 12, 13}, InChannels: 40, OutChannels: 200, Kernel: [3]int{1, 3, 3}},                                                  // its weights do not stay in the cache
}

// TestMoments: the result is that of Forward. The moments are those of float64 sums, even if means are far from 0.
// Neither depends on the number of workers.
func TestMoments(t *testing.T) {
	single := pool.New(1)
	defer single.Close()
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		for i := range momentShapes {
			checkForwardMoments[float32](t, p, single, &momentShapes[i])
			checkForwardMoments[float64](t, p, single, &momentShapes[i])
		}
	})
	require.Nil(t, NewMoments[float32](&Shape{Batch: 0, In: [3]int{1, 5, 5}, InChannels: 1, OutChannels: 2, Kernel: [3]int{1, 3, 3}}))
	require.Nil(t, NewMoments[float32](&Shape{Batch: 2, In: [3]int{1, 20, 20}, InChannels: 8, OutChannels: 36, Groups: 2, Kernel: [3]int{1, 3, 3}}))
	require.Nil(t, NewMoments[float32](&Shape{Batch: 4, In: [3]int{1, 5, 5}, InChannels: 1000, OutChannels: 2, Kernel: [3]int{1, 1, 1}}))
}

func checkForwardMoments[T Float](t *testing.T, p, other *pool.Pool, s *Shape) {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, 8))
	x, kernel, bias := random[T](rng, s.sizeX()), random[T](rng, s.sizeKernel()), random[T](rng, s.OutChannels)
	for i := range bias {
		bias[i] += T(500 * (i % 3))
	}
	m := NewMoments[T](s)
	if n := s.checked(ofForward); framesForward[T](&n).on() {
		require.Nil(t, m)
		return
	}
	channels, want := s.OutChannels, make([]T, s.sizeY())
	Forward(p, s, x, kernel, bias, true, want, scratchFor[T](ForwardScratch[T](s, p.Size())))
	var results [2][]float64
	for i, p := range []*pool.Pool{p, other} {
		y := scratchFor[T](s.sizeY())
		results[i] = make([]float64, 2*channels*len(m.Rows()))
		m.Forward(p, x, kernel, bias, true, y, scratchFor[T](m.Scratch(p.Size())), results[i])
		if n := s.checked(ofForward); n.pointwise() || pads[T](&n) { // which Forward sums in another order
			for k := range y {
				require.InDelta(t, float64(want[k]), float64(y[k]), 100*epsilon[T]()*(1+math.Abs(float64(want[k]))))
			}
			copy(want, y)
		}
		require.Equal(t, want, y)
	}
	require.Equal(t, results[0], results[1])
	mean, squares, rows := make([]float64, channels), make([]float64, channels), 0
	for k, n := range m.Rows() {
		block := results[0][2*k*channels:]
		vec.MergeMoments(mean, squares, rows, block[:channels], block[channels:2*channels], n)
		rows += n
	}
	require.Equal(t, s.sizeY()/channels, rows)
	for c := range channels {
		about, sum, square := float64(want[c]), 0.0, 0.0
		for i := c; i < len(want); i += channels {
			sum += float64(want[i]) - about
		}
		exact := about + sum/float64(rows) // good to about 1e-11
		for i := c; i < len(want); i += channels {
			square += math.Pow(float64(want[i])-exact, 2)
		}
		if !(math.Abs(mean[c]-exact) <= (4*epsilon[T]()+0x1p-36)*(1+math.Abs(exact))) || !(math.Abs(squares[c]-square) <= (40*epsilon[T]()+0x1p-36)*(1+square)) {
			t.Fatalf("%+v, channel %d: mean %v and squares %v, want %v and %v", *s, c, mean[c], squares[c], exact, square)
		}
	}
}
