package conv

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestJoinedImages compares random convolutions of small volumes with the definition, and the bits of a batch with
// those of its images alone.
func TestJoinedImages(t *testing.T) {
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		r := rand.New(rand.NewPCG(5, 8))
		joined := 0
		for i := range 40 {
			groups := []int{1, 1, 3}[r.IntN(3)]
			s := &Shape{Batch: joinLeast + r.IntN(30), In: [3]int{1 + r.IntN(4), 1 + r.IntN(5), 1 + r.IntN(5)}, InChannels: groups * (1 + r.IntN(5)), OutChannels: groups * (3 + r.IntN(40)),
				Groups: groups, Kernel: [3]int{1 + r.IntN(3), 2 + r.IntN(3), 2 + r.IntN(3)}, Strides: [3]int{1, 1 + r.IntN(2), 1 + r.IntN(2)}, Dilation: [3]int{1 + r.IntN(2), 1, 1 + r.IntN(2)}}
			if i%5 == 4 { // depthwise, which slides over the pixels of one image
				channels := 16 * (1 + r.IntN(3))
				s.InChannels, s.OutChannels, s.Groups = channels, channels, channels
				s.Kernel, s.Strides[2], s.Dilation[2] = [3]int{1, 3, 3}, 1, 1
			}
			if i%5 == 2 { // depthwise with all windows and strides
				channels := 7 + r.IntN(50)
				s.InChannels, s.OutChannels, s.Groups = channels, channels, channels
				s.Kernel, s.Strides[2], s.Dilation[2] = [3]int{1, 1 + r.IntN(7), 1 + r.IntN(7)}, 1+r.IntN(2), 1+r.IntN(4)/3
			}
			for a := range 3 {
				s.PadLow[a], s.PadHigh[a] = r.IntN(3), r.IntN(3)
			}
			n := s.checked(ofForward)
			c := getCorrelation[float32]()
			c.forward(&n)
			c.joins = true
			if c.cut(1); c.images > 1 {
				joined++
			}
			putCorrelation(c)
			check[float32](t, p, s, uint64(i))
			check[float64](t, p, s, uint64(i))
			x, kernel, y := random[float32](r, s.sizeX()), random[float32](r, s.sizeKernel()), scratchFor[float32](s.sizeY())
			Forward(p, s, x, kernel, nil, false, y, scratchFor[float32](ForwardScratch[float32](s, p.Size())))
			one := *s
			one.Batch = 1
			alone := scratchFor[float32](one.sizeY())
			image := r.IntN(s.Batch)
			Forward(p, &one, x[image*one.sizeX():], kernel, nil, false, alone, scratchFor[float32](ForwardScratch[float32](&one, p.Size())))
			assert.Equal(t, alone, y[image*one.sizeY():][:one.sizeY()], "image %d alone: %+v", image, *s)
		}
		require.Greater(t, joined, 10)
	})
}

// TestJoinedRows compares images whose rows have five or six outputs, and the gradients of such inputs, with the
// definition, and the bits of a batch with those of its images alone.
func TestJoinedRows(t *testing.T) {
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		defer isa.OverrideHalfUnits(false)()
		r := rand.New(rand.NewPCG(7, 8))
		joined := 0
		for i := range 6 {
			s := &Shape{Batch: joinLeast + r.IntN(8), In: [3]int{1 + i%2, 6 + r.IntN(2), 6 + r.IntN(2)}, InChannels: 50 + r.IntN(20), OutChannels: 52 + r.IntN(40),
				Kernel: [3]int{1, 2, 2}, PadLow: [3]int{0, r.IntN(2), r.IntN(2)}}
			n := s.checked(ofForward)
			c := getCorrelation[float32]()
			c.forward(&n)
			c.joins = true
			if c.cut(1); c.images > 1 {
				joined++
			}
			putCorrelation(c)
			check[float32](t, p, s, uint64(i))
			one, image := *s, r.IntN(s.Batch)
			one.Batch = 1
			x, kernel, y, alone := random[float32](r, s.sizeX()), random[float32](r, s.sizeKernel()), scratchFor[float32](s.sizeY()), scratchFor[float32](one.sizeY())
			Forward(p, s, x, kernel, nil, false, y, scratchFor[float32](ForwardScratch[float32](s, p.Size())))
			Forward(p, &one, x[image*one.sizeX():], kernel, nil, false, alone, scratchFor[float32](ForwardScratch[float32](&one, p.Size())))
			assert.Equal(t, alone, y[image*one.sizeY():][:one.sizeY()], "image %d alone: %+v", image, *s)
		}
		if micro.PadColumns[float32](1) == joinLanes {
			require.NotZero(t, joined)
		}
	})
}

