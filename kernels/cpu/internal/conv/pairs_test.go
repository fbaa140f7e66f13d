package conv

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// halves returns random bfloat16 and the same in float32.
func halves(r *rand.Rand, n int) ([]uint16, []float32) {
	x, wide := make([]uint16, n), random[float32](r, n)
	vec.Float32ToBF16(x, wide)
	vec.BF16ToFloat32(wide, x)
	return x, wide
}

func pairsOf[T uint16 | uint32](x []T) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(&x[0])), len(x)*int(unsafe.Sizeof(x[0]))/4)
}

// interleaved pairs the numbers of each two of the parts that x consists of.
func interleaved(x []uint16, parts int) []float32 {
	size := len(x) / parts
	dst := make([]uint32, len(x)/2)
	vec.PairRows(dst, x, size, parts/2, size, size)
	return pairsOf(dst)
}

// waysOfGradients returns the shape of a kernel gradient with each arrangement of operands that it supports.
func waysOfGradients(s *Shape) []Shape {
	ways := []Shape{*s}
	if s.Turns() {
		turned := *s
		turned.Turned = true
		ways = append(ways, turned)
	}
	if s.Stacks() {
		stacked := *s
		stacked.Stacked = true
		ways = append(ways, stacked)
	}
	return ways
}

// arranged returns pairs of images of x and dy in the arrangement that the shape requires.
func arranged(s *Shape, x, dy []float32) (arrangedX, arrangedDY []float32) {
	switch {
	case s.Turned:
		to, row := make([]float32, len(x)), s.TurnedPixels()*s.InChannels
		for i := 0; i < len(x); i += row {
			micro.Transpose(to[i:i+row], x[i:], s.TurnedPixels(), s.InChannels, s.TurnedPixels(), s.InChannels)
		}
		return to, dy
	case s.Stacked:
		toX, toDY := make([]float32, len(x)), make([]float32, s.Batch*s.StackedGradient())
		micro.Transpose(toX, x, s.Batch, len(x)/s.Batch, s.Batch, len(x)/s.Batch)
		for i, size := 0, len(dy)/s.Batch; i < s.Batch; i++ {
			copy(toDY[i*s.StackedGradient():], dy[i*size:(i+1)*size])
		}
		return toX, toDY
	}
	return x, dy
}

// TestPairs compares convolutions in pairs, and both gradients, with those of the widened numbers.
func TestPairs(t *testing.T) {
	defer isa.Override(isa.Executable())()
	if !micro.Pairs() {
		t.Skip("pairs need AVX512-BF16, which this processor does not have; convolutions of widened numbers are tested elsewhere")
	}
	r := rand.New(rand.NewPCG(3, 4))
	for try := range 120 {
		s := Shape{Batch: 2 + 2*r.IntN([]int{2, 24}[try%2]), In: [3]int{1 + r.IntN(3)/2, 1 + r.IntN(11), 1 + r.IntN(20)}, InChannels: 2 + 2*r.IntN(20), OutChannels: 16 * (1 + r.IntN(4)),
			Kernel: [3]int{1, 1 + r.IntN(3), 1 + r.IntN(4)}, Strides: [3]int{1, 1 + r.IntN(3), 1 + r.IntN(3)}, Dilation: [3]int{1, 1 + r.IntN(2), 1 + r.IntN(4)/3},
			PadLow: [3]int{0, r.IntN(2), r.IntN(3)}, PadHigh: [3]int{0, r.IntN(2), r.IntN(3)}}
		if try%4 == 3 { // windows that cover images
			s.In, s.PadLow, s.PadHigh, s.Dilation = s.Kernel, [3]int{}, [3]int{}, [3]int{}
		}
		if try%8 == 1 { // or their width
			s.In[2], s.PadLow[2], s.PadHigh[2], s.Dilation[2] = s.Kernel[2], 0, 0, 1
		}
		if volume(s.Out()) == 0 {
			continue
		}
		x, wideX := halves(r, s.sizeX())
		k, wideK := halves(r, s.sizeKernel())
		dy, wideDY := halves(r, s.sizeY())
		same := func(what string, got, want []float32, sums int) {
			for i := range want {
				if math.Abs(float64(got[i]-want[i])) > 1e-5*math.Sqrt(float64(sums))*4 {
					t.Fatalf("try %d, %s of %+v: element %d is %v, want %v", try, what, s, i, got[i], want[i])
				}
			}
		}
		p := s
		p.Pairs = true
		p.InChannels /= 2
		got, want := make([]float32, s.sizeY()), make([]float32, s.sizeY())
		Forward(nil, &p, pairsOf(x), interleaved(k, volume(s.Kernel)*s.InChannels), nil, false, got, scratchFor[float32](ForwardScratch[float32](&p, 1)))
		Forward(nil, &s, wideX, wideK, nil, false, want, scratchFor[float32](ForwardScratch[float32](&s, 1)))
		same("result", got, want, volume(s.Kernel)*s.InChannels)

		p = s
		p.Pairs = true
		p.OutChannels /= 2
		got, want = make([]float32, s.sizeX()), make([]float32, s.sizeX())
		BackwardData(nil, &p, pairsOf(dy), pairsOf(k), got, scratchFor[float32](BackwardDataScratch[float32](&p, 1)))
		BackwardData(nil, &s, wideDY, wideK, want, scratchFor[float32](BackwardDataScratch[float32](&s, 1)))
		same("input gradient", got, want, volume(s.Kernel)*s.OutChannels)

		want = make([]float32, s.sizeKernel())
		BackwardWeights(nil, &s, wideX, wideDY, want, scratchFor[float32](BackwardWeightsScratch[float32](&s, 1)))
		p = s
		p.Pairs = true
		p.Batch /= 2
		for _, way := range waysOfGradients(&p) {
			got := make([]float32, s.sizeKernel())
			pairedX, pairedDY := arranged(&way, interleaved(x, s.Batch), interleaved(dy, s.Batch))
			BackwardWeights(nil, &way, pairedX, pairedDY, got, scratchFor[float32](BackwardWeightsScratch[float32](&way, 1)))
			same(fmt.Sprintf("kernel gradient, turned %v, stacked %v,", way.Turned, way.Stacked), got, want, s.Batch*volume(s.Out()))
		}
	}
	require.True(t, micro.Pairs())
}

