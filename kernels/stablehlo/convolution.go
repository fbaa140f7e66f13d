package stablehlo

import (
	"fmt"
	"strings"

	"github.com/gokeras/gokeras/kernels/ir"
)

func init() {
	lowerings[ir.Conv] = (*emitter).conv
	lowerings[ir.ConvInputGrad] = (*emitter).convInputGrad
	lowerings[ir.ConvKernelGrad] = (*emitter).convKernelGrad
}

// window says how the kernel of a convolution meets its input, axis by axis.
type window struct{ stride, low, high, inputDilation, kernelDilation []int }

func newWindow(n int) window {
	return window{stride: ones(n), low: make([]int, n), high: make([]int, n), inputDilation: ones(n), kernelDilation: ones(n)}
}

// axes names the axes of an operand: first, the spatial ones, and the last two or one. "b f" gives [b, 0, 1, f].
func axes(n int, before, after string) string {
	var all []string
	if before != "" {
		all = append(all, before)
	}
	for i := range n {
		all = append(all, fmt.Sprint(i))
	}
	return "[" + strings.Join(append(all, after), ", ") + "]"
}

// convolve writes a convolution; results of 16-bit floats are summed in float32.
func (e *emitter) convolve(x, kernel value, numbers string, w window, featureGroups, batchGroups int, shape ir.Shape) value {
	d := x.dtype()
	x, kernel = e.wide(x), e.wide(kernel)
	t := ir.Type{DType: x.dtype(), Shape: shape}
	if shape.Size() == 0 || x.shape().Size() == 0 || kernel.shape().Size() == 0 {
		return e.convert(e.splat(t, 0), d)
	}
	operands, result, _ := strings.Cut(numbers, "->")
	left, right, _ := strings.Cut(operands, "x")
	x, kernel = e.wholeImages(x, left), e.wholeImages(kernel, right)
	pads := make([]string, len(w.low))
	for i := range pads {
		pads[i] = list([]int{w.low[i], w.high[i]})
	}
	y := e.definef(t, "stablehlo.convolution(%s, %s) dim_numbers = %s, window = {stride = %s, pad = [%s], lhs_dilate = %s, rhs_dilate = %s} {batch_group_count = %d : i64, feature_group_count = %d : i64, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (%s, %s) -> %s",
		x.name, kernel.name, numbers, list(w.stride), strings.Join(pads, ", "), list(w.inputDilation), list(w.kernelDilation), batchGroups, featureGroups, tensor(x.typ), tensor(kernel.typ), tensor(t))
	return e.convert(e.wholeImages(y, result), d)
}

func (e *emitter) conv(n *ir.Node, in []value) []value {
	a := n.Attrs.(ir.ConvAttrs)
	shape, err := ir.ConvShape(in[0].shape(), in[1].shape(), a)
	if err != nil {
		e.failf("%v", err)
	}
	spatial := len(a.Strides)
	w := newWindow(spatial)
	w.stride, w.low, w.high, w.kernelDilation = a.Strides, a.PadLow, a.PadHigh, a.Dilation
	numbers := axes(spatial, "b", "f") + "x" + axes(spatial, "", "i, o") + "->" + axes(spatial, "b", "f")
	return []value{e.convolve(in[0], in[1], numbers, w, a.Groups, 1, shape)}
}

// convInputGrad convolves dy, spread by the strides, with the reversed kernel.
func (e *emitter) convInputGrad(n *ir.Node, in []value) []value {
	a := n.Attrs.(ir.ConvGradAttrs)
	dy, kernel := in[0], in[1]
	spatial := len(a.Conv.Strides)
	w := newWindow(spatial)
	w.inputDilation, w.kernelDilation = a.Conv.Strides, a.Conv.Dilation
	turned := make([]int, spatial)
	for i := range spatial {
		turned[i] = i
		reach := (kernel.shape()[i] - 1) * a.Conv.Dilation[i] // length of the kernel beyond one cell
		spread := (dy.shape()[i+1]-1)*a.Conv.Strides[i] + 1
		w.low[i] = reach - a.Conv.PadLow[i]
		w.high[i] = a.Shape[i+1] - spread - w.low[i] + reach
	}
	if dy.shape().Size() == 0 || kernel.shape().Size() == 0 {
		return []value{e.splat(ir.Type{DType: dy.dtype(), Shape: a.Shape}, 0)}
	}
	channels := "o, i" // the kernel maps back, from outputs to inputs
	if a.Conv.Groups > 1 {
		kernel, channels = e.swapGroups(kernel, spatial, a.Conv.Groups), "i, o"
	}
	numbers := axes(spatial, "b", "f") + "x" + axes(spatial, "", channels) + "->" + axes(spatial, "b", "f")
	return []value{e.convolve(dy, e.reverse(kernel, turned), numbers, w, a.Conv.Groups, 1, a.Shape)}
}

