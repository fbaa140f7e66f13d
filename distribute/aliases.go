package distribute

import (
	"context"
	"errors"

	"github.com/gokeras/gokeras/kernels"
)

// The older spellings of TensorFlow's guides.

var errNoStrategy = errors.New("distribute: the strategy is nil; make one, as with NewMirroredStrategy()")

// ExperimentalRunV2 is the old name of Strategy.Run.
func ExperimentalRunV2(ctx context.Context, s Strategy, f *Function, batch PerReplicaBatch) (PerReplica, error) {
	if s == nil {
		return nil, errNoStrategy
	}
	return s.Run(ctx, f, batch)
}

// ExperimentalLocalResults is the old name of Strategy.LocalResults.
func ExperimentalLocalResults(s Strategy, value PerReplica) []kernels.Array {
	return s.LocalResults(value)
}

// ExperimentalDistributeDataset is the old name of Strategy.DistributeDataset.
func ExperimentalDistributeDataset(s Strategy, ds Dataset, options ...InputOptions) (*DistributedDataset, error) {
	if s == nil {
		return nil, errNoStrategy
	}
	return s.DistributeDataset(ds, options...)
}

// ExperimentalDistributeDatasetsFromFunction is the old name of Strategy.DistributeDatasetsFromFunction.
func ExperimentalDistributeDatasetsFromFunction(s Strategy, f func(InputContext) (Dataset, error), options ...InputOptions) (*DistributedDataset, error) {
	if s == nil {
		return nil, errNoStrategy
	}
	return s.DistributeDatasetsFromFunction(f, options...)
}

// MakeNumpyDataset makes a dataset of the examples of arrays, which still wants Batch: experimental_make_numpy_dataset, which newer
// versions of TensorFlow have dropped. s does not matter.
func MakeNumpyDataset(_ Strategy, examples HostBatch) *ArrayDataset {
	return &ArrayDataset{Examples: examples}
}
