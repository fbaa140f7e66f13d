package layers_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// inFront is a convolution of images (batch, channels, height, width), computed by its definition.
type inFront struct {
	in, out                            []int // shapes
	window, strides, dilation, padding []int
	groups                             int
	padded                             bool
}

// each calls f for every product, with its positions in the input, the kernel and the result.
func (c *inFront) each(f func(x, k, y int)) {
	channels, filters := c.in[1]/c.groups, c.out[1]/c.groups
	for y := range c.out[0] * c.out[1] * c.out[2] * c.out[3] {
		q, p, o, n := y%c.out[3], y/c.out[3]%c.out[2], y/c.out[3]/c.out[2]%c.out[1], y/c.out[3]/c.out[2]/c.out[1]
		for k := range c.window[0] * c.window[1] * channels {
			channel, j, i := k%channels, k/channels%c.window[1], k/channels/c.window[1]
			h, w := p*c.strides[0]+i*c.dilation[0]-c.padding[0], q*c.strides[1]+j*c.dilation[1]-c.padding[1]
			if h >= 0 && h < c.in[2] && w >= 0 && w < c.in[3] {
				f(((n*c.in[1]+o/filters*channels+channel)*c.in[2]+h)*c.in[3]+w, k*c.out[1]+o, y)
			}
		}
	}
}

// drawInFront draws a convolution of a few pixels; half of them have a window of length one along an axis.
func drawInFront(r *rand.Rand) *inFront {
	c := &inFront{groups: 1 + r.IntN(3), window: []int{1, 1}, strides: []int{1, 1}, dilation: []int{1, 1}, padding: []int{0, 0}}
	c.in = []int{1 + r.IntN(3), c.groups * (1 + r.IntN(3)), 1 + r.IntN(11), 1 + r.IntN(11)}
	c.out = []int{c.in[0], c.groups * (1 + r.IntN(4)), 0, 0}
	strided, dilated := r.IntN(2) == 0, false
	if dilated = !strided; c.groups == c.in[1] { // depthwise layers accept both
		dilated = dilated || r.IntN(2) == 0
	}
	c.padded = r.IntN(2) == 0
	for i := range 2 {
		if strided {
			c.strides[i] = 1 + r.IntN(4)
		}
		if dilated {
			c.dilation[i] = 1 + r.IntN(4)
		}
		if r.IntN(2) == 0 {
			c.window[i] = min(1+r.IntN(3), (c.in[i+2]-1)/c.dilation[i]+1)
		}
		span := (c.window[i]-1)*c.dilation[i] + 1
		if c.out[i+2] = (c.in[i+2]-span)/c.strides[i] + 1; c.padded {
			c.out[i+2] = (c.in[i+2] + c.strides[i] - 1) / c.strides[i]
			c.padding[i] = max((c.out[i+2]-1)*c.strides[i]+span-c.in[i+2], 0) / 2
		}
	}
	return c
}

func (c *inFront) layer() layers.Layer {
	padding := map[bool]layers.Padding{true: layers.Same, false: layers.Valid}[c.padded]
	if c.groups == c.in[1] {
		return &layers.DepthwiseConv2D{KernelSize: c.window, Strides: c.strides, DilationRate: c.dilation, DepthMultiplier: c.out[1] / c.groups, Padding: padding, DataFormat: layers.ChannelsFirst, DType: "float64"}
	}
	return &layers.Conv2D{Filters: c.out[1], KernelSize: c.window, Strides: c.strides, DilationRate: c.dilation, Groups: c.groups, Padding: padding, DataFormat: layers.ChannelsFirst, DType: "float64"}
}

