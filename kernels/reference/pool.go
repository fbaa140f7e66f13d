package reference

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
)

// windows visits the outputs of a pooling op with the positions of the real input cells in their windows, in row-major
// order.
func windows(x, y ir.Shape, a ir.PoolAttrs, visit func(yi int, cells []int)) {
	n := len(x) - 2
	xAt := make([]int, n+2)
	for yi, yAt := range indices(y) {
		var cells []int
		for _, tap := range indices(a.Window) {
			xAt[0], xAt[n+1] = yAt[0], yAt[n+1]
			inside := true
			for d := range n {
				xAt[1+d] = yAt[1+d]*a.Strides[d] + tap[d] - a.PadLow[d]
				inside = inside && xAt[1+d] >= 0 && xAt[1+d] < x[1+d]
			}
			if inside {
				cells = append(cells, position(x, xAt))
			}
		}
		visit(yi, cells)
	}
}

func (c *call) maxPool() error {
	x, y := c.in[0], c.out[0]
	windows(x.Type.Shape, y.Type.Shape, c.node.Attrs.(ir.PoolAttrs), func(yi int, cells []int) {
		y.F[yi] = math.Inf(-1)
		for _, xi := range cells {
			y.F[yi] = maximum(y.F[yi], x.F[xi])
		}
	})
	return nil
}

func (c *call) maxPoolGrad() error {
	x, dy, dx := c.in[0], c.in[2], c.out[0]
	windows(x.Type.Shape, dy.Type.Shape, c.node.Attrs.(ir.PoolAttrs), func(yi int, cells []int) {
		best := cells[0]
		for _, xi := range cells {
			if compareElements(x, xi, best) > 0 {
				best = xi
			}
		}
		dx.F[best] += dy.F[yi]
	})
	return nil
}

func (c *call) avgPool() error {
	x, y := c.in[0], c.out[0]
	windows(x.Type.Shape, y.Type.Shape, c.node.Attrs.(ir.PoolAttrs), func(yi int, cells []int) {
		for _, xi := range cells {
			y.F[yi] += x.F[xi]
		}
		y.F[yi] /= float64(len(cells))
	})
	return nil
}

func (c *call) avgPoolGrad() error {
	dy, dx := c.in[0], c.out[0]
	windows(dx.Type.Shape, dy.Type.Shape, c.node.Attrs.(ir.PoolGradAttrs).Pool, func(yi int, cells []int) {
		for _, xi := range cells {
			dx.F[xi] += dy.F[yi] / float64(len(cells))
		}
	})
	return nil
}
