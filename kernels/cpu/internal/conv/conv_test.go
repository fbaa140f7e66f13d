package conv

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

func random[T Float](rng *rand.Rand, n int) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = T(rng.NormFloat64())
	}
	return x
}

func epsilon[T Float]() float64 {
	if T(1)+T(0x1p-30) == 1 {
		return 0x1p-23
	}
	return 0x1p-52
}

// visit calls f for every product in the convolution's definition, with its indices into x, kernel and y.
func visit(s *Shape, f func(x, kernel, y int)) {
	n, out := s.normal(), s.Out()
	inGroup, outGroup := n.InChannels/n.Groups, n.OutChannels/n.Groups
	for b := range n.Batch {
		for o := range volume(out) {
			od, oh, ow := o/(out[1]*out[2]), o/out[2]%out[1], o%out[2]
			for t := range volume(n.Kernel) {
				td, th, tw := t/(n.Kernel[1]*n.Kernel[2]), t/n.Kernel[2]%n.Kernel[1], t%n.Kernel[2]
				id := od*n.Strides[0] - n.PadLow[0] + td*n.Dilation[0]
				ih := oh*n.Strides[1] - n.PadLow[1] + th*n.Dilation[1]
				iw := ow*n.Strides[2] - n.PadLow[2] + tw*n.Dilation[2]
				if id < 0 || ih < 0 || iw < 0 || id >= n.In[0] || ih >= n.In[1] || iw >= n.In[2] {
					continue
				}
				x := ((b*n.In[0]+id)*n.In[1]+ih)*n.In[2] + iw
				for c := range n.OutChannels {
					for i := range inGroup {
						f(x*n.InChannels+c/outGroup*inGroup+i, (t*inGroup+i)*n.OutChannels+c, (b*volume(out)+o)*n.OutChannels+c)
					}
				}
			}
		}
	}
}

func scratchFor[T Float](n int) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = T(math.NaN())
	}
	return x
}

// framed returns a copy of x between NaN, and a function that reports whether these are intact. It reveals reads and
// writes outside an operand.
func framed[T Float](x []T) (inside []T, intact func() bool) {
	const frame = 64
	all := scratchFor[T](len(x) + 2*frame)
	inside = all[frame : frame+len(x)]
	copy(inside, x)
	return inside, func() bool {
		for i := range frame {
			if all[i] == all[i] || all[frame+len(x)+i] == all[frame+len(x)+i] {
				return false
			}
		}
		return true
	}
}

// compare checks got against the float64 sums want; size holds the sums of absolute values.
func compare[T Float](t *testing.T, what string, s *Shape, got []T, want, size []float64) {
	t.Helper()
	terms := float64(10 + volume(s.normal().Kernel)*max(s.InChannels, s.OutChannels) + s.Batch*volume(s.Out()))
	for i := range got {
		if diff := math.Abs(float64(got[i]) - want[i]); !(diff <= terms*epsilon[T]()*size[i]) {
			t.Fatalf("%s[%d] = %v, want %v: %+v", what, i, got[i], want[i], *s)
		}
	}
}

// addEpilogue adds the bias to the expected values and to the sums of absolute values, and applies max(·, 0).
func addEpilogue[T Float](want, size []float64, bias []T, relu bool) {
	for i := range want {
		if bias != nil {
			b := float64(bias[i%len(bias)])
			want[i] += b
			size[i] += math.Abs(b)
		}
		if relu {
			want[i] = max(want[i], 0)
		}
	}
}

