package fuse

import "github.com/gokeras/gokeras/kernels/ir"

const (
	boundedRows  = 64      // largest number of rows of a product's operands: computing the result twice then takes little longer than reading it from memory
	boundedLeast = 1 << 13 // a result has more elements than this; smaller ones stay in the caches
	boundedFewer = 2       // a result has at least so many times the elements of the operands; otherwise reading these takes as long
)

// IsBounded reports whether a node has a large result that its few operands bound. It is a product of matrices or the
// gradient of a kernel, which sum over the rows of both operands, or the sums of rows of a table.
func IsBounded(p *ir.Program, n *ir.Node) bool {
	if len(n.Outputs) != 1 {
		return false
	}
	out := p.Type(n.Outputs[0])
	x, y, ok := BoundingOperands(n)
	if !ok || out.DType != ir.Float32 || out.Shape.Size() <= boundedLeast {
		return false
	}
	size := 0
	for _, v := range []ir.Value{x, y} {
		t := p.Type(v)
		if t.DType != ir.Float32 || t.Shape.Size() == 0 || x != y && t.Shape.Size() > boundedRows*t.Shape[len(t.Shape)-1] {
			return false
		}
		size += t.Shape.Size()
	}
	return boundedFewer*size <= out.Shape.Size()
}

// BoundingOperands returns the operands of such a node. Their numbers lie in rows along the last axis. Sums of rows
// have a single operand, which is returned twice.
func BoundingOperands(n *ir.Node) (x, y ir.Value, ok bool) {
	switch a := n.Attrs.(type) {
	case ir.DotAttrs:
		return n.Inputs[0], n.Inputs[1], len(a.LhsBatch) == 0 && areFirst(a.LhsContract) && areFirst(a.RhsContract)
	case ir.ConvGradAttrs:
		return n.Inputs[0], n.Inputs[1], n.Op == ir.ConvKernelGrad
	}
	if n.Op == ir.EmbeddingGrad {
		return n.Inputs[2], n.Inputs[2], true
	}
	return 0, 0, false
}

// areFirst reports whether axes are the leading ones, in order.
func areFirst(axes []int) bool {
	for i, axis := range axes {
		if axis != i {
			return false
		}
	}
	return len(axes) > 0
}
