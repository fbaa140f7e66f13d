package layers

import (
	"slices"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers/quantizers"
)

// packedRows is a table (n, length) with scales for each row, or for blocks of each row.
func packedRows(n, length, block int) packing {
	return packing{name: "embeddings", shape: ir.Shape{n, length}, axis: 1, scale: ir.Shape{n}, grouped: ir.Shape{n, groupsOf(length, block)}, zero: ir.Int8, length: length}
}

// rows looks up vectors in a table of integers.
func (q *quantized) rows(c *Context, r *lora, table *distribute.Variable, ids *ops.Tensor) *ops.Tensor {
	compute := c.ComputeDType()
	var zero *ops.Tensor
	if q.grouped() {
		zero = c.Read(q.zero)
	}
	bits := 8
	if q.mode == "int4" {
		bits = 4
	}
	y := ops.PackedEmbedding(c.Read(table), ids, c.Read(q.scale), zero, q.columns, max(q.block, 0), bits)
	if r.a == nil {
		return ops.Cast(y, compute) // which the scales may not have
	}
	change := ops.Matmul(ops.Embedding(c.Read(r.a), ids), c.Read(r.b))
	return ops.Cast(ops.Add(y, ops.MultiplyScalar(change, r.scale)), compute)
}

// rowExcess is the offset of unsigned four-bit numbers.
const rowExcess = 8

// quantizeRows is quantizeMatrix with one scale per row, for tables of vectors.
func quantizeRows(c quantizers.Config, m kernels.Array) (parts []kernels.Array, err error) {
	if four, ok := c.(*quantizers.Int4QuantizationConfig); ok && four.Block() > 0 {
		return inSlabs(m, func(m kernels.Array) ([]kernels.Array, error) {
			g, err := quantizers.QuantizeGrouped(transposedArray(m), four.Block())
			if err != nil {
				return nil, err
			}
			packed, err := quantizers.PackInt4(transposedArray(g.Values), 1)
			return []kernels.Array{packed, transposedArray(g.Scale), transposedArray(g.Zero)}, err
		})
	}
	w, scale, err := weightQuantizer(c).QuantizeArray(m, -1)
	if err == nil && c.Mode() == "int4" {
		w, err = quantizers.PackInt4(w, 1)
	}
	if err != nil {
		return nil, err
	}
	return []kernels.Array{w, reshaped(scale, m.Type.Shape[0])}, nil
}

// dequantizeRows is the inverse of quantizeRows.
//
//dim:known weights have fixed axes
func (q *quantized) dequantizeRows(parts []kernels.Array) (kernels.Array, error) {
	w, scale := parts[0], parts[1]
	if q.mode == "int4" {
		var err error
		if w, err = quantizers.UnpackInt4(w, q.columns, 1); err != nil {
			return w, err
		}
	}
	if q.grouped() {
		m, err := quantizers.Grouped{Values: transposedArray(w), Scale: transposedArray(scale), Zero: transposedArray(parts[2])}.Dequantize(q.block)
		if err != nil {
			return m, err
		}
		return transposedArray(m), nil
	}
	values, scales := w.Float64s(), scale.Float64s()
	for i := range values {
		values[i] /= scales[i/w.Type.Shape[1]]
	}
	return kernels.FromFloat64s(scale.Type.DType, w.Type.Shape, values)
}

// reverseActivations holds the quantizers of the vectors that are turned back into scores.
var reverseActivations = map[string]quantizers.Quantizer{"int8": &quantizers.AbsMaxQuantizer{}, "int4": &quantizers.AbsMaxQuantizer{}}

func (l *ReversibleEmbedding) buildQuantized(b *Builder) {
	l.embeddings = b.addMatrix(&l.whole, packedRows(l.InputDim, l.OutputDim, l.whole.block))
	l.wholeReverse = l.whole
	if l.UntiedWeights {
		l.reverse = b.addMatrix(&l.wholeReverse, packing{name: "reverse_embeddings", unindexed: true, shape: ir.Shape{l.OutputDim, l.InputDim}, axis: 0,
			scale: ir.Shape{l.InputDim}, grouped: ir.Shape{groupsOf(l.OutputDim, l.whole.block), l.InputDim}})
	}
}

// quantizedScores computes scores with a matrix of integers. As in Keras, LoRA then affects only the lookup.
func (l *ReversibleEmbedding) quantizedScores(c *Context, x *ops.Tensor) *ops.Tensor {
	q := &l.wholeReverse
	scale := c.Weight(q.scale)
	if q.grouped() || q.inputs == nil {
		if w := l.smallScores(c); w != nil {
			return ops.Matmul(q.rounded(x), w)
		}
	}
	switch {
	case q.grouped() && l.reverse != nil:
		packed := packNeighbours(q.whole(c, l.reverse, 0), 1)
		return ops.Cast(ops.PackedMatmul(q.rounded(x), packed, scale, ops.Cast(c.Read(q.zero), ir.Int8), l.InputDim, q.block), c.ComputeDType())
	case q.grouped():
		zero := ops.View(ops.AddScalar(c.Read(q.zero), rowExcess), ir.Uint8)
		return ops.Cast(ops.PackedColumnsMatmul(q.rounded(x), l.packedColumns(c), scale, zero, l.InputDim, q.block), c.ComputeDType())
	case q.staysPacked() && scale.DType() != ir.Float64 && l.reverse != nil:
		packed := packNeighbours(q.whole(c, l.reverse, 0), 1)
		return ops.Divide(ops.Cast(ops.PackedMatmul(x, packed, nil, nil, l.InputDim, 0), c.ComputeDType()), scale)
	case q.staysPacked() && scale.DType() != ir.Float64:
		return columnsProduct(x, l.packedColumns(c), scale, l.InputDim, l.OutputDim, c.ComputeDType())
	case l.reverse != nil:
		return q.scaled(c, x, q.whole(c, l.reverse, 0), scale)
	}
	return q.scaled(c, x, ops.Transpose(q.whole(c, l.embeddings, 1)), scale)
}

