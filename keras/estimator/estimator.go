package estimator

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/saving"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/metrics"
)

// Estimator trains, evaluates and applies the model of a [ModelFn]: tf.estimator.Estimator. Its state is in the folder
// of its [RunConfig]. Only one call at a time may train. Evaluate and Predict use the latest complete checkpoint.
type Estimator struct {
	modelFn   ModelFn
	config    RunConfig
	params    Params
	transform transform
	// predicted computes those predictions of an example that a trace cannot make.
	predicted func(prediction map[string]data.Array) error

	mu         sync.Mutex
	training   bool
	serverCall int // number of the first call of Train under a ParameterServerStrategy; 0: none yet
}

// New makes an estimator. params are passed to the ModelFn unchanged.
func New(modelFn ModelFn, config RunConfig, params Params) (*Estimator, error) {
	if modelFn == nil {
		return nil, errors.New("estimator: New: the ModelFn is nil")
	}
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if config.ModelDir == "" {
		dir, err := os.MkdirTemp("", "estimator")
		if err != nil {
			return nil, fmt.Errorf("estimator: %w", err)
		}
		config.ModelDir = dir
	}
	return &Estimator{modelFn: modelFn, config: config, params: maps.Clone(params), transform: plain}, nil
}

// Config returns the estimator's configuration, with ModelDir set.
func (e *Estimator) Config() RunConfig { return e.config }

// Params returns the estimator's hyperparameters.
func (e *Estimator) Params() Params { return maps.Clone(e.params) }

// ModelDir returns the folder of the checkpoints.
func (e *Estimator) ModelDir() string { return e.config.ModelDir }

// LatestCheckpoint returns the path of the newest checkpoint, or "" if there is none; see [LatestCheckpoint].
func (e *Estimator) LatestCheckpoint() (string, error) { return LatestCheckpoint(e.config.ModelDir) }

// checkpointPath returns the path of the checkpoint of a step.
func (e *Estimator) checkpointPath(step int64) string {
	return filepath.Join(e.config.ModelDir, checkpointName(step))
}

// trained returns the latest checkpoint, which must exist.
func (e *Estimator) trained() (string, error) {
	path, err := e.LatestCheckpoint()
	if err == nil && path == "" {
		err = fmt.Errorf("estimator: Could not find trained model in model_dir: %s; train it first", e.config.ModelDir)
	}
	return path, err
}

// VariableNames lists the variables in the latest checkpoint, in alphabetical order: get_variable_names.
func (e *Estimator) VariableNames() ([]string, error) {
	path, err := e.trained()
	if err != nil {
		return nil, err
	}
	var names []string
	err = openCheckpoint(path, func(s *saving.Safetensors) error { names = slices.Sorted(slices.Values(s.Names)); return nil })
	return names, err
}

// VariableValue returns the value of a variable in the latest checkpoint: get_variable_value. A scalar has shape (1).
func (e *Estimator) VariableValue(name string) (data.Array, error) {
	path, err := e.trained()
	if err != nil {
		return data.Array{}, err
	}
	a, err := readVariable(path, name)
	if err != nil {
		return data.Array{}, err
	}
	return resultOf(a)
}

// Train trains the model from its latest checkpoint, or from the beginning, until Steps or MaxSteps is reached, a hook
// stops it, or a replica has no more data. It writes a checkpoint at the end. ctx is checked between steps. When it
// ends, Train returns its error, and steps since the last checkpoint are lost.
//
// Under a strategy over several processes all workers call it. They begin with the chief's checkpoint, and the chief
// writes the following ones. If the strategy is elastic (distribute.Elastic), losing a worker does not end training:
// the others form a new group, with or without the returning worker as the strategy says, and all continue from the
// chief's latest checkpoint, with new data from the input function. A worker that joins later is admitted after the
// current step, which is saved for this purpose.
//
// Under a ParameterServerStrategy workers compute steps, each on its own data, and may come and go; servers store the
// variables and apply each step exactly once. The coordinator counts the steps of all workers, calls the hooks in the
// order of the steps, and writes the checkpoints. It reads one batch to learn the model. A new coordinator continues
// from the servers' values.
func (e *Estimator) Train(ctx context.Context, inputFn InputFn, list ...TrainOption) error {
	o, err := collect(list, TrainOption.applyTrain)
	if err != nil {
		return err
	}
	if err := e.lock(); err != nil {
		return err
	}
	defer e.unlock()
	if s := e.onServers(); s != nil {
		return e.trainOnServers(ctx, s, inputFn, &o)
	}
	for {
		err := e.train(ctx, inputFn, &o)
		if again, err := e.formAnew(ctx, err, &o); !again {
			return err
		}
	}
}

