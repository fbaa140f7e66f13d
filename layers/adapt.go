package layers

import (
	"iter"

	"github.com/gokeras/gokeras/kernels"
)

// NumberAdapter is a layer that learns from numbers before a model is trained: Normalization, Discretization,
// IntegerLookup. The function Adapt of package keras calls it with a dataset.
type NumberAdapter interface {
	Layer
	// AdaptBatches learns from batches one by one, replacing what was learned before. The first error ends it and is
	// returned; the layer then keeps its previous state.
	AdaptBatches(batches iter.Seq2[kernels.Array, error]) error
}

// TextAdapter is a [NumberAdapter] for strings: StringLookup, TextVectorization.
type TextAdapter interface {
	Layer
	AdaptBatches(batches iter.Seq2[HostArray, error]) error
}

// each yields the batches of a list one by one.
func each[T any](batches []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, b := range batches {
			if !yield(b, nil) {
				return
			}
		}
	}
}