// smallScores returns the numbers of the matrix (output, input) that scores are computed with, if predictions multiply
// by them as float32, as they do by those of small kernels; nil if not.
func (l *ReversibleEmbedding) smallScores(c *Context) *ops.Tensor {
	q := &l.wholeReverse
	if l.InputDim*l.OutputDim > fewNumbers || c.ComputeDType() != ir.Float32 || q.scale.Type().DType != ir.Float32 {
		return nil
	}
	matrix, axis := l.embeddings, 1 // of the vectors' elements
	if l.reverse != nil {
		matrix, axis = l.reverse, 0
	}
	w, scale := q.whole(c, matrix, axis), c.Weight(q.scale)
	switch {
	case q.grouped():
		w = q.floats(c, w, scale, c.Read(q.zero), axis)
	case axis == 1:
		w = ops.Divide(ops.Cast(w, ir.Float32), ops.ExpandDims(scale, 1))
	default:
		w = ops.Divide(ops.Cast(w, ir.Float32), scale)
	}
	if axis == 1 {
		w = ops.Transpose(w)
	}
	return w
}

// packedColumns returns the four-bit table with two neighbouring rows in a byte, each number from 0 to 15.
func (l *ReversibleEmbedding) packedColumns(c *Context) *ops.Tensor {
	return ops.View(packNeighbours(ops.AddScalar(l.wholeReverse.whole(c, l.embeddings, 1), rowExcess), 0), ir.Uint8)
}

// packNeighbours puts two neighbours along an axis of a matrix into one byte, as quantizers.PackInt4 does.
//
//dim:known weights have fixed axes
func packNeighbours(whole *ops.Tensor, axis int) *ops.Tensor {
	shape := slices.Clone(whole.Shape())
	if shape[axis]%2 == 1 {
		high := make([]int, 2)
		high[axis] = 1
		whole = ops.Pad(whole, make([]int, 2), high, 0)
		shape[axis]++
	}
	pairs := ops.Reshape(whole, append(append(slices.Clone(shape[:axis]), shape[axis]/2, 2), shape[axis+1:]...)...)
	half := func(k int) *ops.Tensor {
		start, limit := make([]int, 3), slices.Clone(pairs.Shape())
		start[axis+1], limit[axis+1] = k, k+1
		return ops.Squeeze(ops.Slice(pairs, start, limit), axis+1)
	}
	low, high := half(0), half(1)
	return ops.BitwiseOr(ops.BitwiseAnd(low, ops.Scalar(low, 15)), ops.LeftShift(high, ops.Scalar(high, 4)))
}

// rounded returns x rounded by its quantizer, in floats. The gradient passes through.
func (q *quantized) rounded(x *ops.Tensor) *ops.Tensor {
	if q.inputs == nil {
		return x
	}
	return ops.CustomGradient(func(xs ...*ops.Tensor) ([]*ops.Tensor, func([]*ops.Tensor) []*ops.Tensor) {
		whole, by := q.inputs.Quantize(xs[0], -1)
		return []*ops.Tensor{ops.Divide(ops.Cast(whole, by.DType()), by)}, func(dys []*ops.Tensor) []*ops.Tensor { return dys }
	}, x)[0]
}

// Quantize converts the embeddings of a built layer, and reverse_embeddings if there are any, to integers of eight or
// four bits; see [Dense.Quantize]. They are not trained. The gradient of vectors in Reverse is that of the product with
// the dequantized matrix; in Keras it only flows through the scale.
func (l *ReversibleEmbedding) Quantize(how any) error {
	if !l.built {
		return l.quantizeBase(how, nil, nil, nil, nil, nil, nil)
	}
	table, reverse, before, beforeReverse := l.embeddings, l.reverse, l.whole, l.wholeReverse
	old := []*distribute.Variable{table}
	if reverse != nil {
		old = append(old, reverse)
	}
	err := l.quantizeBase(how, old, &l.DType, &l.QuantizationConfig, func(b *Builder) {
		l.whole = b.quantization(l.QuantizationConfig, reverseActivations)
		l.buildQuantized(b)
	}, func(c quantizers.Config) ([]kernels.Array, error) {
		value, err := values(old)
		if err != nil {
			return nil, err
		}
		parts, err := quantizeRows(c, value[0])
		if err != nil || reverse == nil {
			return parts, err
		}
		back, err := quantizePacked(c, value[1], 0)
		return append(parts, back...), err
	}, func() []*distribute.Variable {
		all := l.whole.variables(l.embeddings)
		if l.reverse != nil {
			all = append(all, l.wholeReverse.variables(l.reverse)...)
		}
		return all
	})
	if err != nil {
		l.embeddings, l.reverse, l.whole, l.wholeReverse = table, reverse, before, beforeReverse
	}
	return err
}