// train is one session of Train.
func (e *Estimator) train(ctx context.Context, inputFn InputFn, o *options) (err error) {
	checkpoint, err := e.LatestCheckpoint()
	if err != nil {
		return err
	}
	s, err := e.newSession(TRAIN, checkpoint, nil)
	if err != nil {
		return err
	}
	defer s.function.Close()
	defer func() { distribute.FailTogether(s.strategy, err) }()
	if err := s.agree(ctx, o); err != nil {
		return err
	}
	if o.steps != nil && o.maxSteps == nil { // a session that continues this one ends at the same step
		o.maxSteps = new(int(s.step) + *o.steps)
	}
	if err := s.agreeOnEnd(ctx, o); err != nil {
		return err
	}
	if o.maxSteps != nil && s.step >= int64(*o.maxSteps) {
		return nil // max_steps has been reached before
	}
	s.listeners, s.hooks = o.listeners, append(e.trainingHooks(), o.hooks...)
	if o.maxSteps != nil {
		s.hooks = append(s.hooks, &StopAtStepHook{LastStep: *o.maxSteps})
	}
	ds, err := distributed(s.strategy, inputFn, e.transform, true, &s.layout)
	if err != nil {
		return err
	}
	for batch, err := range ds.Batches(ctx, 0) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		over, waiting, err := s.anyWorker(ctx, slices.ContainsFunc(batch, func(b distribute.HostBatch) bool { return b.Examples() == 0 }))
		if err != nil {
			return err
		}
		if over {
			break // the data have ended
		}
		if waiting && s.started != nil {
			return errors.Join(s.end(), errPending)
		}
		if err := s.run(ctx, batch, nil); err != nil {
			return err
		}
		if s.stop {
			break
		}
	}
	if s.started == nil {
		return errors.New("estimator: Train: the input function gave no batch for every replica, so that nothing was trained")
	}
	return s.end()
}

// trainingHooks returns the hooks of every training. As in TensorFlow the checkpoint hook is last, after the loss was
// checked for NaN.
func (e *Estimator) trainingHooks() []SessionRunHook {
	hooks := []SessionRunHook{&NaNTensorHook{}}
	if n := or(e.config.LogStepCountSteps, defaultLogSteps); n > 0 && e.config.LogOutput != nil {
		hooks = append(hooks, &StepCounterHook{Output: e.config.LogOutput, EveryNSteps: n},
			&LoggingTensorHook{Output: e.config.LogOutput, Tensors: []string{"loss"}, EveryNIter: n})
	}
	if n := or(e.config.SaveSummarySteps, defaultSummary); n > 0 {
		hooks = append(hooks, &SummarySaverHook{SaveSteps: n, OutputDir: e.config.ModelDir})
	}
	steps, secs := e.config.saving()
	return append(hooks, &CheckpointSaverHook{SaveSteps: steps, SaveSecs: float64(secs)})
}

func (e *Estimator) lock() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.training {
		return errors.New("estimator: Train is running; wait for its end before the next call")
	}
	e.training = true
	return nil
}

func (e *Estimator) unlock() {
	e.mu.Lock()
	e.training = false
	e.mu.Unlock()
}

// Evaluate returns the loss and the metrics of the latest checkpoint on data, by name, with "global_step". Without a
// checkpoint it uses initial values. As in TensorFlow, the loss is the mean of the batches' losses, in which each batch
// counts the same; metrics count examples.
func (e *Estimator) Evaluate(ctx context.Context, inputFn InputFn, list ...EvaluateOption) (_ map[string]float64, err error) {
	o, err := collect(list, EvaluateOption.applyEvaluate)
	if err != nil {
		return nil, err
	}
	s, err := e.applied(EVAL, o)
	if err != nil {
		return nil, err
	}
	defer s.function.Close()
	defer func() { distribute.FailTogether(s.strategy, err) }()
	if err := s.agree(ctx, &o); err != nil {
		return nil, err
	}
	ds, err := distributed(s.strategy, inputFn, e.transform, true, &s.layout)
	if err != nil {
		return nil, err
	}
	sum, batches, steps := 0.0, 0, 0
	for batch, err := range ds.Batches(ctx, 0) {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = s.run(ctx, batch, nil)
		}
		if err != nil {
			return nil, err
		}
		if n := filled(batch); n > 0 { // otherwise only other workers have more data
			sum, batches = sum+s.values.Loss*float64(n), batches+n
		}
		steps++
		if s.stop || o.steps != nil && steps >= *o.steps {
			break
		}
	}
	if steps == 0 {
		return nil, errors.New("estimator: Evaluate: the input function gave no batch")
	}
	if err := s.end(); err != nil {
		return nil, err
	}
	total, err := s.sums(ctx, sum, float64(batches))
	if err != nil {
		return nil, err
	}
	results, err := s.results(total[0] / total[1])
	if err != nil || !s.strategy.Extended().ShouldSaveSummary() || or(e.config.SaveSummarySteps, defaultSummary) == 0 {
		return results, err
	}
	return results, e.summarize(o.name, s.step, results)
}

