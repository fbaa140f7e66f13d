package estimator

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sort"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/metrics"
)

// Session is one call of Train, Evaluate or Predict: the traced step, its variables and its hooks. It is passed to
// hooks.
type Session struct {
	estimator  *Estimator
	mode       ModeKey
	strategy   distribute.Strategy
	function   *distribute.Function
	layout     layout
	features   int    // number of inputs that are features
	checkpoint string // checkpoint to restore variables from; "" for initial values
	listeners  []CheckpointSaverListener

	kept       map[string]any // results of Once
	globalStep *distribute.Variable
	variables  distribute.Variables // the variables of the model that a checkpoint stores
	restored   int                  // how many of them are restored
	metrics    map[string]metrics.Metric
	reset      map[string]bool

	traced      bool
	outputs     []string // names of results: predictions, fetches
	predictions int      // how many of the results are predictions
	finish      func(map[string]float64)
	specHooks   []SessionRunHook
	hooks       []SessionRunHook
	started     []SessionRunHook

	servers *serverTraining // store the variables, in TRAIN; nil: this process does

	step    int64 // number of finished steps
	runs    int64 // number of evaluation or prediction steps: each draws other random numbers
	saved   int64 // step of the last checkpoint of this session, -1 for none
	stop    bool
	values  RunValues
	scratch [8]byte
}

// newSession prepares a session that starts from the given checkpoint.
func (e *Estimator) newSession(mode ModeKey, checkpoint string, hooks []SessionRunHook) (*Session, error) {
	s := &Session{
		estimator: e, mode: mode, strategy: e.config.strategyFor(mode), checkpoint: checkpoint, hooks: hooks, saved: -1,
		kept: map[string]any{}, metrics: map[string]metrics.Metric{}, reset: map[string]bool{},
		values: RunValues{Values: map[string]float64{}},
	}
	s.globalStep = distribute.NewVariable(distribute.VariableSpec{Name: globalStepName, Shape: ir.Shape{}, DType: ir.Int64, Frozen: true,
		Aggregation: distribute.OnlyFirstReplica})
	if err := s.globalStep.Place(s.strategy, 0); err != nil {
		return nil, err
	}
	if checkpoint != "" {
		var err error
		if s.step, err = readStep(checkpoint); err != nil {
			return nil, err
		}
	}
	s.function = distribute.NewFunction(s.strategy, "estimator_"+string(mode), s.trace)
	return s, nil
}

// Mode returns what the session is for.
func (s *Session) Mode() ModeKey { return s.mode }

// Strategy returns the strategy of the session.
func (s *Session) Strategy() distribute.Strategy { return s.strategy }

// GlobalStep returns the number of finished training steps.
func (s *Session) GlobalStep() int64 { return s.step }

// Variables returns the variables that a checkpoint stores.
func (s *Session) Variables() distribute.Variables { return slices.Clone(s.variables) }

// VariableValue returns a copy of a variable's current value.
func (s *Session) VariableValue(name string) (data.Array, error) {
	for _, v := range s.variables {
		if v.Path() == name {
			a, err := v.Value()
			if err != nil {
				return data.Array{}, err
			}
			return resultOf(a)
		}
	}
	return data.Array{}, fmt.Errorf("estimator: the session has no variable %q", name)
}

// SaveCheckpoint writes a checkpoint of the current step and returns its path. It does nothing if this step was saved
// already, or in processes that do not write checkpoints.
func (s *Session) SaveCheckpoint() (string, error) {
	if t := s.servers; t != nil && t.saves != nil {
		at := s.step
		s.step = t.done // hooks are called for each step of a window after its last step has run
		defer func() { s.step = at }()
		if s.saved != s.step {
			if err := t.saves(); err != nil {
				return "", err
			}
		}
	}
	path := s.estimator.checkpointPath(s.step)
	if s.saved == s.step {
		return path, nil
	}
	if s.strategy.Extended().ShouldCheckpoint() {
		_, err := saveCheckpoint(s.estimator.config.ModelDir, s.step, s.variables, or(s.estimator.config.KeepCheckpointMax, defaultKeep))
		if err != nil {
			return "", err
		}
	}
	s.saved = s.step
	for _, f := range s.listeners {
		if err := f(s, s.step); err != nil {
			return "", err
		}
	}
	return path, nil
}

