package callbacks

import (
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels/ir"
)

// The following interfaces are implemented by models that can do more than a [Model] must; *keras.Model implements all
// of them. A callback does without what its model cannot do.

// WorkerModel is a model that several processes may train.
type WorkerModel interface {
	// WritesFiles reports whether this process writes the files of a run: of several workers only the chief does.
	// Another worker may become the chief.
	WritesFiles() bool
	// JoinsRunningJob reports whether other workers have trained before this process joined, so that files of the run
	// already exist.
	JoinsRunningJob() bool
}

// ShardedModel is a model of which each worker may hold a part.
type ShardedModel interface {
	// TakePartInBackup is called on workers that write no files while the chief makes a backup.
	TakePartInBackup() error
}

// ResumableModel is a model whose run can begin inside an epoch.
type ResumableModel interface {
	// Progress returns how far the run has come.
	Progress() Progress
	// SetInitialBatch makes the run begin with the given batch of its first epoch. It has an effect in OnTrainBegin
	// only.
	SetInitialBatch(batch int)
}

// CountingModel is a model whose optimizer counts its updates.
type CountingModel interface {
	// Iterations returns how often the optimizer has updated the weights.
	Iterations() (int64, error)
}

// DescribedModel is a model that has a description in Keras's JSON.
type DescribedModel interface{ ToJSON() ([]byte, error) }

// TracedModel is a model that shows the program of its predictions.
type TracedModel interface {
	// InferenceProgram returns the program for a batch; 0 leaves its size open.
	InferenceProgram(batch int) (*ir.Program, error)
}

// WeightedModel is a model that lists its weights.
type WeightedModel interface{ Weights() distribute.Variables }

// writesFiles reports whether this process writes the files of the run.
func writesFiles(m Model) bool {
	w, ok := m.(WorkerModel)
	return !ok || w.WritesFiles()
}

// joinsRunningJob reports whether other workers have trained before this process joined.
func joinsRunningJob(m Model) bool {
	w, ok := m.(WorkerModel)
	return ok && w.JoinsRunningJob()
}
