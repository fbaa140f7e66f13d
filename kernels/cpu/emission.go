package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/ir"
)

// placement is where the values of a program lie, with what the builders of its steps tell each other.
type placement struct {
	*plan.Placement
	predicts bool                       // the program computes results from variables, which it does not change
	gathered map[ir.Value]*moments      // of results of convolutions that batch normalizations read
	spaced   map[ir.Value]*plan.Operand // left sides of several products, with gaps between their rows
	sums     map[*ir.Node]*plan.Operand // reductions that a product computes besides
}