func check[T Float](t *testing.T, p *pool.Pool, s *Shape, seed uint64) {
	t.Helper()
	require.NoError(t, s.Validate())
	rng := rand.New(rand.NewPCG(seed, 1))
	x, kernel, dy := random[T](rng, s.sizeX()), random[T](rng, s.sizeKernel()), random[T](rng, s.sizeY())
	var bias []T
	if rng.IntN(2) == 0 {
		bias = random[T](rng, s.OutChannels)
	}
	relu := rng.IntN(2) == 0
	wantY, sizeY := make([]float64, s.sizeY()), make([]float64, s.sizeY())
	wantX, sizeX := make([]float64, s.sizeX()), make([]float64, s.sizeX())
	wantK, sizeK := make([]float64, s.sizeKernel()), make([]float64, s.sizeKernel())
	visit(s, func(ix, ik, iy int) {
		add := func(want, size []float64, i int, a, b T) {
			want[i] += float64(a) * float64(b)
			size[i] += math.Abs(float64(a) * float64(b))
		}
		add(wantY, sizeY, iy, x[ix], kernel[ik])
		add(wantX, sizeX, ix, dy[iy], kernel[ik])
		add(wantK, sizeK, ik, x[ix], dy[iy])
	})
	addEpilogue(wantY, sizeY, bias, relu)
	y, dx, dkernel := scratchFor[T](s.sizeY()), scratchFor[T](s.sizeX()), scratchFor[T](s.sizeKernel())
	Forward(p, s, x, kernel, bias, relu, y, scratchFor[T](ForwardScratch[T](s, p.Size())))
	compare(t, "y", s, y, wantY, sizeY)
	BackwardData(p, s, dy, kernel, dx, scratchFor[T](BackwardDataScratch[T](s, p.Size())))
	compare(t, "dx", s, dx, wantX, sizeX)
	bias = nil
	if rng.IntN(4) > 0 {
		bias = random[T](rng, s.InChannels)
	}
	addEpilogue(wantX, sizeX, bias, relu)
	dx = scratchFor[T](len(dx))
	Transposed(p, s, dy, kernel, bias, relu, dx, scratchFor[T](TransposedScratch[T](s, p.Size(), bias != nil)))
	compare(t, "transposed", s, dx, wantX, sizeX)
	BackwardWeights(p, s, x, dy, dkernel, scratchFor[T](BackwardWeightsScratch[T](s, p.Size())))
	compare(t, "dkernel", s, dkernel, wantK, sizeK)
}

func forLevels(t *testing.T, test func(t *testing.T, p *pool.Pool)) {
	for _, path := range isa.Paths() {
		t.Run(path.String(), func(t *testing.T) {
			defer isa.Override(path)()
			p := pool.New(3)
			defer p.Close()
			test(t, p)
		})
	}
}

// TestOneChannelGroups covers groups of one input channel with one or more filters, whose channels are not whole
// vectors.
func TestOneChannelGroups(t *testing.T) {
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		seeds := uint64(200)
		if testing.Short() {
			seeds = 40
		}
		for seed := range seeds {
			rng := rand.New(rand.NewPCG(seed, 3))
			channels, filters := 2+rng.IntN(20), 1+rng.IntN(3)
			s := Shape{Batch: 1 + rng.IntN(3), In: [3]int{1, 1 + rng.IntN(40), 1 + rng.IntN(20)}, Groups: channels, InChannels: channels, OutChannels: channels * filters,
				Kernel: [3]int{1, 1 + rng.IntN(7), 1 + rng.IntN(8)}, Strides: [3]int{1, 1 + rng.IntN(3), 1 + rng.IntN(10)/8}, Dilation: [3]int{1, 1 + rng.IntN(2), 1 + rng.IntN(3)}}
			if rng.IntN(4) == 0 {
				s.In[0], s.PadLow[0], s.Strides[0] = 3, rng.IntN(2), 1+rng.IntN(2)
			}
			for i := 1; i < 3; i++ {
				s.PadLow[i], s.PadHigh[i] = rng.IntN(5)-1, rng.IntN(5)-1
			}
			check[float32](t, p, &s, seed)
			check[float64](t, p, &s, seed)
		}
	})
}

// TestChannelsLeftOver covers depthwise convolutions whose channels are not whole vectors, with all kinds of windows,
// strides and dilations, and with several blocks of channels.
func TestChannelsLeftOver(t *testing.T) {
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		seeds := uint64(150)
		if testing.Short() {
			seeds = 40
		}
		for seed := range seeds {
			rng := rand.New(rand.NewPCG(seed, 6))
			channels := 2 + rng.IntN(64)
			if seed%3 == 0 {
				channels = 120 + rng.IntN(150)
			}
			s := Shape{Batch: 1 + rng.IntN(3), In: [3]int{1 + rng.IntN(5)/4, 1 + rng.IntN(9), 1 + rng.IntN(9)}, Groups: channels, InChannels: channels, OutChannels: channels,
				Kernel: [3]int{1, 1 + rng.IntN(7), 1 + rng.IntN(7)}, Strides: [3]int{1 + rng.IntN(2), 1 + rng.IntN(3), 1 + rng.IntN(3)}, Dilation: [3]int{1, 1 + rng.IntN(2), 1 + rng.IntN(2)}}
			for i := 1; i < 3; i++ {
				s.PadLow[i], s.PadHigh[i] = rng.IntN(6)-1, rng.IntN(6)-1
			}
			check[float32](t, p, &s, seed)
			if seed%4 == 0 {
				check[float64](t, p, &s, seed)
			}
		}
	})
}

