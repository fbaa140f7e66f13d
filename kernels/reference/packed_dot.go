package reference

import "github.com/gokeras/gokeras/kernels/ir"

func (c *call) packedDot() error {
	a := c.node.Attrs.(ir.PackedDotAttrs)
	if a.ByColumns {
		c.packedColumns(a)
		return nil
	}
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

// numberByColumns is one number of a matrix that is packed by columns.
func numberByColumns(w Value, a ir.PackedDotAttrs, k, column int) int64 {
	rows := w.Type.Shape[1]
	if a.Bits > 0 {
		return w.I[column*rows+k]
	}
	return w.I[column/2*rows+k] >> (column % 2 * 4) & 15
}

// packedColumns is packedDot for a matrix that is packed by columns.
func (c *call) packedColumns(a ir.PackedDotAttrs) {
	x, w, y := c.in[0], c.in[1], c.out[0]
	rows := w.Type.Shape[1]
	blocks := (rows + a.Block - 1) / a.Block
	for i := range y.F {
		row, column := i/a.Columns, i%a.Columns
		for k := range rows {
			number := numberByColumns(w, a, k, column)
			at := column*blocks + k/a.Block
			y.F[i] += x.F[row*rows+k] * float64(number-c.in[3].I[at]) * c.in[2].F[at]
		}
	}
}
