package conv

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestScaling draws convolutions of sequences and images, forward and gradients, and checks how much faster sixteen
// simulated workers are than one.
func TestScaling(t *testing.T) {
	const workers, least = 16, 3
	rng := rand.New(rand.NewPCG(73, 74))
	p := pool.Simulated(workers)
	draws := 12
	if testing.Short() {
		draws = 4
	}
	for i := range draws {
		s := drawScaled(rng, i%2 == 0)
		x, kernel, dy := random[float32](rng, s.sizeX()), random[float32](rng, s.sizeKernel()), random[float32](rng, s.sizeY())
		y, dx, dkernel := make([]float32, len(dy)), make([]float32, len(x)), make([]float32, len(kernel))
		scratch := make([]float32, max(ForwardScratch[float32](s, workers), BackwardDataScratch[float32](s, workers), BackwardWeightsScratch[float32](s, workers)))
		for kind, run := range map[string]func(){
			"result":       func() { Forward(p, s, x, kernel, nil, true, y, scratch) },
			"input's":      func() { BackwardData(p, s, dy, kernel, dx, scratch) },
			"the kernel's": func() { BackwardWeights(p, s, x, dy, dkernel, scratch) },
		} {
			speedup := p.Speedup(run)
			for again := 0; again < 3 && speedup <= least; again++ { // other work on the machine makes fractions of a millisecond look longer
				speedup = max(speedup, p.Speedup(run))
			}
			t.Logf("%s: %d x %v of %d to %d channels, kernel %v, strides %v: %.1f", kind, s.Batch, s.In, s.InChannels, s.OutChannels, s.Kernel, s.Strides, speedup)
			assert.Greater(t, speedup, float64(least), "%s: %d x %v of %d to %d channels, kernel %v, strides %v", kind, s.Batch, s.In, s.InChannels, s.OutChannels, s.Kernel, s.Strides)
		}
	}
}

// drawScaled draws a convolution of 64 to 512 million operations.
func drawScaled(rng *rand.Rand, sequence bool) *Shape {
	for {
		s := &Shape{Batch: 1 << rng.IntN(6), In: [3]int{1, 4 + rng.IntN(60), 4 + rng.IntN(60)}, InChannels: 3 + rng.IntN(300), OutChannels: 16 + rng.IntN(300),
			Kernel: [3]int{1, 1 + 2*rng.IntN(3), 1 + 2*rng.IntN(3)}, Strides: [3]int{1, 1 + rng.IntN(2), 1 + rng.IntN(2)}}
		if s.Kernel[2] = s.Kernel[1]; sequence {
			s.In[1], s.Kernel[1], s.Strides[1] = 1, 1, 1
			s.In[2] = 32 + rng.IntN(400)
		}
		s.Strides[2] = max(s.Strides[1], min(s.Strides[2], 1+s.In[2]/32))
		for i := range 2 {
			s.PadLow[i+1], s.PadHigh[i+1] = s.Kernel[i+1]/2, s.Kernel[i+1]/2
		}
		n := s.normal()
		if flops := n.FLOPs(); flops > 1<<26 && flops < 1<<29 {
			return s
		}
	}
}

// TestScalingOfWinograd: sixteen workers transform a kernel, which each training step does, faster than one, and also
// compute the gradient of a kernel faster.
func TestScalingOfWinograd(t *testing.T) {
	const workers, least = 16, 5
	p := pool.Simulated(workers)
	s := Shape{Batch: 4, In: [3]int{1, 14, 14}, InChannels: 256, OutChannels: 272, Kernel: [3]int{1, 3, 3}, PadLow: [3]int{0, 1, 1}, PadHigh: [3]int{0, 1, 1}}
	kernel := make([]float32, s.sizeKernel())
	for name, w := range map[string]*Winograd{"forward": NewSmallWinograd(&s, 4), "gradient": NewWinogradInputGradient(&s, 4)} {
		panels, scratch := make([]float32, w.KernelSize()), make([]float32, w.TransformScratch(workers))
		speedup := p.Speedup(func() { w.Transform(p, panels, kernel, scratch) })
		t.Logf("%s: %.1f", name, speedup)
		assert.Greater(t, speedup, float64(least), name)
	}
	x, dy, scratch := make([]float32, s.sizeX()), make([]float32, s.sizeY()), make([]float32, BackwardWeightsScratch[float32](&s, workers))
	speedup := p.Speedup(func() { BackwardWeights(p, &s, x, dy, kernel, scratch) })
	t.Logf("the kernel's gradient: %.1f", speedup)
	assert.Greater(t, speedup, float64(least))
}
