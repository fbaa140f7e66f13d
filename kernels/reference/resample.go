package reference

import "github.com/gokeras/gokeras/kernels/ir"

func (c *call) resample() error {
	a, x, y := c.node.Attrs.(ir.ResampleAttrs), c.in[0], c.out[0]
	from := make([]int, len(x.Type.Shape))
	for k, at := range indices(y.Type.Shape) {
		sum := 0.0
		copy(from, at)
		for t := at[a.Axis] * a.Taps; t < (at[a.Axis]+1)*a.Taps; t++ {
			from[a.Axis] = a.Cells[t]
			sum += a.Weights[t] * x.F[position(x.Type.Shape, from)]
		}
		y.F[k] = sum
	}
	return nil
}
