package callbacks

import (
	"io"

	"github.com/gokeras/gokeras/kernels"
)

// Callback is notified of the events of Fit, Evaluate and Predict. Embed [Base] to implement it.
//
// Epochs and batches count from 0. Logs passed at the end of a batch are running means over the epoch so far, as in
// Keras. With k steps per execution, batch hooks are called once for k batches, with the index of the first (begin) and
// of the last (end).
//
// The end hooks of training, evaluation and prediction are also called when the run fails, so that they can close what
// the begin hooks opened; Params.Err then says why it fails, and the logs may be nil, which is the same as empty.
type Callback interface {
	SetModel(m Model)
	SetParams(p Params)

	OnTrainBegin() error
	OnTrainEnd(logs *Logs) error
	OnEpochBegin(epoch int) error
	OnEpochEnd(epoch int, logs *Logs) error
	OnTrainBatchBegin(batch int) error
	OnTrainBatchEnd(batch int, logs *Logs) error

	OnTestBegin() error
	OnTestEnd(logs *Logs) error
	OnTestBatchBegin(batch int) error
	OnTestBatchEnd(batch int, logs *Logs) error

	OnPredictBegin() error
	OnPredictEnd() error
	OnPredictBatchBegin(batch int) error
	OnPredictBatchEnd(batch int) error
}

// BatchCallback is implemented by callbacks that know whether they use the batch hooks. If none does, the training loop
// skips them. A callback without this method is assumed to use them.
type BatchCallback interface{ WantsBatches() bool }

// Params describes the run.
type Params struct {
	// Verbose is the verbosity passed to Fit, Evaluate or Predict: 0, 1 or 2.
	Verbose int
	// Epochs is the index after the last epoch.
	Epochs int
	// Steps is the number of steps in an epoch, -1 while unknown.
	Steps int
	// Err is why the run ends too early: an error of a hook, of the data or of a step, or that of the context. It is
	// nil until the end hooks are called.
	Err error
}

// Progress is how far a training run has come.
type Progress struct {
	// Epoch is the epoch to continue with, from 0.
	Epoch int `json:"epoch"`
	// Batch is the last batch of that epoch which was trained on; 0 at its beginning.
	Batch int `json:"batch"`
	// Done is the number of batches of that epoch that were trained on.
	Done int `json:"-"`
}

// Model is what callbacks may do with the model in training; *keras.Model implements it. It has no Predict and no
// Evaluate, whose options are types of package keras, which imports this one. A callback outside of it asks for the
// model itself:
//
//	predictions, err := c.Model().(*keras.Model).Predict(ctx, data.Arrays(images, nil))
type Model interface {
	// Stop makes Fit end after the current batch.
	Stop()
	// GetWeights returns copies of all weights, in the order of Weights.
	GetWeights() ([]kernels.Array, error)
	// SetWeights restores weights.
	SetWeights(weights []kernels.Array) error
	// OptimizerArrays and SetOptimizerArrays do the same for the optimizer's variables.
	OptimizerArrays() ([]kernels.Array, error)
	SetOptimizerArrays(values []kernels.Array) error
	// LearningRate returns the rate of the current step; SetLearningRate fails if a schedule drives it.
	LearningRate() (float64, error)
	SetLearningRate(rate float64) error
	// Direction says whether a logged value is better when larger ("max") or smaller ("min"); "" if that is not known.
	Direction(name string) string
	// SwapEMA exchanges the weights with the optimizer's moving averages; it fails without UseEMA.
	SwapEMA() error
	// SaveWeights writes all weights to a file; the extension says in which format.
	SaveWeights(path string) error
	// SaveBackup writes what a run needs to resume after a crash: weights, optimizer variables, the step count and at.
	// The file is replaced atomically. LoadBackup puts all of it back, or changes nothing.
	SaveBackup(path string, at Progress) error
	LoadBackup(path string) (Progress, error)
	// SetInitialEpoch makes the run begin with the given epoch. It has an effect in OnTrainBegin only.
	SetInitialEpoch(epoch int)
	// Output returns the writer for messages: the one passed to Fit with Output, or standard output.
	Output() io.Writer
}

// Base implements all hooks as no-ops and keeps model and params.
type Base struct {
	model  Model
	params Params
}

// SetModel is called before the first hook.
func (b *Base) SetModel(m Model) { b.model = m }

// SetParams is called before the first hook, and again when the number of steps becomes known or the run fails.
func (b *Base) SetParams(p Params) { b.params = p }

// Model returns the model in training.
func (b *Base) Model() Model { return b.model }

// Params returns the description of the run.
func (b *Base) Params() Params { return b.params }

// OnTrainBegin does nothing.
func (b *Base) OnTrainBegin() error { return nil }

// OnTrainEnd does nothing.
func (b *Base) OnTrainEnd(*Logs) error { return nil }

// OnEpochBegin does nothing.
func (b *Base) OnEpochBegin(int) error { return nil }

// OnEpochEnd does nothing.
func (b *Base) OnEpochEnd(int, *Logs) error { return nil }

// OnTrainBatchBegin does nothing.
func (b *Base) OnTrainBatchBegin(int) error { return nil }

// OnTrainBatchEnd does nothing.
func (b *Base) OnTrainBatchEnd(int, *Logs) error { return nil }

// OnTestBegin does nothing.
func (b *Base) OnTestBegin() error { return nil }

// OnTestEnd does nothing.
func (b *Base) OnTestEnd(*Logs) error { return nil }

// OnTestBatchBegin does nothing.
func (b *Base) OnTestBatchBegin(int) error { return nil }

// OnTestBatchEnd does nothing.
func (b *Base) OnTestBatchEnd(int, *Logs) error { return nil }

// OnPredictBegin does nothing.
func (b *Base) OnPredictBegin() error { return nil }

// OnPredictEnd does nothing.
func (b *Base) OnPredictEnd() error { return nil }

// OnPredictBatchBegin does nothing.
func (b *Base) OnPredictBatchBegin(int) error { return nil }

// OnPredictBatchEnd does nothing.
func (b *Base) OnPredictBatchEnd(int) error { return nil }
