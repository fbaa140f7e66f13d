package distribute

import "fmt"

// InputContext tells the function of DistributeDatasetsFromFunction which dataset to create.
type InputContext struct {
	// NumInputPipelines is the total number of datasets, InputPipelineID the number of this one, from 0. If the
	// function is called for several processes, it shards its data by them.
	NumInputPipelines, InputPipelineID int
	// NumReplicasInSync is the number of replicas that share a step.
	NumReplicasInSync int
}

// DefaultInputContext returns the context of a single pipeline and replica.
func DefaultInputContext() InputContext { return InputContext{1, 0, 1} }

// PerReplicaBatchSize divides the size of a global batch by the number of replicas; it must divide evenly.
func (c InputContext) PerReplicaBatchSize(global int) (int, error) {
	if c.NumReplicasInSync < 1 || global%c.NumReplicasInSync != 0 {
		return 0, fmt.Errorf("distribute: the global batch size %d is not divisible by the number of replicas, %d; choose a multiple", global, c.NumReplicasInSync)
	}
	return global / c.NumReplicasInSync, nil
}

// String names the pipeline.
func (c InputContext) String() string {
	return fmt.Sprintf("distribute.InputContext(input pipeline id %d, total: %d)", c.InputPipelineID, c.NumInputPipelines)
}

// InputReplicationMode says how often the function of DistributeDatasetsFromFunction is called.
type InputReplicationMode int

// The modes.
const (
	PerWorkerInput  InputReplicationMode = iota // once; the replicas take turns with its batches
	PerReplicaInput                             // once for each replica, which gets the batches of its own dataset
)

// InputOptions are options of one call of DistributeDataset or DistributeDatasetsFromFunction; other calls do not see
// them.
type InputOptions struct {
	ReplicationMode InputReplicationMode
	// NoFetchToDevice and PlaceDatasetOnDevice are TensorFlow's experimental_fetch_to_device=False and
	// experimental_place_dataset_on_device. PlaceDatasetOnDevice needs NoFetchToDevice and PerReplicaInput. Neither has
	// a further effect: batches are always written into the memory of the compiled step.
	NoFetchToDevice, PlaceDatasetOnDevice bool
	// PerReplicaBufferSize is TensorFlow's number of batches to read ahead. It must not be negative, and has no further
	// effect: datasets always read ahead here.
	PerReplicaBufferSize int
}

func (o InputOptions) check(fromFunction bool) error {
	switch {
	case o.ReplicationMode != PerWorkerInput && o.ReplicationMode != PerReplicaInput:
		return fmt.Errorf("distribute: ReplicationMode is %d; expected PerWorkerInput or PerReplicaInput", o.ReplicationMode)
	case o.ReplicationMode == PerReplicaInput && !fromFunction:
		return fmt.Errorf("distribute: PerReplicaInput is only supported by DistributeDatasetsFromFunction, which can make a dataset for each replica")
	case o.PlaceDatasetOnDevice && !(o.ReplicationMode == PerReplicaInput && o.NoFetchToDevice):
		return fmt.Errorf("distribute: PlaceDatasetOnDevice needs PerReplicaInput and NoFetchToDevice")
	case o.PerReplicaBufferSize < 0:
		return fmt.Errorf("distribute: PerReplicaBufferSize is %d; expected 0 or more", o.PerReplicaBufferSize)
	}
	return nil
}

// inputOptions returns the options of a call: at most one value.
func inputOptions(list []InputOptions, fromFunction bool) (InputOptions, error) {
	switch len(list) {
	case 0:
		return InputOptions{}, nil
	case 1:
		return list[0], list[0].check(fromFunction)
	}
	return InputOptions{}, fmt.Errorf("distribute: received %d InputOptions; expected at most one", len(list))
}

// BatchSizesForWorker returns the batch sizes that one of several workers repeats to divide a stream of global batches.
// It applies if the batch size is fixed and files, or nothing, are sharded. Each of the N = workers·perWorker replicas
// gets ⌊global/N⌋ examples, the first global mod N of them one more; each worker begins with the sizes of its own
// replicas.
func BatchSizesForWorker(global, workers, perWorker, worker int) ([]int, error) {
	n := workers * perWorker
	if workers < 1 || perWorker < 1 || worker < 0 || worker >= workers || global < 0 {
		return nil, fmt.Errorf("distribute: BatchSizesForWorker: worker %d of %d with %d replicas each and a global batch of %d; expected positive numbers and a worker below their number", worker, workers, perWorker, global)
	}
	sizes := make([]int, n)
	for i := range sizes {
		j := (i + worker*perWorker) % n
		sizes[i] = global / n
		if j < global%n {
			sizes[i]++
		}
	}
	return sizes, nil
}
