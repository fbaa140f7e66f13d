package onnx

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// channelsFirst moves the last axis behind the batch axis, and channelsLast moves it back.
func (b *builder) channelsFirst(name string, rank int) string {
	return b.transpose(name, append([]int{0, rank - 1}, count(rank - 1)[1:]...)...)
}

func (b *builder) channelsLast(name string, rank int) string {
	perm := []int{0}
	for i := 2; i < rank; i++ {
		perm = append(perm, i)
	}
	return b.transpose(name, append(perm, 1)...)
}

// kernel converts a kernel (spatial..., in, out) to ONNX's (out, in, spatial...).
func (b *builder) kernel(v ir.Value) (string, error) {
	in, err := b.full(v)
	if err != nil {
		return "", err
	}
	rank := b.trace.Type(v).Shape.Rank()
	return b.transpose(in, append([]int{rank - 1, rank - 2}, count(rank-2)...)...), nil
}

// pads returns the padding of a window, which must not depend on an open axis.
func (b *builder) pads(low, high []int) ([]int, error) {
	return b.fixedInts("padding", slices.Concat(low, high)...)
}

func writeConv(b *builder, n *ir.Node) error {
	a := n.Attrs.(ir.ConvAttrs)
	x, err := b.full(n.Inputs[0])
	if err != nil {
		return err
	}
	pads := slices.Concat(a.PadLow, a.PadHigh)
	if !dim.AllKnown(pads) {
		if x, err = b.padded(x, b.dtype(n.Inputs[0]), a); err != nil {
			return err
		}
		pads = make([]int, len(pads))
	}
	w, err := b.kernel(n.Inputs[1])
	if err != nil {
		return err
	}
	rank := b.trace.Type(n.Inputs[0]).Shape.Rank()
	y := b.add("Conv", list(b.channelsFirst(x, rank), w), convAttributes(a, pads)...)
	b.set(n.Outputs[0], b.channelsLast(y, rank))
	return nil
}

// padded adds the zeros around the images of a convolution, as many as their open axes require.
func (b *builder) padded(x string, d ir.DType, a ir.ConvAttrs) (string, error) {
	none := []int{0}
	pads, err := b.shape(slices.Concat(none, a.PadLow, none, none, a.PadHigh, none))
	if err != nil {
		return "", err
	}
	return b.add("Pad", list(x, pads, b.scalar(d, 0))), nil
}

func convAttributes(a ir.ConvAttrs, pads []int) []attribute {
	return []attribute{{"strides", a.Strides}, {"dilations", a.Dilation}, {"pads", pads}, {"group", max(a.Groups, 1)}}
}

// outputPadding returns what ONNX must add at the ends of a transposed convolution so that the result has its shape. It
// returns false if ONNX cannot.
func outputPadding(t *ir.Program, n *ir.Node) ([]int, bool) {
	a := n.Attrs.(ir.ConvGradAttrs)
	dy, kernel := t.Type(n.Inputs[0]).Shape, t.Type(n.Inputs[1]).Shape
	out := make([]int, len(a.Conv.Strides))
	for i, stride := range a.Conv.Strides {
		span := (kernel[i]-1)*a.Conv.Dilation[i] + 1 //dim:known windows are constants
		made := dim.Sub(dim.Add(dim.Mul(stride, dim.Sub(dy[i+1], 1)), span), dim.Add(a.Conv.PadLow[i], a.Conv.PadHigh[i]))
		out[i] = dim.Sub(a.Shape[i+1], made)
		if !dim.AllKnown([]int{out[i], a.Conv.PadLow[i], a.Conv.PadHigh[i]}) || out[i] < 0 || out[i] >= max(stride, a.Conv.Dilation[i]) || a.Conv.PadLow[i] < 0 || a.Conv.PadHigh[i] < 0 {
			return nil, false
		}
	}
	return out, true
}

func writeConvTranspose(b *builder, n *ir.Node) error {
	a := n.Attrs.(ir.ConvGradAttrs).Conv
	pads, err := b.pads(a.PadLow, a.PadHigh)
	if err != nil {
		return err
	}
	extra, ok := outputPadding(b.trace, n)
	if !ok {
		return b.errorf("the padding of its result follows an open axis; give that axis a length in the shape of the input")
	}
	dy, err := b.full(n.Inputs[0])
	if err != nil {
		return err
	}
	w, err := b.kernel(n.Inputs[1])
	if err != nil {
		return err
	}
	rank := b.trace.Type(n.Inputs[0]).Shape.Rank()
	x := b.add("ConvTranspose", list(b.channelsFirst(dy, rank), w), append(convAttributes(a, pads), attribute{"output_padding", extra})...)
	b.set(n.Outputs[0], b.channelsLast(x, rank))
	return nil
}

func writePool(b *builder, n *ir.Node) error {
	a := n.Attrs.(ir.PoolAttrs)
	pads, err := b.pads(a.PadLow, a.PadHigh)
	if err != nil {
		return err
	}
	window, err := b.fixedInts("window", a.Window...)
	if err != nil {
		return err
	}
	x, err := b.full(n.Inputs[0])
	if err != nil {
		return err
	}
	rank := b.trace.Type(n.Inputs[0]).Shape.Rank()
	attributes := []attribute{{"kernel_shape", window}, {"strides", a.Strides}, {"pads", pads}}
	op := "MaxPool"
	if n.Op == ir.AvgPool {
		op, attributes = "AveragePool", append(attributes, attribute{"count_include_pad", 0})
	}
	y := b.add(op, list(b.channelsFirst(x, rank)), attributes...)
	b.set(n.Outputs[0], b.channelsLast(y, rank))
	return nil
}

func writeLayerNorm(b *builder, n *ir.Node) error {
	in, err := b.fullAll(n.Inputs)
	if err != nil {
		return err
	}
	b.set(n.Outputs[0], b.add("LayerNormalization", in, attribute{"axis", -1}, attribute{"epsilon", n.Attrs.(ir.NormAttrs).Epsilon}))
	return nil
}

func writeSoftmax(b *builder, n *ir.Node) error {
	in, err := b.full(n.Inputs[0])
	if err != nil {
		return err
	}
	op := map[ir.Op]string{ir.Softmax: "Softmax", ir.LogSoftmax: "LogSoftmax"}[n.Op]
	b.set(n.Outputs[0], b.add(op, list(in), attribute{"axis", -1}))
	return nil
}