// filled returns the number of replicas that have examples.
func filled(batch distribute.PerReplicaBatch) int {
	n := 0
	for _, b := range batch {
		if b.Examples() > 0 {
			n++
		}
	}
	return n
}

// results lists what Evaluate returns.
func (s *Session) results(loss float64) (map[string]float64, error) {
	out := map[string]float64{"loss": loss, globalStepName: float64(s.step)}
	for _, name := range slices.Sorted(maps.Keys(s.metrics)) { // in an order that is equal on all workers, over which it adds up
		a, err := metrics.ResultOf(s.metrics[name])
		if err != nil {
			return nil, err
		}
		if a.Type.Shape.Size() != 1 {
			return nil, fmt.Errorf("estimator: Evaluate: metric %q has %d values; expected one", name, a.Type.Shape.Size())
		}
		out[name] = a.Element(0)
	}
	if s.finish != nil {
		s.finish(out)
	}
	if w := s.estimator.config.LogOutput; w != nil {
		names := slices.Sorted(maps.Keys(out))
		for i, name := range names {
			names[i] = fmt.Sprintf("%s = %v", name, float32(out[name]))
		}
		if _, err := fmt.Fprintf(w, "Saving dict for global step %d: %s\n", s.step, strings.Join(names, ", ")); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// applied makes a session for a trained model.
func (e *Estimator) applied(mode ModeKey, o options) (*Session, error) {
	checkpoint := o.checkpoint
	if checkpoint == "" {
		var err error
		if checkpoint, err = e.LatestCheckpoint(); err != nil {
			return nil, err
		}
	}
	return e.newSession(mode, checkpoint, o.hooks)
}

// Predict yields the predictions of the latest checkpoint for each example, by name. Without a checkpoint it uses
// initial values. It ends with the data of the input function, whose labels, if any, are ignored. It always runs on one
// replica.
func (e *Estimator) Predict(ctx context.Context, inputFn InputFn, list ...PredictOption) iter.Seq2[map[string]data.Array, error] {
	return func(yield func(map[string]data.Array, error) bool) {
		if err := e.predict(ctx, inputFn, list, yield); err != nil {
			yield(nil, err)
		}
	}
}

func (e *Estimator) predict(ctx context.Context, inputFn InputFn, list []PredictOption, yield func(map[string]data.Array, error) bool) error {
	o, err := collect(list, PredictOption.applyPredict)
	if err != nil {
		return err
	}
	s, err := e.applied(PREDICT, o)
	if err != nil {
		return err
	}
	defer s.function.Close()
	ds, err := distributed(s.strategy, inputFn, e.predictTransform, false, &s.layout)
	if err != nil {
		return err
	}
	for batch, err := range ds.Batches(ctx, 0) {
		if err == nil {
			err = ctx.Err()
		}
		var results []kernels.Array
		if err == nil {
			results, err = s.predictBatch(ctx, batch)
		}
		if err != nil {
			return err
		}
		for i := range batch[0].Examples() {
			if results == nil {
				break // a hook stopped before the first step
			}
			example, err := s.example(results, i)
			if err != nil {
				return err
			}
			if !yield(example, nil) {
				return nil
			}
		}
		if s.stop {
			break
		}
	}
	return s.end()
}

// predictTransform is the transform without labels.
func (e *Estimator) predictTransform(features, _ data.Tensors) (named, named, error) {
	return e.transform(features, data.Tensors{})
}

// predictBatch returns the predictions of a batch, sorted by name.
func (s *Session) predictBatch(ctx context.Context, batch distribute.PerReplicaBatch) ([]kernels.Array, error) {
	var results []kernels.Array
	err := s.run(ctx, batch, func(inst *distribute.Instance) error {
		for i := range s.predictions {
			a, err := output(inst, i)
			if err != nil {
				return err
			}
			results = append(results, a)
		}
		return nil
	})
	return results, err
}

// example extracts the predictions for one example.
func (s *Session) example(results []kernels.Array, i int) (map[string]data.Array, error) {
	out := map[string]data.Array{}
	for j, a := range results {
		row := a.Slice(i, i+1)
		row.Type.Shape = row.Type.Shape[1:]
		d, err := resultOf(row)
		if err != nil {
			return nil, err
		}
		out[s.outputs[j]] = d
	}
	if s.estimator.predicted != nil {
		if err := s.estimator.predicted(out); err != nil {
			return nil, err
		}
	}
	return out, nil
}