// trace traces one replica's step.
func (s *Session) trace(r *distribute.Replica, in []*ops.Tensor) []*ops.Tensor {
	c := &Context{
		Replica: r, Labels: Features{s.layout.y, in[s.features:]}, Config: s.estimator.config, session: s, mode: s.mode,
		fetches: map[string]*ops.Tensor{},
	}
	spec := s.call(c, Features{s.layout.x, in[:s.features]})
	if err := spec.check(s.mode); err != nil {
		ops.Fail(r.Graph(), fmt.Errorf("the EstimatorSpec: %w", err))
	}
	var names []string
	var results []*ops.Tensor
	if s.mode == PREDICT {
		names, results = sorted(spec.Predictions)
		for i, p := range results {
			if p.Rank() == 0 || p.Dim(0) != r.LocalBatchSize() {
				ops.Failf(r.Graph(), "the prediction %q has shape %v; expected (%d, ...), one for each example", names[i], p.Shape(), r.LocalBatchSize())
			}
		}
	} else {
		names, results = []string{"loss"}, []*ops.Tensor{scalar(spec.Loss)}
	}
	predictions := len(names)
	fetchNames, fetched := c.fetched()
	for _, t := range fetched {
		results = append(results, scalar(t))
	}
	names = append(names, fetchNames...)
	if s.mode == EVAL {
		s.measure(r, spec.EvalMetricOps)
	}
	if s.mode == TRAIN && s.workers() != nil {
		results = meanOverReplicas(r, results)
	}
	if s.servers != nil {
		results = append(results, s.servers.results(r)...)
	}
	if s.mode == TRAIN {
		r.AssignMirrored(s.globalStep, ops.AddScalar(r.Read(s.globalStep), 1))
	}
	s.collect(r)
	if s.traced && !slices.Equal(names, s.outputs) {
		ops.Failf(r.Graph(), "the ModelFn gave the results %q for one shape of the batch and %q for another; they must be the same", s.outputs, names)
	}
	if !s.traced {
		s.traced, s.outputs, s.predictions, s.finish = true, names, predictions, spec.finish
		s.specHooks = map[ModeKey][]SessionRunHook{TRAIN: spec.TrainingHooks, EVAL: spec.EvaluationHooks, PREDICT: spec.PredictionHooks}[s.mode]
	}
	return results
}

// call runs the ModelFn; its panics and errors become errors of the trace.
func (s *Session) call(c *Context, features Features) (spec EstimatorSpec) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case *ops.Error:
			panic(v)
		default:
			ops.Fail(c.Graph(), &distribute.PanicError{Value: v, Stack: debug.Stack()})
		}
	}()
	spec, err := s.estimator.modelFn(c, features, c.Labels.First(), s.mode, s.estimator.params)
	if err != nil {
		ops.Fail(c.Graph(), err)
	}
	return spec
}

func scalar(t *ops.Tensor) *ops.Tensor { return ops.Reshape(ops.Cast(t, ir.Float32)) }

func sorted(m map[string]*ops.Tensor) (names []string, tensors []*ops.Tensor) {
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		tensors = append(tensors, m[name])
	}
	return names, tensors
}

// measure updates metrics, sorted by name.
func (s *Session) measure(r *distribute.Replica, list map[string]MetricOp) {
	names := make([]string, 0, len(list))
	for name := range list {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		op := list[name]
		m := s.metrics[name]
		if m == nil {
			m = op.Metric
			for other, known := range s.metrics {
				if known == m {
					ops.Failf(r.Graph(), "EvalMetricOps %q and %q share one Metric; make one for each", other, name)
				}
			}
			m.SetName(name)
			s.metrics[name] = m
		}
		labels := op.Labels
		if labels == nil {
			labels = op.Predictions
		}
		m.Update(labels, op.Predictions, op.Weights)
	}
}

// collect records the model's variables in a trace.
func (s *Session) collect(r *distribute.Replica) {
	own := map[*distribute.Variable]bool{}
	for _, m := range s.metrics {
		for _, v := range m.Variables() {
			own[v] = true
		}
	}
	for _, v := range r.Variables() {
		if !own[v] && !slices.Contains(s.variables, v) {
			for _, other := range s.variables {
				if other.Path() == v.Path() {
					ops.Failf(r.Graph(), "two variables have the path %q, so that a checkpoint cannot tell them apart; keep models with Once, and name layers and optimizers differently", v.Path())
				}
			}
			s.variables = append(s.variables, v)
		}
	}
}

