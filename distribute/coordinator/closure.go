package coordinator

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Closure is a call of a function, as the function sees it on its worker. Its changes are applied when the function has
// returned; its own reads see them before that, except for gradients.
type Closure struct {
	// Arguments are those of Schedule, with each dataset replaced by the worker's [Iterator].
	Arguments []any

	c       *ClusterCoordinator
	ctx     context.Context
	remote  *parameters.Closure
	changes []parameters.Change
	seen    map[*parameters.Variable][]uint64
	plan    *lookupPlan
	scratch *scratch // until the changes have been sent
}

// Context returns a context that ends when the call is given up.
func (cl *Closure) Context() context.Context { return cl.ctx }

// Worker is the number of the worker that runs the call, from 0: experimental_get_current_worker_index.
func (cl *Closure) Worker() int { return cl.remote.Worker }

// Attempt counts the runs of this call, from 1.
func (cl *Closure) Attempt() int { return cl.remote.Attempt }

// Strategy is the strategy, for its Run and Reduce.
func (cl *Closure) Strategy() *distribute.ParameterServerStrategy { return cl.c.strategy }

// Read returns the value of a variable.
func (cl *Closure) Read(v *Variable) ([]float32, error) {
	remote, err := v.find(cl.ctx)
	if err != nil {
		return nil, err
	}
	r := &parameters.Read{Variable: remote}
	if err := cl.c.job.Pull(cl.ctx, r); err != nil {
		return nil, err
	}
	cl.saw(remote, r.Seen)
	for _, ch := range cl.changes {
		if ch.Variable != remote || ch.Op == parameters.Gradient {
			continue
		}
		for i := range ch.Values {
			at := i
			if ch.IDs != nil {
				at = int(ch.IDs[i/remote.Width])*remote.Width + i%remote.Width
			}
			if ch.Op == parameters.Add {
				r.Values[at] += ch.Values[i]
			} else {
				r.Values[at] = ch.Values[i]
			}
		}
	}
	return r.Values, nil
}

func (cl *Closure) saw(v *parameters.Variable, steps []uint64) {
	if cl.seen == nil {
		cl.seen = map[*parameters.Variable][]uint64{}
	}
	cl.seen[v] = steps
}

// Lookup returns rows, one for each id. Each row is fetched once, even if ids repeat.
func (cl *Closure) Lookup(v *Variable, ids []int64) ([]float32, error) {
	return cl.LookupTo(nil, v, ids)
}

// LookupTo is Lookup into out, if it is large enough for the rows, or else into new memory.
func (cl *Closure) LookupTo(out []float32, v *Variable, ids []int64) ([]float32, error) {
	remote, err := v.find(cl.ctx)
	if err != nil {
		return nil, err
	}
	rows, r, err := lookup(cl.ctx, cl.c.job, remote, cl.planOf(ids), out, cl.memory())
	if err == nil {
		cl.saw(remote, r.Seen)
	}
	return rows, err
}

// planOf returns the plan for ids. It leaves a plan for other ids to the changes that use it.
func (cl *Closure) planOf(ids []int64) *lookupPlan {
	if cl.plan == nil || !slices.Equal(cl.plan.ids, ids) {
		cl.plan = cl.memory().takePlan().of(ids)
	}
	return cl.plan
}

func (cl *Closure) memory() *scratch {
	if cl.scratch == nil {
		cl.scratch = takeScratch()
	}
	return cl.scratch
}

// Assign replaces the value of a variable. One number stands for all elements.
func (cl *Closure) Assign(v *Variable, values ...float32) error {
	return cl.change(v, parameters.Assign, 1, values)
}

// AssignAdd adds to a variable; see Assign.
func (cl *Closure) AssignAdd(v *Variable, values ...float32) error {
	return cl.change(v, parameters.Add, 1, values)
}

// AssignSub subtracts from a variable; see Assign.
func (cl *Closure) AssignSub(v *Variable, values ...float32) error {
	return cl.change(v, parameters.Add, -1, values)
}

