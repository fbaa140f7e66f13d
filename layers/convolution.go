package layers

import (
	"slices"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/ints"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// convolution holds what the convolution layers have in common once their fields are read.
type convolution struct {
	rank                      int // number of spatial axes
	kernelSize                []int
	strides, dilation         []int
	same, causal              bool
	channelsFirst             bool
	outputPadding             []int // of transposed convolutions; nil: worked out
	kernel, pointwise, biases *distribute.Variable
	lora                      lora // of the kernel
}

// convFields are the fields that all convolution layers have, by name.
type convFields struct {
	KernelSize, Strides, DilationRate, OutputPadding []int
	Padding                                          Padding
	DataFormat                                       DataFormat
}

// read checks the fields and the input's rank.
func (v *convolution) read(b *Builder, rank int, f convFields, x ir.Shape) {
	g := b.context.Graph()
	*v = convolution{rank: rank}
	if len(f.KernelSize) == 0 {
		b.Fail("KernelSize is missing; set it to the length of the window, for example []int{3}")
	}
	v.kernelSize = tuple(g, "KernelSize", f.KernelSize, rank, 1, 1)
	v.strides = tuple(g, "Strides", f.Strides, rank, 1, 1)
	v.dilation = tuple(g, "DilationRate", f.DilationRate, rank, 1, 1)
	v.channelsFirst = isChannelsFirst(g, f.DataFormat)
	if v.causal = rank == 1 && f.Padding == Causal; !v.causal {
		v.same = isSame(g, f.Padding)
	}
	if len(x) != rank+2 {
		b.Fail("expected an input %s, received shape %v", spatialForm(rank, v.channelsFirst), x)
	}
	if f.OutputPadding != nil {
		v.outputPadding = tuple(g, "OutputPadding", f.OutputPadding, rank, 0, 0)
		for i, p := range v.outputPadding {
			if p >= v.strides[i] {
				b.Fail("OutputPadding %v must be smaller than Strides %v on every axis", v.outputPadding, v.strides)
			}
		}
	}
}

// oneOfStridesAndDilation refuses strides together with dilation, as Keras does.
func (v *convolution) oneOfStridesAndDilation(b *Builder) {
	if slices.Max(v.strides) > 1 && slices.Max(v.dilation) > 1 {
		b.Fail("Strides %v and DilationRate %v cannot both be above 1; choose one", v.strides, v.dilation)
	}
}

// channels returns the number of input channels.
func (v *convolution) channels(x ir.Shape) int {
	if v.channelsFirst {
		return x[1]
	}
	return x[len(x)-1]
}

// enter transposes the input to (batch, spatial..., channels) and checks its channels.
func (v *convolution) enter(x *ops.Tensor, channels int) *ops.Tensor {
	if x.Rank() != v.rank+2 || !dim.MayEqual(v.channels(x.Shape()), channels) {
		ops.Failf(x.Graph(), "expected an input %s with %d channels (the layer was built with that many), received shape %v", spatialForm(v.rank, v.channelsFirst), channels, x.Shape())
	}
	return toLast(x, v.channelsFirst)
}

// leave adds the bias, restores the order of the axes and applies the activation.
func (v *convolution) leave(c *Context, r convolved, activation any) []*ops.Tensor {
	y := r.y
	if v.biases != nil && !r.biased {
		bias := c.Weight(v.biases)
		if r.inFront {
			bias = ops.Reshape(bias, append([]int{bias.Dim(0)}, ints.Repeat(1, v.rank)...)...)
		}
		y = ops.Add(y, bias)
	}
	return []*ops.Tensor{activate(c, activation, fromLast(y, v.channelsFirst && !r.inFront))}
}

// options returns padding, strides and dilation for an input (batch, spatial..., channels).
func (v *convolution) options(x *ops.Tensor, groups int) ops.ConvOptions {
	o := ops.ConvOptions{Strides: v.strides, Dilation: v.dilation, Groups: groups}
	switch {
	case v.same:
		o.PadLow, o.PadHigh = samePads(x, v.kernelSize, v.strides, v.dilation)
	case v.causal:
		o.PadLow, o.PadHigh = []int{v.dilation[0] * (v.kernelSize[0] - 1)}, []int{0} //dim:known windows are constants
	}
	for i, k := range v.kernelSize {
		length := x.Dim(i + 1)
		if o.PadLow != nil {
			length = dim.Add(length, o.PadLow[i], o.PadHigh[i])
		}
		if span := (k-1)*v.dilation[i] + 1; dim.Less(length, span) { //dim:known windows are constants
			ops.Failf(x.Graph(), "the window %v (dilated %v) is longer than the input %v, so the result would be empty; use a smaller KernelSize, or Padding %q", v.kernelSize, v.dilation, x.Shape(), Same)
		}
	}
	return o
}

// buildConv makes the kernel (window..., channels/groups, filters).
func (v *convolution) buildConv(b *Builder, x ir.Shape, filters, groups int, o WeightOptions) {
	v.oneOfStridesAndDilation(b)
	needFilters(b, filters)
	if groups < 0 {
		b.Fail("Groups must be positive, received %d", groups)
	}
	groups = max(groups, 1)
	channels := v.channels(x)
	b.fixedChannels(x, channels)
	if channels%groups != 0 || filters%groups != 0 { //dim:known
		b.Fail("Groups %d must divide both the %d input channels and Filters %d", groups, channels, filters)
	}
	v.kernel = b.AddWeight("kernel", ints.Concat(v.kernelSize, ir.Shape{channels / groups, filters}), o) //dim:known
}

// buildTransposed makes the kernel (window..., filters, channels).
func (v *convolution) buildTransposed(b *Builder, x ir.Shape, filters int, o WeightOptions) {
	v.oneOfStridesAndDilation(b)
	needFilters(b, filters)
	b.fixedChannels(x, v.channels(x))
	v.kernel = b.AddWeight("kernel", ints.Concat(v.kernelSize, ir.Shape{filters, v.channels(x)}), o)
}

// buildDepthwise makes the kernel (window..., channels, multiplier) and returns the number of results.
func (v *convolution) buildDepthwise(b *Builder, name string, x ir.Shape, multiplier int, o WeightOptions) int {
	if multiplier < 0 {
		b.Fail("DepthMultiplier must be positive, received %d", multiplier)
	}
	multiplier = max(multiplier, 1)
	b.fixedChannels(x, v.channels(x))
	v.kernel = b.AddWeight(name, ints.Concat(v.kernelSize, ir.Shape{v.channels(x), multiplier}), o)
	return v.channels(x) * multiplier //dim:known
}

// buildPointwise makes the kernel (1..., channels, filters).
func (v *convolution) buildPointwise(b *Builder, channels, filters int, o WeightOptions) {
	needFilters(b, filters)
	v.pointwise = b.AddWeight("pointwise_kernel", append(slices.Repeat(ir.Shape{1}, v.rank), channels, filters), o)
}

func (v *convolution) buildBias(b *Builder, filters int, noBias bool, o WeightOptions) {
	if !noBias {
		o.Initializer = orDefault(o.Initializer, "zeros")
		v.biases = b.AddWeight("bias", ir.Shape{filters}, o)
	}
}

func needFilters(b *Builder, filters int) {
	if filters <= 0 {
		b.Fail("Filters must be positive, received %d; set it to the number of output channels", filters)
	}
}

// bias returns the bias, or nil if there is none.
func (v *convolution) bias(c *Context) *ops.Tensor {
	if v.biases == nil {
		return nil
	}
	return c.Weight(v.biases)
}

// forwardConv convolves with the kernel (window..., channels/groups, filters).
func (v *convolution) forwardConv(c *Context, x *ops.Tensor, groups int) convolved {
	kernel := v.lora.change(c, c.Weight(v.kernel))
	return v.convolve(x, kernel, v.bias(c), kernel.Dim(-2)*groups, groups) //dim:known weights have fixed axes
}

// depthwise convolves each channel with its own kernels (window..., channels, multiplier). The bias is nil if there is
// none or if a later step adds it. Adding it may be part of the convolution.
func (v *convolution) depthwise(c *Context, x, bias *ops.Tensor) convolved {
	kernel := c.Weight(v.kernel)
	channels := kernel.Dim(-2)
	flat := ints.Concat(kernel.Shape()[:v.rank], ir.Shape{1, dim.Mul(channels, kernel.Dim(-1))})
	return v.convolve(x, ops.Reshape(kernel, flat...), bias, channels, channels)
}

// convolve convolves an input with the given number of channels in groups.
func (v *convolution) convolve(x, kernel, bias *ops.Tensor, channels, groups int) convolved {
	last := v.enter(x, channels)
	o := v.options(last, groups)
	if v.channelsFirst {
		return inFront(x, kernel, bias, o)
	}
	return convolved{y: ops.Conv(last, kernel, o)}
}

// mix convolves the result of depthwise with a kernel (1..., channels, filters).
func (v *convolution) mix(c *Context, z convolved) convolved {
	if z.inFront {
		return inFront(z.y, c.Weight(v.pointwise), v.bias(c), ops.ConvOptions{Strides: ints.Repeat(1, v.rank), Dilation: ints.Repeat(1, v.rank)})
	}
	return convolved{y: ops.Conv(z.y, c.Weight(v.pointwise), ops.ConvOptions{})}
}

// transposed enlarges x by the gradient of a convolution whose kernel is (window..., filters, channels).
func (v *convolution) transposed(c *Context, x *ops.Tensor) convolved {
	kernel := c.Weight(v.kernel)
	return convolved{y: v.spread(v.enter(x, kernel.Dim(-1)), kernel)}
}

// spread is transposed for an input (batch, spatial..., channels).
func (v *convolution) spread(x, kernel *ops.Tensor) *ops.Tensor {
	o := ops.ConvOptions{Strides: v.strides, Dilation: v.dilation, PadLow: make([]int, v.rank), PadHigh: make([]int, v.rank)}
	shape := x.Shape().Clone()
	shape[v.rank+1] = kernel.Dim(-2)
	for i := range v.rank {
		padding := -1
		if v.outputPadding != nil {
			padding = v.outputPadding[i]
		}
		left, right := transposedPads(v.kernelSize[i], v.strides[i], v.dilation[i], padding, v.same)
		span := (v.kernelSize[i]-1)*v.dilation[i] + 1 //dim:known windows are constants
		between := dim.Mul(dim.Sub(x.Dim(i+1), 1), v.strides[i])
		shape[i+1] = dim.Sub(dim.Add(between, left, right, 2), span)
		// The forward convolution pads what is missing here. Cells that it never reaches stay zero.
		o.PadLow[i], o.PadHigh[i] = span-1-left, max(span-1-right, 0) //dim:known windows are constants
		if dim.Less(shape[i+1], 1) {
			ops.Failf(x.Graph(), "the result would have length %d on spatial axis %d for an input %v; use a larger OutputPadding or KernelSize", shape[i+1], i, x.Shape())
		}
	}
	return ops.ConvTranspose(x, kernel, shape, o)
}

// transposedPads returns the zeros before and after an axis that is spread out by its stride and then convolved, by
// Keras's rule. outputPadding is -1 if it is not given.
//
//dim:known windows are constants
func transposedPads(window, stride, dilation, outputPadding int, same bool) (left, right int) {
	span := (window-1)*dilation + 1
	if !same {
		if outputPadding < 0 {
			outputPadding = max(span, stride) - span
		}
		return span - 1, span - 1 + outputPadding
	}
	total := stride + span - 2
	if outputPadding >= 0 {
		total = span + span%2 - 2 + outputPadding
	}
	left = min(total/2+total%2, span-1)
	return left, total - left
}

// fixedChannels reports an error if the number of input channels is open, because no kernel can be made then.
func (b *Builder) fixedChannels(x ir.Shape, channels int) {
	if !dim.Known(channels) {
		b.Fail("the channel axis of the input must have a fixed length, received shape %v; give it one in the shape of the input", x)
	}
}
