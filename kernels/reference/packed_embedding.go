package reference

import "github.com/gokeras/gokeras/kernels/ir"

// packedEmbedding unpacks and scales the rows that the indices select.
func (c *call) packedEmbedding() error {
	a := c.node.Attrs.(ir.PackedEmbeddingAttrs)
	table, where, scale, y := c.in[0], c.in[1], c.in[2], c.out[0]
	rows, bytes := table.Type.Shape[0], table.Type.Shape[1]
	for i := range where.Type.Shape.Size() {
		row, _, err := lookup(where, i, ir.IndexError, 0, rows)
		if err != nil {
			return err
		}
		for j := range a.Columns {
			number := int8(0)
			switch {
			case a.Bits == 8:
				number = int8(table.I[row*bytes+j])
			case j%2 == 0:
				number = int8(table.I[row*bytes+j/2]) << 4 >> 4
			default:
				number = int8(table.I[row*bytes+j/2]) >> 4
			}
			if a.Block == 0 {
				y.F[i*a.Columns+j] = float64(number) / scale.F[row]
				continue
			}
			at := row*((a.Columns+a.Block-1)/a.Block) + j/a.Block
			y.F[i*a.Columns+j] = (float64(number) - float64(c.in[3].I[at])) * scale.F[at]
		}
	}
	return nil
}
