package estimator

import (
	"slices"

	"github.com/gokeras/gokeras/keras/ops"
)

// Features are the tensors of one replica's batch: one tensor, a list, or a dictionary, as the input function's data
// set has them.
type Features struct {
	Names   []string // nil if identified by position
	Tensors []*ops.Tensor
}

// Get returns the feature of that name, or nil.
func (f Features) Get(name string) *ops.Tensor {
	if i := slices.Index(f.Names, name); i >= 0 {
		return f.Tensors[i]
	}
	return nil
}

// First returns the first feature, or nil if there is none.
func (f Features) First() *ops.Tensor {
	if len(f.Tensors) == 0 {
		return nil
	}
	return f.Tensors[0]
}