// TestNoChannels covers inputs without channels, whose results are the bias, and results without channels, which are
// empty.
func TestNoChannels(t *testing.T) {
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		for seed := range uint64(60) {
			rng := rand.New(rand.NewPCG(seed, 5))
			s := Shape{Batch: 1 + rng.IntN(3), In: [3]int{1 + rng.IntN(2), 3 + rng.IntN(5), 3 + rng.IntN(30)}, Groups: 1, InChannels: 0, OutChannels: 1 + rng.IntN(40),
				Kernel: [3]int{1, 1 + rng.IntN(3), 1 + rng.IntN(3)}, Strides: [3]int{1, 1 + rng.IntN(2), 1 + rng.IntN(2)}, Dilation: [3]int{1, 1, 1}}
			check[float32](t, p, &s, seed)
			check[float64](t, p, &s, seed)
			require.Nil(t, NewMoments[float32](&s))
			plan := NewPlan[float32](&s)
			bias, y := random[float32](rng, s.OutChannels), scratchFor[float32](s.sizeY())
			require.False(t, plan.RunPooled(nil, nil, bias, false, y, nil, false))
			plan.Run(nil, nil, bias, false, y, scratchFor[float32](plan.Scratch()), false)
			for i := range y {
				require.Equal(t, bias[i%len(bias)], y[i])
			}
			s.InChannels, s.OutChannels = s.OutChannels, s.InChannels
			check[float32](t, p, &s, seed)
		}
	})
}

// TestSlidingRows covers depthwise kernels of 3 and 5 taps along the width: channels that are whole vectors or not,
// rows shorter and longer than a tile, outputs that see all taps, some or none, and several blocks of channels.
func TestSlidingRows(t *testing.T) {
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		seeds := uint64(300)
		if testing.Short() {
			seeds = 60
		}
		for seed := range seeds {
			rng := rand.New(rand.NewPCG(seed, 4))
			channels := 7 + int(seed)%44
			if seed%20 == 0 {
				channels = 120 + rng.IntN(150)
			}
			s := Shape{Batch: 1 + rng.IntN(3), In: [3]int{1, 1 + rng.IntN(12), 1 + rng.IntN(24)}, Groups: channels, InChannels: channels, OutChannels: channels,
				Kernel: [3]int{1, 1 + rng.IntN(5), 3 + 2*rng.IntN(2)}, Strides: [3]int{1, 1 + rng.IntN(2), 1}, Dilation: [3]int{1, 1 + rng.IntN(2), 1}}
			if rng.IntN(4) == 0 {
				s.In[0], s.PadLow[0], s.Strides[0] = 3, rng.IntN(2), 1+rng.IntN(2)
			}
			for i := 1; i < 3; i++ {
				s.PadLow[i], s.PadHigh[i] = rng.IntN(6)-1, rng.IntN(6)-1
			}
			check[float32](t, p, &s, seed)
		}
	})
}

// TestRandomShapes covers odd sizes, strides, explicit padding on both sides (more than the kernel, and negative),
// dilation, groups and depthwise kernels, on one, two and three axes.
func TestRandomShapes(t *testing.T) {
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		seeds := uint64(400)
		if testing.Short() {
			seeds = 60
		}
		for seed := range seeds {
			rng := rand.New(rand.NewPCG(seed, 0))
			s := Shape{Batch: rng.IntN(4), In: [3]int{1, 1, 1}, Groups: []int{0, 1, 1, 2, 3}[rng.IntN(5)]}
			for i := 2 - rng.IntN(3); i < 3; i++ {
				s.In[i] = rng.IntN(12)
				s.Kernel[i], s.Strides[i], s.Dilation[i] = rng.IntN(5), rng.IntN(4), rng.IntN(4)
				s.PadLow[i], s.PadHigh[i] = rng.IntN(6)-1, rng.IntN(6)-1
			}
			s.InChannels = (1 + rng.IntN(7)) * max(s.Groups, 1)
			s.OutChannels = (1 + rng.IntN(7)) * max(s.Groups, 1)
			switch rng.IntN(6) {
			case 0: // depthwise, with a multiplier
				s.InChannels = 1 + rng.IntN(8)
				s.Groups, s.OutChannels = s.InChannels, s.InChannels*(1+rng.IntN(2))
			case 1: // several panels
				s.OutChannels = (30 + rng.IntN(40)) * max(s.Groups, 1)
			case 2:
				s.InChannels = (30 + rng.IntN(40)) * max(s.Groups, 1)
			}
			check[float32](t, p, &s, seed)
			if seed%4 == 0 {
				check[float64](t, p, &s, seed)
			}
		}
	})
}

