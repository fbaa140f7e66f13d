package reference

import "github.com/gokeras/gokeras/kernels/ir"

// connections visits every multiplication of a convolution: the positions of the input, kernel and output elements that
// meet. Input channels of a group are consecutive, and so are its output channels.
func connections(x, kernel, y ir.Shape, a ir.ConvAttrs, visit func(xi, ki, yi int)) {
	n := len(x) - 2
	inGroup, outGroup := kernel[n], kernel[n+1]/a.Groups
	xAt := make([]int, n+2)
	for yi, yAt := range indices(y) {
		channel := yAt[n+1]
		for _, tap := range indices(kernel[:n+1]) { // window offsets and the input channel in its group
			xAt[0] = yAt[0]
			inside := true
			for d := range n {
				xAt[1+d] = yAt[1+d]*a.Strides[d] + tap[d]*a.Dilation[d] - a.PadLow[d]
				inside = inside && xAt[1+d] >= 0 && xAt[1+d] < x[1+d]
			}
			if !inside {
				continue
			}
			xAt[n+1] = channel/outGroup*inGroup + tap[n]
			visit(position(x, xAt), position(kernel[:n+1], tap)*kernel[n+1]+channel, yi)
		}
	}
}

func (c *call) conv() error {
	x, kernel, y := c.in[0], c.in[1], c.out[0]
	connections(x.Type.Shape, kernel.Type.Shape, y.Type.Shape, c.node.Attrs.(ir.ConvAttrs), func(xi, ki, yi int) {
		y.F[yi] += x.F[xi] * kernel.F[ki]
	})
	return nil
}

func (c *call) convInputGrad() error {
	dy, kernel, dx := c.in[0], c.in[1], c.out[0]
	connections(dx.Type.Shape, kernel.Type.Shape, dy.Type.Shape, c.node.Attrs.(ir.ConvGradAttrs).Conv, func(xi, ki, yi int) {
		dx.F[xi] += dy.F[yi] * kernel.F[ki]
	})
	return nil
}

func (c *call) convKernelGrad() error {
	x, dy, dkernel := c.in[0], c.in[1], c.out[0]
	connections(x.Type.Shape, dkernel.Type.Shape, dy.Type.Shape, c.node.Attrs.(ir.ConvGradAttrs).Conv, func(xi, ki, yi int) {
		dkernel.F[ki] += x.F[xi] * dy.F[yi]
	})
	return nil
}