func (cl *Closure) change(v *Variable, op parameters.Op, sign float32, values []float32) error {
	remote, err := v.find(cl.ctx)
	if err != nil {
		return err
	}
	all, err := spread(remote, sign, values)
	if err == nil {
		cl.changes = append(cl.changes, parameters.Change{Variable: remote, Op: op, Values: all})
	}
	return err
}

// ScatterAdd adds rows, one for each id; of equal ids all are added.
func (cl *Closure) ScatterAdd(v *Variable, ids []int64, rows []float32) error {
	return cl.scatter(v, parameters.Add, 0, ids, rows)
}

// Gradient lets the variable's rule update it from a gradient, with a learning rate.
func (cl *Closure) Gradient(v *Variable, rate float64, gradient []float32) error {
	remote, err := v.find(cl.ctx)
	if err != nil {
		return err
	}
	if n := remote.Rows() * remote.Width; len(gradient) != n {
		return fmt.Errorf("coordinator: the gradient of variable %s has %d numbers; expected %d", remote.Name, len(gradient), n)
	}
	cl.changes = append(cl.changes, parameters.Change{Variable: remote, Op: parameters.Gradient, Rate: rate, Values: gradient, Seen: cl.seen[remote]})
	return nil
}

// GradientRows is Gradient for some rows (IndexedSlices), one for each id. Rows of equal ids are summed on the worker.
func (cl *Closure) GradientRows(v *Variable, rate float64, ids []int64, rows []float32) error {
	return cl.scatter(v, parameters.Gradient, rate, ids, rows)
}

func (cl *Closure) scatter(v *Variable, op parameters.Op, rate float64, ids []int64, rows []float32) error {
	remote, err := v.find(cl.ctx)
	if err != nil {
		return err
	}
	change, err := scattered(remote, op, cl.planOf(ids), rows, cl.memory())
	if err == nil {
		change.Rate, change.Seen = rate, cl.seen[remote]
		cl.changes = append(cl.changes, change)
	}
	return err
}

// Iterator returns the batches of a dataset one by one; Next returns io.EOF at the end. Only one call uses it at a
// time.
type Iterator interface{ Next() (any, error) }

// PerWorkerDataset is a dataset that each worker creates for itself.
type PerWorkerDataset struct {
	name string
	make func(ctx context.Context, input distribute.InputContext) (Iterator, error)

	mu sync.Mutex
	it Iterator
}

// CreatePerWorkerDataset registers a dataset under a name. f is called on each worker when a call first uses the
// dataset, and again on a worker that was lost and came back; the input context says which worker it is. Calls that use
// the dataset return an error of f.
func (c *ClusterCoordinator) CreatePerWorkerDataset(name string, f func(ctx context.Context, input distribute.InputContext) (Iterator, error)) *PerWorkerDataset {
	d := &PerWorkerDataset{name: name, make: f}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.datasets[name] = d
	return d
}

