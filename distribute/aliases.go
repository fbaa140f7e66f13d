package distribute

import "errors"

var errNoStrategy = errors.New("distribute: the strategy is nil; make one, as with NewMirroredStrategy()")

// MakeNumpyDataset makes a dataset of the examples in arrays; call Batch before using it. It is TensorFlow's
// experimental_make_numpy_dataset, which newer versions have dropped. The strategy is ignored.
func MakeNumpyDataset(_ Strategy, examples HostBatch) *ArrayDataset {
	return &ArrayDataset{Examples: examples}
}