// BenchmarkPairs runs convolutions of usual sizes, and their gradients, in pairs and in float32; their operands are in
// the second-level cache or beyond, as in a network.
func BenchmarkPairs(b *testing.B) {
	for _, l := range []struct{ batch, size, in, out, kernel, stride int }{
		{64, 32, 16, 16, 3, 1}, {64, 32, 16, 32, 3, 2}, {64, 16, 32, 32, 3, 1}, {64, 16, 32, 64, 3, 2}, {64, 8, 64, 64, 3, 1}, {64, 32, 16, 32, 1, 2},
		{8, 56, 64, 64, 3, 1}, {8, 28, 128, 128, 3, 1}, {8, 14, 256, 256, 3, 1}, {8, 7, 512, 512, 3, 1}, {8, 14, 256, 1024, 1, 1}, {8, 56, 64, 256, 1, 1},
	} {
		s := same(l.batch, l.size, l.in, l.out, l.kernel, l.stride)
		for _, pairs := range []bool{false, true} {
			if pairs && !micro.Pairs() {
				continue
			}
			of := func(change func(s *Shape)) *Shape {
				p := s
				if p.Pairs = pairs; pairs {
					change(&p)
				}
				return &p
			}
			perWord := 1
			if pairs {
				perWord = 2
			}
			forward, data, weights := of(func(s *Shape) { s.InChannels /= 2 }), of(func(s *Shape) { s.OutChannels /= 2 }), of(func(s *Shape) {
				if s.Batch /= 2; s.Stacks() {
					s.Batch, s.Stacked = min(s.Batch, MatrixRows), true
				}
				s.Turned = !s.Stacked && s.Turns()
			})
			n := max(ForwardScratch[float32](forward, 1), BackwardDataScratch[float32](data, 1), BackwardWeightsScratch[float32](weights, 1))
			x, k, y, scratch := make([]float32, s.sizeX()), make([]float32, s.sizeKernel()), make([]float32, s.sizeY()+MatrixRows*stackedGap), make([]float32, n)
			for _, op := range []struct {
				name string
				run  func()
			}{
				{"forward", func() { Forward(nil, forward, x, k, nil, false, y, scratch) }},
				{"data", func() { BackwardData(nil, data, y, k, x, scratch) }},
				{"weights", func() {
					for images := 0; images < s.Batch; images += weights.Batch * perWord {
						BackwardWeights(nil, weights, x, y, k, scratch)
					}
				}},
			} {
				b.Run(fmt.Sprintf("%dx%dx%d,%d,%dx%d,s%d/%s/pairs=%v", l.batch, l.size, l.in, l.out, l.kernel, l.kernel, l.stride, op.name, pairs), func(b *testing.B) {
					for b.Loop() {
						op.run()
					}
					b.ReportMetric(float64(s.FLOPs())*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
				})
			}
		}
	}
}
