package stablehlo

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/ir"
)

func init() {
	lowerings[ir.Dot] = func(e *emitter, n *ir.Node, in []value) []value {
		return []value{e.dot(n.Attrs.(ir.DotAttrs), in[0], in[1])}
	}
}

// precise asks for products in the precision of their operands: without it, TPUs multiply float32 as bfloat16.
const precise = "[HIGHEST, HIGHEST]"

// dot sums products of 16-bit floats in float32 and rounds once.
func (e *emitter) dot(a ir.DotAttrs, x, y value) value {
	var shape ir.Shape
	for _, axis := range a.LhsBatch {
		shape = append(shape, x.shape()[axis])
	}
	shape = append(shape, x.shape().Without(append(append([]int{}, a.LhsBatch...), a.LhsContract...)...)...)
	shape = append(shape, y.shape().Without(append(append([]int{}, a.RhsBatch...), a.RhsContract...)...)...)
	t := ir.Type{DType: sumType(x.dtype()), Shape: shape}
	batching := ""
	if len(a.LhsBatch) > 0 {
		batching = fmt.Sprintf("batching_dims = %s x %s, ", list(a.LhsBatch), list(a.RhsBatch))
	}
	sum := e.definef(t, "stablehlo.dot_general %s, %s, %scontracting_dims = %s x %s, precision = %s : (%s, %s) -> %s",
		x.name, y.name, batching, list(a.LhsContract), list(a.RhsContract), precise, tensor(x.typ), tensor(y.typ), tensor(t))
	return e.convert(sum, x.dtype())
}

// sumType is the type in which products of a type are summed.
func sumType(d ir.DType) ir.DType {
	if d.IsHalf() {
		return ir.Float32
	}
	return d
}
