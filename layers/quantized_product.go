package layers

import (
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// product multiplies x (..., rows) by a matrix (rows, columns) and adds LoRA's update for x.
func (q *quantized) product(c *Context, x *ops.Tensor, matrix *distribute.Variable, r *lora) *ops.Tensor {
	w := q.small(c, matrix)
	switch {
	case w == nil:
		return r.beside(c, x, q.largeProduct(c, x, matrix))
	case c.Training:
		return r.beside(c, x, ops.Matmul(x, w))
	}
	return ops.Matmul(x, r.change(c, w)) // which predictions keep
}

// largeProduct multiplies x (..., rows) by a matrix (rows, columns) of integers.
func (q *quantized) largeProduct(c *Context, x *ops.Tensor, matrix *distribute.Variable) *ops.Tensor {
	if q.calibrated() {
		return q.calibratedProduct(c, x, matrix)
	}
	if q.staysPacked() {
		return q.packedProduct(c, x, matrix)
	}
	return q.scaled(c, x, q.whole(c, matrix, 1), c.Weight(q.scale))
}

// fewNumbers is the largest number of elements of a matrix that is multiplied as floats. Predictions keep these floats,
// which fit in the second-level cache, and are as fast as with float32 weights. Integers would have to be unpacked each
// time, or be multiplied in several parts.
const fewNumbers = 1 << 16

// small returns the numbers that a matrix stands for (rows, columns), if it is multiplied as float32; nil if it is not.
func (q *quantized) small(c *Context, matrix *distribute.Variable) *ops.Tensor {
	switch {
	case !q.isSmall(c, matrix):
	case q.calibrated():
		return q.calibratedFloats(c, matrix)
	case q.grouped():
		return q.floats(c, q.whole(c, matrix, 1), c.Weight(q.scale), c.Read(q.zero), 0)
	case q.inputs == nil:
		return ops.Divide(ops.Cast(q.whole(c, matrix, 1), ir.Float32), c.Weight(q.scale))
	}
	return nil
}

// isSmall reports whether a matrix of four bits or of a calibrated mode is multiplied as float32.
func (q *quantized) isSmall(c *Context, matrix *distribute.Variable) bool {
	return q.inputsOf(matrix)*q.columns <= fewNumbers && //dim:known a weight's
		c.ComputeDType() == ir.Float32 && q.scale.Type().DType == ir.Float32
}

// staysPacked reports whether floats are multiplied with packed four-bit integers directly.
func (q *quantized) staysPacked() bool { return q.mode == "int4" && (q.grouped() || q.inputs == nil) }

// packedProduct multiplies x (..., rows) by a packed matrix (rows, columns) without unpacking it.
func (q *quantized) packedProduct(c *Context, x *ops.Tensor, matrix *distribute.Variable) *ops.Tensor {
	scale := c.Weight(q.scale)
	if q.grouped() {
		return ops.Cast(ops.PackedMatmul(x, c.Read(matrix), scale, c.Read(q.zero), q.columns, q.block), c.ComputeDType())
	}
	return ops.Divide(ops.Cast(ops.PackedMatmul(x, c.Read(matrix), nil, nil, q.columns, 0), c.ComputeDType()), scale)
}

// bytesProduct multiplies x (..., rows) by integers of eight bits (rows, columns) directly, and divides each column by
// its scale. Converting the matrix to floats would take four times the memory in each call.
//
//dim:known weights have fixed axes
func bytesProduct(x, w, scale *ops.Tensor, compute ir.DType) *ops.Tensor {
	rows, columns, d := w.Dim(0), w.Dim(1), scale.DType()
	if rows == 0 || d == ir.Float64 { // products of float64 with bytes have no vectors
		return ops.Divide(ops.Cast(ops.Matmul(x, ops.Cast(w, x.DType())), compute), scale)
	}
	bytes := ops.View(ops.BitwiseXor(ops.Transpose(w), ops.Scalar(w, -128)), ir.Uint8) // from 0 to 255
	return dividedColumns(scale, columns, compute, func(factors *ops.Tensor) *ops.Tensor {
		return ops.BytesMatmul(x, bytes, factors, ops.Full(x, ir.Uint8, 128, columns, 1), 8, rows)
	})
}

// columnsProduct is bytesProduct for integers of four bits (columns, ⌈rows/2⌉), two neighbours of a row in a byte.
func columnsProduct(x, packed, scale *ops.Tensor, columns, rows int, compute ir.DType) *ops.Tensor {
	return dividedColumns(scale, columns, compute, func(factors *ops.Tensor) *ops.Tensor {
		return ops.PackedColumnsMatmul(x, packed, factors, ops.Full(x, ir.Uint8, rowExcess, columns, 1), columns, rows)
	})
}

// dividedColumns divides the columns of a product by their scales. A product in float32 multiplies its sums by the
// reciprocals before it stores them. In 16 bits the reciprocals would be rounded too much.
func dividedColumns(scale *ops.Tensor, columns int, compute ir.DType, product func(factors *ops.Tensor) *ops.Tensor) *ops.Tensor {
	if d := scale.DType(); d != ir.Float32 {
		return ops.Divide(ops.Cast(product(ops.Ones(scale, d, columns, 1)), compute), scale)
	}
	return ops.Cast(product(ops.Reshape(ops.Reciprocal(scale), columns, 1)), compute)
}

// scaled returns x·w/scale for integers w (rows, columns) with one scale for each column.
func (q *quantized) scaled(c *Context, x, w, scale *ops.Tensor) *ops.Tensor {
	compute := c.ComputeDType()
	if q.inputs == nil {
		return bytesProduct(x, w, scale, compute)
	}
	return ops.CustomGradient(func(xs ...*ops.Tensor) ([]*ops.Tensor, func([]*ops.Tensor) []*ops.Tensor) {
		whole, by := q.inputs.Quantize(xs[0], -1)
		sums := ops.Matmul(ops.Cast(whole, ir.Int32), ops.Cast(w, ir.Int32))
		y := ops.Divide(ops.Cast(sums, compute), ops.Multiply(scale, by))
		return []*ops.Tensor{y}, func(dys []*ops.Tensor) []*ops.Tensor {
			return []*ops.Tensor{ops.Matmul(dys[0], ops.Transpose(ops.Divide(ops.Cast(w, compute), scale)))}
		}
	}, x)[0]
}
