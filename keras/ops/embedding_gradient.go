package ops

import "github.com/gokeras/gokeras/kernels/ir"

// EmbeddingGrad returns the gradient of a table (rows, width) from the gradients dy (indices..., width) of the rows
// that indices select. A row that is selected several times gets the sum. Only the shape of the table matters.
func EmbeddingGrad(table, indices, dy *Tensor) *Tensor {
	return apply1(ir.EmbeddingGrad, nil, table, indices, dy)
}

// EmbeddingGradient splits a gradient made by EmbeddingGrad, so that it can be sent as rows. ok is false for any other
// gradient.
func EmbeddingGradient(gradient *Tensor) (table, indices, dy *Tensor, ok bool) {
	g := gradient.Graph()
	for i := range g.program.Nodes {
		n := &g.program.Nodes[i]
		if n.Op == ir.EmbeddingGrad && n.Outputs[0] == gradient.v {
			in := g.wrap(n.Inputs)
			return in[0], in[1], in[2], true
		}
	}
	return nil, nil, nil, false
}