// swapGroups turns a kernel (window..., in/groups, out) into one that maps outputs to inputs, (window..., out/groups,
// in).
func (e *emitter) swapGroups(kernel value, spatial, groups int) value {
	s := kernel.shape()
	in, out := s[spatial], s[spatial+1]
	window := s[:spatial]
	split := e.reshape(kernel, append(window.Clone(), in, groups, out/groups)...)
	perm := make([]int, spatial, spatial+3)
	for i := range perm {
		perm[i] = i
	}
	swapped := e.transpose(split, append(perm, spatial+2, spatial+1, spatial))
	return e.reshape(swapped, append(window.Clone(), out/groups, groups*in)...)
}

// convKernelGrad convolves x with dy as the kernel: batch and channels exchange their roles.
func (e *emitter) convKernelGrad(n *ir.Node, in []value) []value {
	a := n.Attrs.(ir.ConvGradAttrs)
	x, dy := in[0], in[1]
	if a.Conv.Groups > 1 && e.partitions > 1 && x.shape().Size() > 0 && dy.shape().Size() > 0 {
		return []value{e.groupedKernelGrad(a, x, dy)}
	}
	spatial := len(a.Conv.Strides)
	w := newWindow(spatial)
	w.stride, w.kernelDilation = a.Conv.Dilation, a.Conv.Strides
	for i := range spatial {
		spread := (dy.shape()[i+1]-1)*a.Conv.Strides[i] + 1
		w.low[i] = a.Conv.PadLow[i]
		w.high[i] = (a.Shape[i]-1)*a.Conv.Dilation[i] + spread - x.shape()[i+1] - w.low[i]
	}
	numbers := axes(spatial, "f", "b") + "x" + axes(spatial, "i", "o") + "->" + axes(spatial, "", "b, f")
	return []value{e.convolve(x, dy, numbers, w, 1, a.Conv.Groups, a.Shape)}
}

// groupedKernelGrad is convKernelGrad for several groups of channels, as a product for each cell of the kernel. XLA's
// partitioners, both GSPMD and Shardy, compute wrong results for a convolution with batch groups that is divided.
func (e *emitter) groupedKernelGrad(a ir.ConvGradAttrs, x, dy value) value {
	spatial, groups, d := len(a.Conv.Strides), a.Conv.Groups, x.dtype()
	image := axes(spatial, "b", "f")
	x, dy = e.wholeImages(e.wide(x), image), e.wholeImages(e.wide(dy), image)
	rank := spatial + 2
	low, high := make([]int, rank), make([]int, rank)
	for i := range spatial {
		low[i+1] = a.Conv.PadLow[i]
		high[i+1] = (a.Shape[i]-1)*a.Conv.Dilation[i] + (dy.shape()[i+1]-1)*a.Conv.Strides[i] + 1 - x.shape()[i+1] - low[i+1]
	}
	x = e.pad(x, e.splat(ir.Type{DType: x.dtype()}, 0), low, high, make([]int, rank))
	split := func(v value) value { // channels to groups of channels
		s, last := v.shape(), v.shape()[rank-1]
		return e.reshape(v, append(s[:rank-1].Clone(), groups, last/groups)...)
	}
	product := ir.DotAttrs{LhsBatch: []int{rank - 1}, RhsBatch: []int{rank - 1}}
	for i := range rank - 1 {
		product.LhsContract, product.RhsContract = append(product.LhsContract, i), append(product.RhsContract, i)
	}
	dy = split(dy)
	in, out := a.Shape[spatial], a.Shape[spatial+1]
	var cells []value
	at := make([]int, spatial)
	for range a.Shape[:spatial].Size() {
		start, limit, stride := make([]int, rank), x.shape().Clone(), ones(rank)
		for i, k := range at {
			start[i+1], stride[i+1] = k*a.Conv.Dilation[i], a.Conv.Strides[i]
			limit[i+1] = start[i+1] + (dy.shape()[i+1]-1)*stride[i+1] + 1
		}
		cell := e.dot(product, split(e.slice(x, start, limit, stride)), dy) // groups, in, out/groups
		cells = append(cells, e.reshape(e.transpose(cell, []int{1, 0, 2}), 1, in, out))
		for i := spatial - 1; i >= 0; i-- {
			if at[i]++; at[i] < a.Shape[i] {
				break
			}
			at[i] = 0
		}
	}
	return e.convert(e.reshape(e.concat(0, cells...), a.Shape...), d)
}
