package conv

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestPlanes compares random convolutions in groups of several inputs and few outputs with the definition, on one to
// three axes.
func TestPlanes(t *testing.T) {
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		r := rand.New(rand.NewPCG(4, 8))
		results, inputs, kernels, several := 0, 0, 0, 0
		for i := range 80 {
			groups := 2 + r.IntN(16)
			s := &Shape{Batch: r.IntN(5), In: [3]int{1, 1 + r.IntN(8), 1 + r.IntN(12)}, InChannels: groups * (2 + r.IntN(5)), OutChannels: groups * (1 + r.IntN(2)), Groups: groups,
				Kernel: [3]int{1, 1 + r.IntN(4), 2 + r.IntN(4)}, Strides: [3]int{1, 1 + r.IntN(2), 1 + r.IntN(3)}, Dilation: [3]int{1, 1, 1 + r.IntN(2)}}
			if i%2 == 0 {
				s.Strides = [3]int{1, 1, 1}
			}
			if i%4 == 0 { // groups of two inputs, with long windows
				s.InChannels, s.Kernel = 2*groups, [3]int{1, 3 + r.IntN(2), 4}
			}
			if r.IntN(3) == 0 {
				s.In[0], s.Kernel[0], s.Strides[0], s.Dilation[0] = 1+r.IntN(5), 1+r.IntN(3), 1+r.IntN(2), 1+r.IntN(2)
			}
			if i%20 == 19 { // more images than fit into planes at once
				s.Batch, s.In, s.Kernel, s.InChannels, s.OutChannels, s.Groups = 8, [3]int{1, 40, 40}, [3]int{1, 2, 4}, 96, 8, 8
			}
			for a := range 3 {
				s.PadLow[a], s.PadHigh[a] = r.IntN(3)-r.IntN(2), r.IntN(3)
			}
			n := s.normal()
			if planes[float32](&n) {
				results++
			}
			if planesData[float32](&n) {
				inputs++
			}
			if planesWeights[float32](&n) {
				kernels++
				if s.planesImages() < s.Batch {
					several++
				}
			}
			check[float32](t, p, s, uint64(i))
			check[float64](t, p, s, uint64(i))
		}
		require.Greater(t, min(results, inputs, kernels), 5)
		require.Positive(t, several)
	})
}

// TestPlanesAtEdges checks when planes are used: for rows with padding, whose channels fill the longest vectors; with
// shorter vectors there are none.
func TestPlanesAtEdges(t *testing.T) {
	forLevels(t, func(t *testing.T, _ *pool.Pool) {
		long := micro.PadColumns[float32](1) > 1
		for _, c := range []struct {
			in, out, groups, padding int
			want, many               bool // many inputs: planes are used unless taps become columns
		}{
			{4, 2, 8, 2, true, false}, {4, 2, 8, 0, false, false}, {4, 2, 7, 2, false, false}, {planesInputs, 2, 8, 2, true, false}, {6, 2, 11, 2, true, false},
			{7, 2, 11, 2, false, true}, {planesInputs + 1, 2, 16, 2, false, true}, {40, 2, 16, 2, false, true},
		} {
			s := Shape{Batch: 2, In: [3]int{1, 16, 16}, Kernel: [3]int{1, 5, 5}, Groups: c.groups, InChannels: c.in * c.groups, OutChannels: c.out * c.groups,
				PadLow: [3]int{0, c.padding, c.padding}, PadHigh: [3]int{0, c.padding, c.padding}}
			n := s.normal()
			require.Equal(t, long && (c.want || c.many && !spreads[float32](&n)), planes[float32](&n), "%+v", c)
			s.In = [3]int{1, 4, 4} // rows too short for taps to become columns
			n = s.normal()
			require.Equal(t, long && c.padding > 0 && c.out*c.groups >= planesFull, planes[float32](&n), "short rows, %+v", c)
		}
	})
}