// TestFastShapes covers the shapes that models use, which take the direct paths.
func TestFastShapes(t *testing.T) {
	forLevels(t, func(t *testing.T, p *pool.Pool) {
		for i, s := range []Shape{
			{Batch: 3, In: [3]int{1, 28, 28}, InChannels: 1, OutChannels: 32, Kernel: [3]int{1, 3, 3}},
			{Batch: 2, In: [3]int{1, 9, 9}, InChannels: 32, OutChannels: 64, Kernel: [3]int{1, 3, 3}, PadLow: [3]int{0, 1, 1}, PadHigh: [3]int{0, 1, 1}},
			{Batch: 2, In: [3]int{1, 16, 16}, InChannels: 16, OutChannels: 32, Kernel: [3]int{1, 3, 3}, Strides: [3]int{1, 2, 2}, PadHigh: [3]int{0, 1, 1}},
			{Batch: 2, In: [3]int{1, 8, 8}, InChannels: 40, OutChannels: 96, Kernel: [3]int{1, 1, 1}},
			{Batch: 2, In: [3]int{1, 7, 5}, InChannels: 130, OutChannels: 132},
			{Batch: 2, In: [3]int{1, 40, 33}, InChannels: 32, OutChannels: 70, Kernel: [3]int{1, 3, 3}},
			{Batch: 1, In: [3]int{1, 6, 6}, InChannels: 80, OutChannels: 96, Kernel: [3]int{1, 3, 3}, PadLow: [3]int{0, 1, 1}},
			{Batch: 1, In: [3]int{1, 20, 20}, InChannels: 3, OutChannels: 64, Kernel: [3]int{1, 7, 7}, Strides: [3]int{1, 2, 2}, PadLow: [3]int{0, 2, 2}, PadHigh: [3]int{0, 3, 3}},
			{Batch: 2, In: [3]int{1, 12, 12}, InChannels: 150, OutChannels: 150, Groups: 150, Kernel: [3]int{1, 3, 3}, PadLow: [3]int{0, 1, 1}, PadHigh: [3]int{0, 1, 1}},
			{Batch: 2, In: [3]int{1, 1, 50}, InChannels: 8, OutChannels: 32, Kernel: [3]int{1, 1, 5}, PadLow: [3]int{0, 0, 4}},
			{Batch: 2, In: [3]int{5, 6, 7}, InChannels: 4, OutChannels: 8, Kernel: [3]int{3, 3, 3}, PadLow: [3]int{1, 1, 1}, PadHigh: [3]int{1, 1, 1}},
		} {
			check[float32](t, p, &s, uint64(i))
			check[float64](t, p, &s, uint64(i))
		}
	})
}

// TestOut compares output sizes with Keras's rules: "same" gives ceil(in/stride), "valid" ceil((in−k+1)/stride).
func TestOut(t *testing.T) {
	s := Shape{In: [3]int{1, 28, 27}, Kernel: [3]int{0, 3, 3}}
	require.Equal(t, [3]int{1, 26, 25}, s.Out())
	s.Strides, s.PadHigh = [3]int{1, 2, 2}, [3]int{0, 1, 2}
	require.Equal(t, [3]int{1, 14, 14}, s.Out())
	s.Dilation = [3]int{1, 13, 20}
	require.Equal(t, [3]int{1, 2, 0}, s.Out(), "a kernel larger than the input gives no output")
	require.Equal(t, 0, s.FLOPs())
	s = Shape{Batch: 64, In: [3]int{1, 28, 28}, InChannels: 1, OutChannels: 32, Kernel: [3]int{1, 3, 3}}
	require.Equal(t, 2*64*26*26*32*9, s.FLOPs())
}

func TestValidate(t *testing.T) {
	for text, s := range map[string]Shape{
		"5 input and 4 output channels in 4 groups": {In: [3]int{1, 1, 4}, InChannels: 5, OutChannels: 4, Groups: 4},
		"width axis: input 4, kernel -1":            {In: [3]int{1, 1, 4}, Kernel: [3]int{1, 1, -1}},
		"height axis: input -2":                     {In: [3]int{1, -2, 4}},
		"batch -1":                                  {Batch: -1, In: [3]int{1, 1, 4}},
	} {
		assert.ErrorContains(t, s.Validate(), text)
	}
}

