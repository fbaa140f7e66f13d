package keras

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unsafe"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/keras/internal/servers"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/optimizers"
)

// onServers returns the model's strategy if its variables are on parameter servers, otherwise nil.
func (m *Model) onServers() *distribute.ParameterServerStrategy {
	s, _ := m.strategy.(*distribute.ParameterServerStrategy)
	return s
}

// serverFit is one call of Fit under a ParameterServerStrategy. All processes make the call and identify it by its
// number.
type serverFit struct {
	t      *trainer
	s      *distribute.ParameterServerStrategy
	job    parameters.Job
	number int

	record    recorder
	weights   []*serverWeight
	tables    []*serverTable // of dynamic embeddings
	metrics   distribute.Variables
	sums      [][]float64 // of the metrics in this epoch
	steps     int64       // updates so far, including those of an earlier coordinator
	begun     int64       // updates before this call
	resumedAt int64       // updates of this call made by an earlier coordinator
	pending   []pendingStep
	watched   bool      // by batch hooks
	fetched   []float32 // memory for the values of a weight
}

// serverWeight is a weight of the model and its variable on the servers.
type serverWeight struct {
	local      *distribute.Variable
	trained    bool
	replaced   bool // a step assigns it, other than by adding to it
	rule       parameters.Rule
	constraint parameters.Constraint
	remote     *parameters.Variable
}

func (f *serverFit) name(what string) string { return "fit/" + strconv.Itoa(f.number) + "/" + what }

// newServerFit checks for what cannot be trained with variables on servers.
func newServerFit(t *trainer, s *distribute.ParameterServerStrategy) (*serverFit, error) {
	switch {
	case t.c.steps == 0:
		return nil, errors.New("keras: Fit: under ParameterServerStrategy every worker reads data of its own, so that nobody knows how long an epoch is; set StepsPerEpoch, the number of batches of all workers together")
	}
	return &serverFit{t: t, s: s, job: s.Job(), number: s.NextCall()}, nil
}

// fitOnServers is Fit under a ParameterServerStrategy.
func (m *Model) fitOnServers(ctx context.Context, s *distribute.ParameterServerStrategy, t *trainer) (*History, error) {
	f, err := newServerFit(t, s)
	if err != nil {
		return nil, err
	}
	t.servers = f
	if !f.job.Coordinates() {
		return f.work(ctx)
	}
	h, over, err := f.ended(ctx)
	if err != nil {
		return nil, err
	}
	if over { // an earlier coordinator has finished this call
		return h, f.takeOver(ctx)
	}
	f.record.note = func() error {
		return f.noteHistory(func(key string, value []byte) error { return f.job.SetNote(ctx, key, value) })
	}
	t.c.callbacks = append(slices.Clone(t.c.callbacks), &f.record)
	h, err = t.run(ctx)
	if err == nil {
		err = f.fetch(context.WithoutCancel(ctx), true)
	}
	if f.resumedAt > 0 && err == nil {
		h, err = f.record.history()
	}
	if note := f.tell(ctx, err); err == nil {
		err = note
	}
	return h, err
}

// encoded returns a value in the form of notes.
func encoded(v any) ([]byte, error) {
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(v)
	return b.Bytes(), err
}

// takeOver prepares the model and takes over the servers' values.
func (f *serverFit) takeOver(ctx context.Context) error {
	if err := f.t.peek(ctx); err != nil {
		return prefixed("Fit", err)
	}
	if err := f.layout(); err != nil {
		return prefixed("Fit", err)
	}
	for _, w := range f.weights {
		var err error
		if w.remote, err = f.job.Find(ctx, f.remoteName(w.local)); err != nil {
			return err
		}
	}
	if err := f.findTables(ctx); err != nil {
		return err
	}
	return f.fetch(ctx, f.job.Coordinates())
}