// iterator returns the worker's iterator of a dataset.
func (c *ClusterCoordinator) iterator(ctx context.Context, name string) (Iterator, error) {
	c.mu.Lock()
	d := c.datasets[name]
	c.mu.Unlock()
	if d == nil {
		return nil, fmt.Errorf("coordinator: worker:%d has no dataset %q; create it on all processes", c.job.Worker(), name)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.it == nil {
		if d.make == nil {
			return nil, fmt.Errorf("coordinator: the dataset %q has no function that makes it", name)
		}
		input := distribute.InputContext{NumInputPipelines: c.job.Workers(), InputPipelineID: c.job.Worker(), NumReplicasInSync: 1}
		it, err := d.make(context.WithoutCancel(ctx), input)
		if err != nil {
			return nil, fmt.Errorf("coordinator: the dataset %q: %w", name, err)
		}
		if it == nil {
			return nil, fmt.Errorf("coordinator: the function of the dataset %q returned no iterator", name)
		}
		d.it = it
	}
	return d, nil
}

// Next returns the next batch, to one caller at a time.
func (d *PerWorkerDataset) Next() (any, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.it == nil {
		return nil, fmt.Errorf("coordinator: the dataset %q is read by the functions of workers, which get it as an argument", d.name)
	}
	return d.it.Next()
}

// Batches makes an iterator from a sequence, such as the Batches of a dataset.
func Batches[T any](seq iter.Seq2[T, error]) Iterator {
	next, stop := iter.Pull2(seq)
	return &sequence[T]{next, stop}
}

type sequence[T any] struct {
	next func() (T, error, bool)
	stop func()
}

// Next implements [Iterator].
func (s *sequence[T]) Next() (any, error) {
	v, err, ok := s.next()
	if !ok {
		s.stop()
		return nil, io.EOF
	}
	return v, err
}

// Weights are variables of layers together with their counterparts on the servers.
type Weights struct {
	local  distribute.Variables
	remote []*Variable
}

// Weights puts the variables of a model on the servers, each with the rule by which gradients update it; see
// optimizers.ServerRule. Functions compute with the local variables, after Pull. All processes must make the same call.
func (c *ClusterCoordinator) Weights(ctx context.Context, name string, vars distribute.Variables, rule func(v *distribute.Variable) (parameters.Rule, error)) (*Weights, error) {
	w := &Weights{local: vars}
	for i, v := range vars {
		if v.Type().DType != ir.Float32 {
			return nil, fmt.Errorf("coordinator: variable %s is of type %v; servers hold float32", v.Path(), v.Type().DType)
		}
		spec := VariableSpec{Name: fmt.Sprintf("%s/%d/%s", name, i, v.Path()), Shape: v.Type().Shape}
		if rule != nil {
			var err error
			if spec.Rule, err = rule(v); err != nil {
				return nil, err
			}
		}
		if c.Coordinates() {
			a, err := v.Value()
			if err != nil {
				return nil, err
			}
			for _, x := range a.Float64s() {
				spec.Value = append(spec.Value, float32(x))
			}
		}
		one, err := c.Variable(ctx, spec)
		if err != nil {
			return nil, err
		}
		w.remote = append(w.remote, one)
	}
	return w, nil
}

// Pull copies the values on the servers to the local variables.
func (w *Weights) Pull(ctx context.Context) error {
	_, err := w.pull(ctx)
	return err
}

func (w *Weights) pull(ctx context.Context) ([]*parameters.Read, error) {
	var reads []*parameters.Read
	for _, v := range w.remote {
		remote, err := v.find(ctx)
		if err != nil {
			return nil, err
		}
		reads = append(reads, &parameters.Read{Variable: remote})
	}
	if len(reads) == 0 {
		return nil, nil
	}
	if err := w.remote[0].c.job.Pull(ctx, reads...); err != nil {
		return nil, err
	}
	for i, v := range w.local {
		all := make([]float64, len(reads[i].Values))
		for j, x := range reads[i].Values {
			all[j] = float64(x)
		}
		a, err := kernels.FromFloat64s(ir.Float32, v.Type().Shape, all)
		if err == nil {
			err = v.SetValue(a)
		}
		if err != nil {
			return nil, err
		}
	}
	return reads, nil
}

// Pull is Weights.Pull, and also records how old the values are. Only one call on a worker at a time may compute with
// them: see Options.InFlight.
func (cl *Closure) Pull(w *Weights) error {
	reads, err := w.pull(cl.ctx)
	for _, r := range reads {
		cl.saw(r.Variable, r.Seen)
	}
	return err
}

// Apply lets the servers update the weights from their gradients, in the same order.
func (cl *Closure) Apply(w *Weights, rate float64, gradients []kernels.Array) error {
	if len(gradients) != len(w.remote) {
		return fmt.Errorf("coordinator: %d gradients for %d weights", len(gradients), len(w.remote))
	}
	for i, g := range gradients {
		values := make([]float32, 0, g.Type.Shape.Size())
		for _, x := range g.Float64s() {
			values = append(values, float32(x))
		}
		if err := cl.Gradient(w.remote[i], rate, values); err != nil {
			return err
		}
	}
	return nil
}

// Variables lists the local variables.
func (w *Weights) Variables() distribute.Variables { return w.local }
