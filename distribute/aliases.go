package distribute

import "errors"

var errNoStrategy = errors.New("distribute: the strategy is nil; make one, as with NewMirroredStrategy()")

// MakeNumpyDataset makes a dataset of the examples of arrays, which still needs Batch: experimental_make_numpy_dataset,
// which newer versions of TensorFlow have dropped. s is ignored.
func MakeNumpyDataset(_ Strategy, examples HostBatch) *ArrayDataset {
	return &ArrayDataset{Examples: examples}
}