// layout lists the weights that are stored on the servers. Others (counters, random states) stay in the processes.
func (f *serverFit) layout() error {
	c := f.t.m.compiled
	if c.serverCall == 0 {
		c.serverCall = f.number
	}
	if c.trainStep != nil && len(c.optimized) > 1 {
		return fmt.Errorf("TrainStep uses %d optimizers; parameter servers update the weights of a model by one: use one, or write a loop with coordinator.ClusterCoordinator", len(c.optimized))
	}
	trained := map[*distribute.Variable]bool{}
	for _, v := range c.trainable {
		trained[v] = true
	}
	f.weights = nil
	for _, v := range f.t.m.Weights() {
		w := &serverWeight{local: v, trained: trained[v]}
		if v.Type().DType != ir.Float32 {
			if w.trained {
				return fmt.Errorf("weight %s is of type %v; parameter servers train float32 weights: use the policy float32 or a mixed one", v.Path(), v.Type().DType)
			}
			continue
		}
		if w.trained {
			var err error
			if w.rule, err = optimizers.ServerRule(f.optimizer(), v); err != nil {
				return err
			}
			if w.constraint, err = servers.Constraint(v); err != nil {
				return err
			}
		}
		f.weights = append(f.weights, w)
	}
	f.metrics = nil
	for _, metric := range c.reported(true) {
		f.metrics = append(f.metrics, metric.metric.Variables()...)
	}
	return f.layoutTables()
}

// optimizer returns the optimizer of the weights: that of Compile, or of a user-defined TrainStep.
func (f *serverFit) optimizer() optimizers.Optimizer {
	if c := f.t.m.compiled; c.trainStep != nil && len(c.optimized) == 1 {
		return c.optimized[0].optimizer
	}
	return f.t.m.compiled.optimizer
}

// remoteName returns the name on the servers. It distinguishes models of one name, and models that were compiled again.
func (f *serverFit) remoteName(v *distribute.Variable) string {
	return f.t.m.Name() + ":" + strconv.Itoa(f.t.m.compiled.serverCall) + "/" + v.Path()
}

// place puts the weights on the servers. If they are there already, an earlier coordinator or an earlier call has
// trained them; then only what the program has set since is sent.
func (f *serverFit) place(ctx context.Context) error {
	if err := f.layout(); err != nil {
		return err
	}
	first := !f.t.m.compiled.onServers
	for _, w := range f.weights {
		value := func() ([]float32, error) {
			a, err := w.local.Value()
			return floats(a), err
		}
		v, created, err := f.job.Create(ctx, parameters.Spec{Name: f.remoteName(w.local), Shape: w.local.Type().Shape, Rule: w.rule, Constraint: w.constraint, Value: value})
		if err != nil {
			return err
		}
		w.remote = v
		if created && w.trained {
			if err := f.sendSlots(ctx, w); err != nil {
				return err
			}
		}
		if !created && !first {
			now, err := value()
			if err == nil {
				err = f.job.Change(ctx, parameters.Change{Variable: v, Op: parameters.Assign, Values: now})
			}
			if err != nil {
				return err
			}
		}
	}
	if err := f.placeTables(ctx, first); err != nil {
		return err
	}
	f.t.m.compiled.onServers = true
	if err := f.tellFacts(ctx); err != nil {
		return err
	}
	return f.resume(ctx)
}

// tellFacts notes what the workers' programs must have in common with this one.
func (f *serverFit) tellFacts(ctx context.Context) error {
	replicas, _ := f.job.Rounds()
	return f.job.SetNote(ctx, f.name("program"), []byte(f.t.facts(replicas > 0)))
}

