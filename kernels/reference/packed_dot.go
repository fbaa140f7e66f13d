package reference

import "github.com/gokeras/gokeras/kernels/ir"

func (c *call) packedDot() error {
	a := c.node.Attrs.(ir.PackedDotAttrs)
	x, w, y := c.in[0], c.in[1], c.out[0]
	rows, bytes := w.Type.Shape[0], w.Type.Shape[1]
	for i := range y.F {
		row, column := i/a.Columns, i%a.Columns
		for k := range rows {
			two := int8(w.I[k*bytes+column/2])
			number := float64(two >> 4)
			if column%2 == 0 {
				number = float64(two << 4 >> 4)
			}
			if a.Block > 0 {
				at := k/a.Block*a.Columns + column
				number = (number - float64(c.in[3].I[at])) * c.in[2].F[at]
			}
			y.F[i] += x.F[row*rows+k] * number
		}
	}
	return nil
}