// prepare initializes the variables that a new trace has created.
func (s *Session) prepare(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(s.metrics)) {
		if !s.reset[name] {
			if err := metrics.Reset(s.metrics[name]); err != nil {
				return err
			}
			s.reset[name] = true
		}
	}
	added := s.variables[s.restored:]
	if len(added) == 0 {
		return nil
	}
	switch w := s.estimator.config.WarmStartFrom; {
	case !s.leads(): // it receives them from the worker that does
	case s.checkpoint != "":
		if err := restore(s.checkpoint, added); err != nil {
			return err
		}
	case w != nil && s.mode == TRAIN:
		if err := w.apply(added); err != nil {
			return err
		}
	}
	s.restored = len(s.variables)
	if err := s.agreeOnResults(ctx); err != nil {
		return err
	}
	return s.share(ctx, added)
}

// acquire takes an instance of the step for a batch, and loads the batch. The caller releases it.
func (s *Session) acquire(batch distribute.PerReplicaBatch) (inst *distribute.Instance, sizes []int, err error) {
	types := make([][]ir.Type, len(batch))
	sizes = make([]int, len(batch))
	s.features = len(batch[0].X)
	for i, b := range batch {
		sizes[i] = b.Examples()
		for j, a := range slices.Concat(b.X, b.Y) {
			if a.Type.Shape[0] != sizes[i] {
				return nil, nil, fmt.Errorf("estimator: array %d of a batch (features, then labels) has %d examples and array 0 has %d; all need the same number", j, a.Type.Shape[0], sizes[i])
			}
			types[i] = append(types[i], a.Type)
		}
	}
	inst, err = s.function.Acquire(types, sizes)
	if err != nil {
		return nil, nil, err
	}
	for i, b := range batch {
		for j, a := range slices.Concat(b.X, b.Y) {
			if err := inst.Input(i, j).Write(a.Data); err != nil {
				s.function.Release(inst)
				return nil, nil, err
			}
		}
	}
	return inst, sizes, nil
}

// run computes one step and calls the hooks. The values that it read are in s.values, and predictions in the instance
// that f receives.
func (s *Session) run(ctx context.Context, batch distribute.PerReplicaBatch, f func(*distribute.Instance) error) error {
	inst, sizes, err := s.acquire(batch)
	if err != nil {
		return err
	}
	defer s.function.Release(inst)
	if err := s.prepare(ctx); err != nil {
		return err
	}
	if err := s.begin(); err != nil || s.stop {
		return err
	}
	run := RunContext{s}
	for _, h := range s.started {
		if err := h.BeforeRun(&run); err != nil {
			return err
		}
	}
	if err := inst.Run(ctx, s.estimator.config.TFRandomSeed, uint32(s.step+s.runs)); err != nil {
		return err
	}
	if s.mode == TRAIN {
		s.step++
	} else {
		s.runs++
	}
	if err := s.read(inst, sizes); err != nil {
		return err
	}
	if f != nil {
		if err := f(inst); err != nil {
			return err
		}
	}
	for _, h := range s.started {
		if err := h.AfterRun(&run, &s.values); err != nil {
			return err
		}
	}
	return nil
}

// begin starts the hooks, once.
func (s *Session) begin() error {
	if s.started != nil {
		return nil
	}
	s.started = append([]SessionRunHook{}, append(slices.Clone(s.hooks), s.specHooks...)...)
	for _, h := range s.started {
		if err := h.Begin(s); err != nil {
			return err
		}
	}
	return nil
}

// end notifies the hooks of the end of the session.
func (s *Session) end() error {
	for _, h := range s.started {
		if err := h.End(s); err != nil {
			return err
		}
	}
	return nil
}

// read computes the means of loss and fetches over the replicas that had examples.
func (s *Session) read(inst *distribute.Instance, sizes []int) error {
	s.values.GlobalStep = s.step
	first := s.predictions
	if s.mode != PREDICT {
		first = 0
	}
	for i := first; i < len(s.outputs); i++ {
		sum, n := 0.0, 0
		for replica, size := range sizes {
			if size == 0 {
				continue
			}
			b := inst.Output(replica, i)
			if err := b.Read(s.scratch[:4]); err != nil {
				return err
			}
			sum += ir.Element(s.scratch[:4], ir.Float32, 0)
			n++
		}
		mean := sum / float64(n)
		if s.mode != PREDICT && i == 0 {
			s.values.Loss = mean
		}
		s.values.Values[s.outputs[i]] = mean
	}
	return nil
}

// output copies a result of the first replica.
func output(inst *distribute.Instance, i int) (kernels.Array, error) {
	b := inst.Output(0, i)
	a := kernels.NewArray(b.Type())
	return a, b.Read(a.Data)
}
