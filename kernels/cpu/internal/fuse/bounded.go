package fuse

import "github.com/gokeras/gokeras/kernels/ir"

const (
	boundedRows  = 64      // of the operands of a product at most: to compute the result twice takes little longer than to read it from memory
	boundedLeast = 1 << 13 // elements of a result: smaller ones stay in the caches
	boundedFewer = 2       // times as many elements as the operands have: else to read those takes as long
)

// IsBounded reports whether a node has a large result of few operands, which bound it: a product of matrices or the
// gradient of a kernel, whose sums run over the rows of both operands, or the sums of rows of a table.
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

// BoundingOperands returns the operands of such a node, whose numbers lie in rows along the last axis; sums of rows
// have one, twice.
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

// areFirst reports whether axes are the first ones, in their order.
func areFirst(axes []int) bool {
	for i, axis := range axes {
		if axis != i {
			return false
		}
	}
	return len(axes) > 0
}