func TestMistakesPanic(t *testing.T) {
	s := &Shape{Batch: 1, In: [3]int{1, 4, 4}, InChannels: 2, OutChannels: 3, Kernel: [3]int{1, 3, 3}}
	full := make([]float32, 4096)
	for text, run := range map[string]func(){
		"x has 31 elements":      func() { Forward(nil, s, full[:31], full, nil, false, full, full) },
		"kernel has 53":          func() { Forward(nil, s, full, full[:53], nil, false, full, full) },
		"bias has 2":             func() { Forward(nil, s, full, full, full[:2], false, full, full) },
		"scratch has 5":          func() { Forward(nil, s, full, full, nil, false, full, full[:5]) },
		"dy has 11":              func() { BackwardWeights(nil, s, full, full[:11], full, full) },
		"dx has 30":              func() { BackwardData(nil, s, full, full, full[:30], full) },
		"groups; both must be d": func() { Forward(nil, &Shape{InChannels: 1, Groups: 2}, full, full, nil, false, full, full) },
	} {
		func() {
			defer func() { assert.Contains(t, fmt.Sprint(recover()), text) }()
			run()
		}()
	}
}

func TestSameBitsForAnyWorkers(t *testing.T) {
	full := Shape{Batch: 5, In: [3]int{1, 20, 20}, InChannels: 9, OutChannels: 40, Kernel: [3]int{1, 3, 3}, PadLow: [3]int{0, 1, 1}, PadHigh: [3]int{0, 1, 1}}
	one, two := full, full
	one.OutChannels, one.Groups, one.Batch, one.In = 9, 9, 40, [3]int{1, 60, 33}
	two.OutChannels, two.Groups, two.Batch = 18, 9, 40
	four := full
	four.InChannels, four.OutChannels, four.Groups, four.Batch = 64, 64, 16, 10
	few := full
	few.InChannels, few.OutChannels, few.Batch = 48, 5, 16
	wide := full // panels of its weights are chunks for many workers
	wide.Batch, wide.OutChannels = 2, 200
	row := wide
	row.In, row.Kernel, row.PadLow, row.PadHigh = [3]int{1, 1, 150}, [3]int{1, 1, 5}, [3]int{0, 0, 2}, [3]int{0, 0, 2}
	window := full
	window.In, window.PadLow, window.PadHigh, window.Kernel, window.Batch = [3]int{1, 9, 7}, [3]int{}, [3]int{}, [3]int{1, 9, 7}, 40
	covered, grouped := window, window // in part, and in groups
	covered.In[1], covered.Strides[1] = 30, 0
	grouped.InChannels, grouped.Groups = 40, 4
	volumes := one
	volumes.In, volumes.Kernel, volumes.InChannels, volumes.OutChannels, volumes.Groups, volumes.PadLow, volumes.PadHigh = [3]int{9, 12, 33}, [3]int{3, 3, 4}, 5, 5, 5, [3]int{1, 1, 1}, [3]int{1, 1, 2}
	products := []*Shape{&wide, &row, &window, &covered, &grouped, &volumes}
	for _, s := range append([]*Shape{&full, &one, &two, &four, &few}, products...) {
		rng := rand.New(rand.NewPCG(1, 1))
		x, kernel, dy := random[float32](rng, s.sizeX()), random[float32](rng, s.sizeKernel()), random[float32](rng, s.sizeY())
		n := s.normal()
		if repeats[float32](&n, ofWeights) {
			n = n.repeated()
		}
		if !slices.Contains(products, s) && (s != &four || groupedSumsLanes[float32](&n) > 0) {
			require.Greater(t, imageParts[float32](&n), 1, "the shape must use partial results")
		}
		var first [3][]float32
		for _, workers := range []int{1, 2, 3, 4, 12} {
			p := pool.New(workers)
			got := [3][]float32{make([]float32, len(dy)), make([]float32, len(x)), make([]float32, len(kernel))}
			Forward(p, s, x, kernel, nil, true, got[0], make([]float32, ForwardScratch[float32](s, workers)))
			BackwardData(p, s, dy, kernel, got[1], make([]float32, BackwardDataScratch[float32](s, workers)))
			BackwardWeights(p, s, x, dy, got[2], make([]float32, BackwardWeightsScratch[float32](s, workers)))
			p.Close()
			if workers == 1 {
				first = got
			}
			require.Equal(t, first, got, "%d workers", workers)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	p := pool.New(2)
	defer p.Close()
	for _, groups := range []int{1, 2, 8} {
		for filters := 1; filters <= 2; filters++ {
			for stride := 1; stride <= 2; stride++ {
				s := &Shape{Batch: 4, In: [3]int{1, 12, 12}, InChannels: 8, OutChannels: 8 * filters, Groups: groups, Kernel: [3]int{1, 3, 3}, PadLow: [3]int{0, 1, 1}, Strides: [3]int{1, 1, stride}}
				x, kernel, y := make([]float32, s.sizeX()), make([]float32, s.sizeKernel()), make([]float32, s.sizeY())
				scratch := make([]float32, ForwardScratch[float32](s, 2)+BackwardDataScratch[float32](s, 2)+BackwardWeightsScratch[float32](s, 2))
				require.Zero(t, testing.AllocsPerRun(10, func() {
					Forward(p, s, x, kernel, nil, true, y, scratch)
					BackwardData(p, s, y, kernel, x, scratch)
					BackwardWeights(p, s, x, y, kernel, scratch)
				}), "%d groups, %d filters, stride %d", groups, filters, stride)
			}
		}
	}
}

var layers = []struct {
	name string
	s    Shape
}{
	{"mnist_64x28x28x1_32", Shape{Batch: 64, In: [3]int{1, 28, 28}, InChannels: 1, OutChannels: 32, Kernel: [3]int{1, 3, 3}}},
	{"mnist_64x26x26x32_64", Shape{Batch: 64, In: [3]int{1, 26, 26}, InChannels: 32, OutChannels: 64, Kernel: [3]int{1, 3, 3}}},
	{"cifar_64x32x32x16_16", same(64, 32, 16, 16, 3, 1)},
	{"cifar_64x16x16x32_32", same(64, 16, 32, 32, 3, 1)},
	{"cifar_64x8x8x64_64", same(64, 8, 64, 64, 3, 1)},
	{"cifar_64x16x16x32_64_s2", same(64, 16, 32, 64, 3, 2)},
	{"r50_4x56x56x64_64", same(4, 56, 64, 64, 3, 1)},
	{"r50_4x14x14x256_256", same(4, 14, 256, 256, 3, 1)},
	{"r50_1x1_4x56x56x64_256", same(4, 56, 64, 256, 1, 1)},
	{"r50_1x1_4x14x14x1024_256", same(4, 14, 1024, 256, 1, 1)},
	{"depthwise_16x28x28x128", func() Shape { s := same(16, 28, 128, 128, 3, 1); s.Groups = 128; return s }()},
}

// same is a square convolution with Keras's "same" padding.
func same(batch, size, in, out, kernel, stride int) Shape {
	total := max((ceil(size, stride)-1)*stride+kernel-size, 0)
	return Shape{Batch: batch, In: [3]int{1, size, size}, InChannels: in, OutChannels: out, Kernel: [3]int{1, kernel, kernel},
		Strides: [3]int{1, stride, stride}, PadLow: [3]int{0, total / 2, total / 2}, PadHigh: [3]int{0, total - total/2, total - total/2}}
}

func BenchmarkConv(b *testing.B) {
	for _, workers := range []int{1, 2} {
		p := pool.New(workers)
		b.Cleanup(p.Close)
		for _, l := range layers {
			s := l.s
			rng := rand.New(rand.NewPCG(1, 1))
			x, kernel, y, bias := random[float32](rng, s.sizeX()), random[float32](rng, s.sizeKernel()), random[float32](rng, s.sizeY()), random[float32](rng, s.OutChannels)
			scratch := make([]float32, max(ForwardScratch[float32](&s, workers), BackwardDataScratch[float32](&s, workers), BackwardWeightsScratch[float32](&s, workers)))
			for _, op := range []struct {
				name string
				run  func()
			}{
				{"forward", func() { Forward(p, &s, x, kernel, bias, true, y, scratch) }},
				{"data", func() { BackwardData(p, &s, y, kernel, x, scratch) }},
				{"weights", func() { BackwardWeights(p, &s, x, y, kernel, scratch) }},
			} {
				b.Run(fmt.Sprintf("%s/%s/workers=%d", l.name, op.name, workers), func(b *testing.B) {
					b.ReportAllocs()
					best := math.Inf(1) // the least disturbed run
					for b.Loop() {
						start := time.Now()
						op.run()
						best = min(best, float64(time.Since(start).Nanoseconds()))
					}
					b.ReportMetric(float64(s.FLOPs())/best, "best-GFLOP/s")
					b.ReportMetric(float64(s.FLOPs())*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
				})
			}
		}
	}
}