// resume finds out how far an earlier coordinator came in this call.
func (f *serverFit) resume(ctx context.Context) error {
	var err error
	if f.steps, err = f.updates(ctx); err != nil {
		return err
	}
	text, err := f.job.Note(ctx, f.name("begin"))
	if err != nil {
		return err
	}
	f.begun = f.steps
	if text == nil {
		return f.job.SetNote(ctx, f.name("begin"), strconv.AppendInt([]byte("at "), f.steps, 10))
	}
	if _, err := fmt.Sscanf(string(text), "at %d", &f.begun); err != nil {
		return fmt.Errorf("keras: Fit: the note %q: %w", text, err)
	}
	if f.resumedAt = f.steps - f.begun; f.resumedAt > 0 {
		perEpoch := int64(f.t.c.steps)
		f.t.c.initialEpoch = min(f.t.c.initialEpoch+int(f.resumedAt/perEpoch), f.t.c.epochs)
		f.t.skipped = int(f.resumedAt % perEpoch)
		if err := f.readHistory(ctx); err != nil {
			return err
		}
		return f.fetch(ctx, true)
	}
	return nil
}

// updates returns the number of gradients that have been applied. Every step updates every weight, so the smallest one
// is asked.
func (f *serverFit) updates(ctx context.Context) (int64, error) {
	var least *serverWeight
	for _, w := range f.weights {
		if w.trained && (least == nil || w.local.Size() < least.local.Size()) {
			least = w
		}
	}
	if least == nil && len(f.tables) > 0 {
		state, err := f.job.Rows(ctx, f.tables[0].remote, nil)
		return int64(state.Step), err
	}
	if least == nil {
		return 0, nil
	}
	_, n, err := f.job.Slots(ctx, least.remote)
	return int64(n), err
}

// fetch reads the values of the weights from the servers, and if slots is set also the optimizer's state.
func (f *serverFit) fetch(ctx context.Context, slots bool) error {
	for _, w := range f.weights {
		r := &parameters.Read{Variable: w.remote, Values: f.fetched}
		err := f.job.Pull(ctx, r)
		f.fetched = r.Values // for the next one
		if err == nil {
			err = setFloats(w.local, r.Values)
		}
		if err == nil && slots && w.trained {
			err = f.fetchSlots(ctx, w)
		}
		if err != nil {
			return fmt.Errorf("keras: Fit: weight %s: %w", w.local.Path(), err)
		}
	}
	return f.fetchTables(ctx)
}

// sendSlots sends the servers the state of an optimizer that has trained before.
func (f *serverFit) sendSlots(ctx context.Context, w *serverWeight) error {
	o, ok := f.optimizer().(interface{ Iterations() *distribute.Variable })
	if !ok || o.Iterations() == nil {
		return nil
	}
	n, err := o.Iterations().Value()
	if err != nil || n.Element(0) == 0 {
		return err
	}
	slots := map[string][]float32{}
	for i, v := range optimizers.SlotsOf(f.optimizer(), w.local) {
		a, err := v.Value()
		if err != nil {
			return err
		}
		slots[w.rule.SlotNames()[i]] = floats(a)
	}
	return f.job.SetSlots(ctx, w.remote, slots, uint64(n.Element(0)))
}

func (f *serverFit) fetchSlots(ctx context.Context, w *serverWeight) error {
	values, n, err := f.job.Slots(ctx, w.remote)
	if err != nil {
		return err
	}
	for i, v := range optimizers.SlotsOf(f.optimizer(), w.local) {
		if err := setFloats(v, values[w.rule.SlotNames()[i]]); err != nil {
			return err
		}
	}
	if o, ok := f.optimizer().(interface{ Iterations() *distribute.Variable }); ok && o.Iterations() != nil {
		a, err := kernels.FromFloat64s(ir.Int64, ir.Shape{}, []float64{float64(n)})
		if err != nil {
			return err
		}
		return o.Iterations().SetValue(a)
	}
	return nil
}

// bytesOfFloats views numbers as bytes.
func bytesOfFloats(v []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 4*len(v))
}

// floats returns the numbers of a float32 array.
func floats(a kernels.Array) []float32 {
	all := a.Float64s()
	out := make([]float32, len(all))
	for i, x := range all {
		out[i] = float32(x)
	}
	return out
}

func setFloats(v *distribute.Variable, values []float32) error {
	return v.SetValue(kernels.Array{Type: v.Type(), Data: bytesOfFloats(values)})
}
