package conv

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// The input gradient of a convolution with few input channels and long strides has many phases, one for each residue of
// the position. Each has few taps and few outputs, which would leave tiles nearly empty. So it is computed as one
// matrix product, whose rows are windows of the input that the outputs contribute to:
//
//	z[o, t, c] = Σ_k dy[o, k] · kernel[t, c, k]      dx[i, c] = Σ_{o, t: o·stride − padLow + t·dilation = i} z[o, t, c]
//
// The windows are added one after the other. The gradient of a spectrogram is an example. Only float32 is computed this
// way.

const (
	overlapStride   = 4       // fewest pixels of a stride along the width, which leaves few taps for each phase,
	overlapChannels = 8       // and most input channels, which leave each phase few outputs,
	overlapWindow   = 32      // for windows of at least that many numbers along the width and
	overlapSums     = 8       // at least that many filters: adding a window costs as much as a few products
	overlapMost     = 1 << 18 // numbers of the windows that are in memory at a time
)

// overlaps reports whether the input gradient is computed this way. It ignores the batch, whose size must not change
// bits.
func overlaps[T Float](s *Shape) bool {
	return single[T]() && s.Groups == 1 && !s.Pairs && s.Strides[2] >= overlapStride && s.Dilation[2] == 1 && s.InChannels <= overlapChannels &&
		s.Kernel[2]*s.InChannels >= overlapWindow && s.OutChannels >= overlapSums && s.sizeX() > 0 && s.sizeY() > 0 && byOverlaps.Taken()
}

// overlapPixels is the number of windows in memory at a time: those of some images, or of a part of one.
func (s *Shape) overlapPixels() int {
	pixels := volume(s.Out())
	most := max(overlapMost/(volume(s.Kernel)*s.InChannels), 1)
	if most >= pixels {
		return min(most/pixels, s.Batch) * pixels
	}
	return most
}

// overlapScratch is the scratch memory of [backwardOverlapped].
func (s *Shape) overlapScratch(workers int) int {
	size, each := 0, s.overlapPixels()
	for _, n := range [...]int{each, volume(s.Out()) % each, s.Batch * volume(s.Out()) % each} {
		a := s.overlapProduct(n, nil, nil, nil)
		size = max(size, gemm.ScratchSize(&a, workers))
	}
	return size + each*volume(s.Kernel)*s.InChannels
}

func (s *Shape) overlapProduct(pixels int, dy, kernel, z []float32) gemm.Args[float32] {
	return gemm.Args[float32]{M: pixels, N: volume(s.Kernel) * s.InChannels, K: s.OutChannels, A: dy, B: kernel, TransB: true, C: z}
}

// overlapping adds windows.
type overlapping struct {
	shape  Shape
	out    [3]int
	pixels int // windows of an image that are in memory, from pixel first on
	first  int
	z, dx  []float32
}

var overlappings pool.Recycler[overlapping]

// backwardOverlapped is [BackwardData] of a shape that overlaps.
func backwardOverlapped(p *pool.Pool, s *Shape, dy, kernel, dx, scratch []float32) {
	o := overlappings.Get()
	o.shape, o.out = *s, s.Out()
	each, window, pixels := s.overlapPixels(), volume(s.Kernel)*s.InChannels, volume(o.out)
	all, sizeX := s.Batch*pixels, volume(s.In)*s.InChannels
	for at := 0; at < all; {
		n := min(each, all-at)
		image := at / pixels
		if o.first = at % pixels; each < pixels {
			n = min(n, pixels-o.first)
		}
		a := s.overlapProduct(n, dy[at*s.OutChannels:], kernel, scratch[:n*window])
		runProduct(p, a, scratch[each*window:])
		images := max(n/pixels, 1)
		o.pixels, o.z, o.dx = n/images, scratch[:n*window], dx[image*sizeX:(image+images)*sizeX]
		p.Parallel(images, max(1<<14/(o.pixels*window), 1), o)
		at += n
	}
	o.z, o.dx = nil, nil // let go of the caller's memory
	overlappings.Put(o)
}

// Run adds the windows of images [lo, hi).
func (o *overlapping) Run(_, lo, hi int) {
	size, window := volume(o.shape.In)*o.shape.InChannels, volume(o.shape.Kernel)*o.shape.InChannels
	for n := lo; n < hi; n++ {
		dx := o.dx[n*size : (n+1)*size]
		if o.first == 0 {
			clear(dx)
		}
		for i := range o.pixels {
			o.add(dx, o.z[(n*o.pixels+i)*window:][:window], o.first+i)
		}
	}
}

// add adds the window of a pixel to an image.
func (o *overlapping) add(dx, z []float32, pixel int) {
	s, c := &o.shape, o.shape.InChannels
	at := [3]int{pixel / o.out[2] / o.out[1], pixel / o.out[2] % o.out[1], pixel % o.out[2]}
	for i := range at {
		at[i] = at[i]*s.Strides[i] - s.PadLow[i]
	}
	first, end := max(-at[2], 0), min(s.In[2]-at[2], s.Kernel[2])
	if first >= end {
		return
	}
	for td := range s.Kernel[0] {
		for th := range s.Kernel[1] {
			d, h := at[0]+td*s.Dilation[0], at[1]+th*s.Dilation[1]
			row := z[(td*s.Kernel[1]+th)*s.Kernel[2]*c:]
			if d < 0 || d >= s.In[0] || h < 0 || h >= s.In[1] {
				continue
			}
			to := dx[((d*s.In[1]+h)*s.In[2]+at[2]+first)*c:][:(end-first)*c]
			vec.Add(to, to, row[first*c:end*c])
		}
	}
}