// TestJoinedImagesInMatrixRegisters compares the bits of a batch with those of its images alone, forward and backward,
// where images fill tiles better than rows do.
func TestJoinedImagesInMatrixRegisters(t *testing.T) {
	defer isa.Override(isa.Executable())()
	if !micro.Matrices() {
		t.Skip("this processor has no AMX, whose tiles images are joined for; internal/test-amx.sh runs the test in an emulator")
	}
	r := rand.New(rand.NewPCG(6, 9))
	joined, corners := 0, 0
	for i := range 24 {
		s := Shape{Batch: joinLeast + r.IntN(60), In: [3]int{1, 1 + r.IntN(10), 1 + r.IntN(28)}, InChannels: 8 + 2*r.IntN(20), OutChannels: 16 * (1 + r.IntN(3)), Pairs: true,
			Kernel: [3]int{1, 1 + r.IntN(3), 1 + r.IntN(3)}, Strides: [3]int{1, 1 + r.IntN(2), 1 + r.IntN(2)}, PadLow: [3]int{0, r.IntN(2), r.IntN(2)}, PadHigh: [3]int{0, r.IntN(2), r.IntN(2)}}
		if volume(s.Out()) == 0 {
			continue
		}
		x, _ := halves(r, 2*s.sizeX())
		kernel, _ := halves(r, 2*s.sizeKernel())
		image := r.IntN(s.Batch)
		one := s
		one.Batch = 1
		y, alone := make([]float32, s.sizeY()), make([]float32, one.sizeY())
		Forward(nil, &s, pairsOf(x), pairsOf(kernel), nil, false, y, scratchFor[float32](ForwardScratch[float32](&s, 1)))
		Forward(nil, &one, pairsOf(x)[image*one.sizeX():], pairsOf(kernel), nil, false, alone, scratchFor[float32](ForwardScratch[float32](&one, 1)))
		require.True(t, slices.Equal(alone, y[image*one.sizeY():][:one.sizeY()]), "try %d, image %d alone: %+v", i, image, s)

		n := s.checked(ofForward)
		c := getCorrelation[float32]()
		c.forward(&n)
		c.joins = true
		if c.cut(1); c.images > 1 {
			joined++
		} else if c.corners > 1 {
			corners++
		}
		putCorrelation(c)

		s.InChannels, s.OutChannels = s.OutChannels, s.InChannels
		one.InChannels, one.OutChannels = s.InChannels, s.OutChannels
		dy, _ := halves(r, 2*s.sizeY())
		dx, alone := make([]float32, s.sizeX()), make([]float32, one.sizeX())
		BackwardData(nil, &s, pairsOf(dy), pairsOf(kernel), dx, scratchFor[float32](BackwardDataScratch[float32](&s, 1)))
		BackwardData(nil, &one, pairsOf(dy)[image*one.sizeY():], pairsOf(kernel), alone, scratchFor[float32](BackwardDataScratch[float32](&one, 1)))
		require.True(t, slices.Equal(alone, dx[image*one.sizeX():][:one.sizeX()]), "try %d, input gradient of image %d alone: %+v", i, image, s)
	}
	require.Greater(t, joined, 6)
	require.Greater(t, corners, 4)
}

// TestJoinedGroups: with groups, only the part of an image that one group reads counts, so images are joined that would
// be too large as a whole. They have the bits of images alone.
func TestJoinedGroups(t *testing.T) {
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		r := rand.New(rand.NewPCG(11, 12))
		s := &Shape{Batch: 2 * joinLeast, In: [3]int{5, 5, 5}, InChannels: 84, OutChannels: 330, Groups: 6, Kernel: [3]int{2, 2, 2}, PadHigh: [3]int{1, 1, 1}}
		n := s.checked(ofForward)
		c := getCorrelation[float32]()
		c.forward(&n)
		c.joins = true
		c.cut(1)
		images, whole := c.images, volume(c.outs)*c.out*4
		putCorrelation(c)
		require.Greater(t, joinLeast*whole, joinBytes*9/10)
		require.GreaterOrEqual(t, images, joinLeast)
		check[float32](t, p, s, 1)
		one, image := *s, r.IntN(s.Batch)
		one.Batch = 1
		x, kernel, y, alone := random[float32](r, s.sizeX()), random[float32](r, s.sizeKernel()), scratchFor[float32](s.sizeY()), scratchFor[float32](one.sizeY())
		Forward(p, s, x, kernel, nil, false, y, scratchFor[float32](ForwardScratch[float32](s, p.Size())))
		Forward(p, &one, x[image*one.sizeX():], kernel, nil, false, alone, scratchFor[float32](ForwardScratch[float32](&one, p.Size())))
		require.Equal(t, alone, y[image*one.sizeY():][:one.sizeY()])
	})
}
