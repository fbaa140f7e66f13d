package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// A matrix of four bits holds columns 2j and 2j+1 in the lower and upper half of a byte, so 32 bits hold eight columns.
// Its product is eight, of every eighth column each, whose results are interleaved: results are small, and the matrix
// is never unpacked to bytes, of which vectors have less arithmetic. Blocks of inputs that share a scale are an axis of
// their own, along which scales are broadcast.

const nibbles = 8 // of 32 bits

// goesByNibbles reports whether a packed matrix has whole blocks of rows and whole groups of columns.
func (q *quantized) goesByNibbles(packed *ops.Tensor) bool {
	rows := packed.Dim(0)
	return q.grouped() && rows > 0 && rows%q.block == 0 && q.columns%nibbles == 0 //dim:known weights have fixed axes
}

// nibbleProduct is x (..., rows) times a matrix (rows, columns) in blocks.
func (q *quantized) nibbleProduct(c *Context, x, packed *ops.Tensor) *ops.Tensor {
	scale := c.Weight(q.scale)
	zero := ops.Cast(c.Read(q.zero), scale.DType())
	rows, blocks, words := packed.Dim(0), scale.Dim(0), q.columns/nibbles //dim:known weights have fixed axes
	bits := ops.Reshape(ops.View(ops.Reshape(packed, rows, words, 4), ir.Int32), blocks, q.block, words)
	results := make([]*ops.Tensor, nibbles)
	for i := range results {
		every := func(x *ops.Tensor) *ops.Tensor {
			return ops.Reshape(ops.SliceAxis(ops.Reshape(x, blocks, words, nibbles), 2, i, i+1), blocks, 1, words)
		}
		// Moved to the highest four bits, the number is 2^28 times what it is.
		high := ops.BitwiseAnd(ops.MultiplyScalar(bits, float64(int(1)<<(28-4*i))), ops.Scalar(bits, -1<<28))
		number := ops.MultiplyScalar(ops.Cast(high, ir.Float32), 0x1p-28)
		w := ops.Multiply(ops.Subtract(ops.Cast(number, scale.DType()), every(zero)), every(scale))
		results[i] = ops.Matmul(x, ops.Cast(ops.Reshape(w, rows, words), c.ComputeDType()))
	}
	shape := x.Shape().Clone()
	shape[len(shape)-1] = q.columns
	return ops.Reshape(ops.Stack(-1, results...), shape...)
}