// TestChannelsInFront: results and gradients of random convolutions are those of the definition.
func TestChannelsInFront(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 291129))
		c := drawInFront(r)
		l := c.layer()
		what := fmt.Sprintf("seed %d: %+v", seed, *c)
		buildFor(t, l, c.in...)
		for i, v := range layers.Weights(l) {
			setWeight(t, v, opstest.Normal(int(seed)+2+i, v.Size()).F...)
		}
		x, dy := opstest.Normal(int(seed), c.in...), opstest.Normal(int(seed)+1, c.out...)
		a := layerCall{layer: l, training: true, inputs: []opstest.Array{x}, more: func(r *distribute.Replica, in, out []*ops.Tensor) []*ops.Tensor {
			sources := []*ops.Tensor{in[0]}
			for _, v := range layers.TrainableWeights(l) {
				sources = append(sources, r.Read(v))
			}
			upstream := ops.Constant(r.Graph(), ir.Float64, c.out, dy.F)
			return ops.VJP(out, []*ops.Tensor{upstream}, sources...)
		}}.run(t)
		weights := layers.TrainableWeights(l)
		kernel, bias := a.after[weights[0].Name()], a.after[weights[1].Name()]
		y, dx, dk, db := make([]float64, len(dy.F)), make([]float64, len(x.F)), make([]float64, len(kernel.F)), make([]float64, c.out[1])
		pixels := c.out[2] * c.out[3]
		for i := range y {
			y[i] = bias.F[i/pixels%c.out[1]]
			db[i/pixels%c.out[1]] += dy.F[i]
		}
		c.each(func(i, k, o int) {
			y[o] += x.F[i] * kernel.F[k]
			dx[i] += dy.F[o] * kernel.F[k]
			dk[k] += dy.F[o] * x.F[i]
		})
		require.Equal(t, ir.Shape(c.out), ir.Shape(a.outputs[0].Shape), what)
		for i, want := range [][]float64{y, dx, dk, db} {
			got := slices.Concat(a.outputs, a.more)[i].F
			require.InDeltaSlice(t, want, got, 1e-11, "%s: %d", what, i)
		}
	}
}

// TestChannelsInFrontStay: elements outside all windows are not transposed, and with windows of one element nothing is.
func TestChannelsInFrontStay(t *testing.T) {
	for _, row := range []struct {
		layer layers.Layer
		moved int // number of elements that are transposed
	}{
		{&layers.Conv2D{Filters: 4, KernelSize: []int{1}, Strides: []int{4}, DataFormat: layers.ChannelsFirst}, 0},
		{&layers.Conv2D{Filters: 4, KernelSize: []int{1}, Strides: []int{16}, DataFormat: layers.ChannelsFirst}, 2 * 6}, // a copy of the kernel for each pixel
		{&layers.Conv2D{Filters: 13, KernelSize: []int{1}, DataFormat: layers.ChannelsFirst}, 0},
		{&layers.Conv2D{Filters: 6, KernelSize: []int{1}, Groups: 3, DataFormat: layers.ChannelsFirst}, 0},
		{&layers.DepthwiseConv2D{KernelSize: []int{1}, DataFormat: layers.ChannelsFirst}, 0},
		{&layers.SeparableConv2D{Filters: 5, KernelSize: []int{1}, DataFormat: layers.ChannelsFirst}, 0},
		{&layers.Conv2D{Filters: 4, KernelSize: []int{1}, DataFormat: layers.ChannelsFirst, DType: "bfloat16"}, 2 * 6 * 16 * 16},
		{&layers.Conv2D{Filters: 4, KernelSize: []int{1, 3}, Strides: []int{4, 1}, DataFormat: layers.ChannelsFirst}, 2 * 6 * 4 * 16},
		{&layers.Conv2D{Filters: 4, KernelSize: []int{4}, DilationRate: []int{5}, DataFormat: layers.ChannelsFirst}, 2 * 6 * 4 * 4},
		{&layers.Conv2D{Filters: 4, KernelSize: []int{2}, DataFormat: layers.ChannelsFirst}, 2 * 6 * 16 * 16},
	} {
		buildFor(t, row.layer, 2, 6, 16, 16)
		moved := 0
		layerCall{layer: row.layer, inputs: []opstest.Array{opstest.Normal(1, 2, 6, 16, 16).As(ir.Float32)}, more: func(r *distribute.Replica, _, out []*ops.Tensor) []*ops.Tensor {
			p := r.Graph().Program()
			read := map[ir.Value]bool{}
			for _, n := range p.Nodes {
				for _, v := range n.Inputs {
					read[v] = true
				}
			}
			for _, n := range p.Nodes {
				if n.Op != ir.Transpose || !read[n.Outputs[0]] {
					continue
				}
				if s := p.Type(n.Inputs[0]).Shape; len(s) == 4 && s[0] == 2 && s[1] == 6 {
					moved += s.Size()
				}
			}
			return nil
		}}.run(t)
		require.Equal(t, row.moved, moved, "%T %+v", row.layer, row.layer)
	}
}
