package parameters

import (
	"fmt"

	"github.com/gokeras/gokeras/distribute/internal/programs"
	"github.com/gokeras/gokeras/distribute/internal/protocol"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// ComputedConstraint makes a custom constraint: f maps the values of a float32 variable of the given shape to values of
// the same shape. Servers receive the program that is traced from f. They run it on the whole variable, which is
// therefore on one server, after each update from gradients. f must not draw random numbers.
func ComputedConstraint(shape ir.Shape, f func(w *ops.Tensor) *ops.Tensor) (c Constraint, err error) {
	defer ops.Catch(&err)
	g := ops.NewGraph("constraint")
	w := g.Input("w", ir.Float32, shape...)
	out := f(w)
	switch {
	case out == nil || out.Graph() != g:
		return c, fmt.Errorf("parameters: a constraint returned no tensor made of its argument; return the value that replaces it")
	case out.DType() != ir.Float32 || !out.Shape().Equal(shape):
		return c, fmt.Errorf("parameters: a constraint made a tensor of type %v and shape %v of a variable of type float32 and shape %v; return one of the same type and shape", out.DType(), out.Shape(), shape)
	}
	if out.Value() == w.Value() {
		return c, nil
	}
	p := g.Program()
	p.AddOutput("w", out.Value())
	text, err := programs.Encode(p)
	if err != nil {
		return c, fmt.Errorf("parameters: a constraint: %w", err)
	}
	return Constraint{Kind: protocol.Computed, Program: text, Hash: p.Hash()}, nil
}
