package partition

import "github.com/gokeras/gokeras/kernels/ir"

// Labels of convolutions.
const (
	examples = iota
	channelsIn
	channelsOut
)

// images are the labels of (examples, places, channels), kernels those of (places, channels in, channels out). The
// channels of a convolution in groups are whole.
func images(p *ir.Program, v ir.Value, channels, groups int) []int {
	out := ranked(nil, len(p.Type(v).Shape))
	out[0] = examples
	if groups == 1 {
		out[len(out)-1] = channels
	}
	return out
}

func filters(rank, groups int) []int {
	out := ranked(nil, rank)
	if groups == 1 {
		out[rank-2], out[rank-1] = channelsIn, channelsOut
	}
	return out
}

// conv: sums over the channels of the input are partial.
func conv(p *ir.Program, n *ir.Node) *labels {
	g := n.Attrs.(ir.ConvAttrs).Groups
	return &labels{
		in:      [][]int{images(p, n.Inputs[0], channelsIn, g), filters(len(p.Type(n.Inputs[1]).Shape), g)},
		out:     [][]int{images(p, n.Outputs[0], channelsOut, g)},
		combine: ir.Sum,
	}
}

// shaped gives a gradient the shape of its part.
func shaped(a ir.ConvGradAttrs) func(t []ir.Type) ir.Attrs {
	return func(t []ir.Type) ir.Attrs { return ir.ConvGradAttrs{Conv: a.Conv, Shape: t[0].Shape} }
}

func convInputGrad(p *ir.Program, n *ir.Node) *labels {
	a := n.Attrs.(ir.ConvGradAttrs)
	g := a.Conv.Groups
	return &labels{
		in:      [][]int{images(p, n.Inputs[0], channelsOut, g), filters(len(p.Type(n.Inputs[1]).Shape), g)},
		out:     [][]int{images(p, n.Outputs[0], channelsIn, g)},
		combine: ir.Sum, attrs: shaped(a),
	}
}

func convKernelGrad(p *ir.Program, n *ir.Node) *labels {
	a := n.Attrs.(ir.ConvGradAttrs)
	g := a.Conv.Groups
	return &labels{
		in:      [][]int{images(p, n.Inputs[0], channelsIn, g), images(p, n.Inputs[1], channelsOut, g)},
		out:     [][]int{filters(len(a.Shape), g)},
		combine: ir.Sum, attrs: shaped(a),
	}
}

func avgPoolGrad(p *ir.Program, n *ir.Node) *labels {
	l, a := firstAndLast(p, n), n.Attrs.(ir.PoolGradAttrs)
	l.attrs = func(t []ir.Type) ir.Attrs { return ir.PoolGradAttrs{Pool: a.Pool, Shape: t[0].Shape} }
	return l
}
