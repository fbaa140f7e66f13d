package ops

import "github.com/gokeras/gokeras/kernels/ir"

// PackedEmbedding returns the rows (indices..., columns) of a table of integers of four or eight bits that indices
// select, as floats of the type of scale. table is int8 (rows, bytes); with four bits, a byte holds two neighbours, the
// first one in its lower bits, as [github.com/gokeras/gokeras/layers/quantizers.PackInt4] writes them. Without zero,
// scale is (rows), block is 0, and the integers q of a row are multiplied by the reciprocal of its scale. With zero,
// which is int8, bits are 4, both are (rows, ⌈columns/block⌉), and q stands for (q - zero)·scale of block
// ⌊column/block⌋. Indices must be in [0, rows); others are an error when the program runs. Floats are truncated to
// integers, as in Keras.
func PackedEmbedding(table, indices, scale, zero *Tensor, columns, block, bits int) *Tensor {
	if !indices.DType().IsInteger() {
		indices = Cast(indices, ir.Int32)
	}
	in := []*Tensor{table, indices, scale}
	if zero != nil {
		in = append(in, zero)
	}
	return apply1(ir.PackedEmbedding, ir.PackedEmbeddingAttrs{Columns: columns, Block: block, Bits: bits}, in...)
}
