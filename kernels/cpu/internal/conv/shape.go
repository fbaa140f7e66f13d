package conv

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
)

// Float is the element type of arrays.
type Float = micro.Float

// Shape describes a convolution. The triples run over depth, height, width.
type Shape struct {
	Batch       int
	In          [3]int // sizes of x; 1 for unused leading axes
	InChannels  int
	OutChannels int
	Kernel      [3]int // sizes of the kernel; 0 means 1
	Strides     [3]int // 0 means 1
	Dilation    [3]int // distance of neighbouring taps; 0 means 1
	PadLow      [3]int // zeros in front of x; may be negative, which cuts
	PadHigh     [3]int // zeros behind x; may be negative
	Groups      int    // 0 means 1; channels are cut into that many independent convolutions

	// Part says that the batch is part of a larger one, and that the number of parts must not change bits. Otherwise a
	// batch of fewer than 8 images may get other bits than a larger one.
	Part bool

	// Pairs says that the elements of both operands are pairs of bfloat16, whose two products are added. Results are
	// float32. The axis that sums run over is counted in pairs: InChannels of Forward, OutChannels of BackwardData,
	// Batch of BackwardWeights. It requires one group and micro.Pairs.
	Pairs bool

	// Turned says that x of BackwardWeights is transposed within rows: each row of TurnedPixels pixels holds all its
	// pixels of the first channel, then those of the next. Allowed if Turns is true.
	Turned bool

	// Stacked says that x of BackwardWeights holds, for each channel of each pixel, the pairs of all images side by
	// side, and that the pairs of images of dy are StackedGradient apart. Allowed if Stacks is true.
	Stacked bool

	known *known // see Remember
}

// normal returns a copy with defaults filled in.
//
//go:noinline
func (s *Shape) normal() Shape {
	n := *s
	for i := range 3 {
		for _, v := range []*int{&n.Kernel[i], &n.Strides[i], &n.Dilation[i]} {
			if *v == 0 {
				*v = 1
			}
		}
	}
	if n.Groups == 0 {
		n.Groups = 1
	}
	return n
}

// Validate returns an error if the sizes contradict each other.
func (s *Shape) Validate() error {
	n := s.normal()
	for i, axis := range [...]string{"depth", "height", "width"} {
		if n.In[i] < 0 || n.Kernel[i] < 1 || n.Strides[i] < 1 || n.Dilation[i] < 1 {
			return fmt.Errorf("convolution, %s axis: input %d, kernel %d, stride %d, dilation %d; the input must not be negative, the others must be at least 1",
				axis, n.In[i], n.Kernel[i], n.Strides[i], n.Dilation[i])
		}
	}
	if n.Batch < 0 || n.InChannels < 0 || n.OutChannels < 0 {
		return fmt.Errorf("convolution: batch %d, %d input channels, %d output channels; none may be negative", n.Batch, n.InChannels, n.OutChannels)
	}
	if n.Groups < 1 || n.InChannels%n.Groups != 0 || n.OutChannels%n.Groups != 0 {
		return fmt.Errorf("convolution: %d input and %d output channels in %d groups; both must be divisible by the groups",
			n.InChannels, n.OutChannels, n.Groups)
	}
	return nil
}

// Out returns the output's sizes: floor((in + low + high − ((kernel−1)·dilation + 1)) / stride) + 1, at least 0.
func (s *Shape) Out() [3]int {
	var out [3]int
	for i := range out {
		room := s.In[i] + s.PadLow[i] + s.PadHigh[i] - ((max(s.Kernel[i], 1)-1)*max(s.Dilation[i], 1) + 1)
		if room >= 0 {
			out[i] = room/max(s.Strides[i], 1) + 1
		}
	}
	return out
}

// FLOPs returns the floating-point operations of one of the three operations, including products with padding.
func (s *Shape) FLOPs() int {
	n := s.normal()
	return 2 * s.sizeY() * volume(n.Kernel) * (n.InChannels / n.Groups)
}

//go:noinline
func (s *Shape) sizeX() int { return s.Batch * volume(s.In) * s.InChannels }

//go:noinline
func (s *Shape) sizeY() int { return s.Batch * volume(s.Out()) * s.OutChannels }
func (s *Shape) sizeKernel() int {
	return max(s.Kernel[0], 1) * max(s.Kernel[1], 1) * max(s.Kernel[2], 1) * (s.InChannels / max(s.Groups, 1)) * s.OutChannels
}

// depthwise reports whether every channel is a group with one filter. There are special kernels for that.
func (s *Shape) depthwise() bool {
	return s.Groups > 1 && s.Groups == s.InChannels && s.Groups == s.OutChannels
}

func volume(v [3]int) int { return v[0] * v[1] * v[2] }

// need panics unless a slice is as long as the shape requires. A shorter one is a mistake of the caller.
//
//go:noinline
func (s *Shape) need(what string, have, want int) {
	if have < want {
		panic(fmt.Sprintf("conv: %s has %d elements, needs %d for %+v", what, have, want, *s))
	}
}

// checked returns the shape with defaults filled in, as an operation computes it, and panics if it is invalid.
func (s *Shape) checked(o operation) Shape {
	if err := s.Validate(); err != nil {
		panic("conv: " + err.Error())
	}
	n := s.normal()
	n.foldCovered(o)
	return n
}

func ceil(a, b int) int { return (a + b - 1) / b }
