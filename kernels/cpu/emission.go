package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/ir"
)

// placement says where the values of a program lie. Through it, the builders of the steps also inform each other.
type placement struct {
	*plan.Placement
	predicts bool                       // the program only predicts: it computes results from variables and changes none
	gathered map[ir.Value]*moments      // moments of convolution results that a batch normalization reads
	spaced   map[ir.Value]*plan.Operand // left sides of several products, with gaps between their rows
	sums     map[*ir.Node]*plan.Operand // reductions that a product computes along the way
}
