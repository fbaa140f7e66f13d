package keras

import (
	"context"
	"errors"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// resultReader computes the results of metrics from their state, combined over the replicas.
type resultReader struct {
	m         *Model
	functions resultFunctions
	names     []string
	types     [][]ir.Type
	sizes     []int
	raw       []byte // of one result
}

// resultFunctions compute results: over all processes, and over this one alone.
type resultFunctions struct{ all, own *distribute.Function }

// resultsOf makes the functions for a list that is known when they first run.
func (m *Model) resultsOf(list func() []*namedMetric) resultFunctions {
	results := func(r *distribute.Replica, _ []*ops.Tensor) []*ops.Tensor {
		var out []*ops.Tensor
		for _, metric := range list() {
			out = append(out, metric.metric.Result(r))
		}
		return out
	}
	f := distribute.NewFunction(m.strategy, "results", results)
	if distribute.WorkersOf(m.strategy) == nil {
		return resultFunctions{f, f}
	}
	return resultFunctions{f, distribute.NewProcessFunction(m.strategy, "results", results)}
}

// newResultReader reads the metrics of training steps or of test steps.
func newResultReader(m *Model, training bool) *resultReader {
	n := len(m.strategy.Devices())
	r := &resultReader{m: m, functions: m.compiled.testResults, types: make([][]ir.Type, n), sizes: make([]int, n)}
	if training {
		r.functions = m.compiled.trainResults
	}
	for _, metric := range m.compiled.reported(training) {
		r.names = append(r.names, metric.name)
	}
	return r
}

// logs returns the results, which are computed when first read. They must be read before the next step; later they are
// lost. Under a strategy over several processes, all processes must read them.
func (r *resultReader) logs(prefix string) *callbacks.Logs {
	return r.logsOf(r.functions.all, prefix)
}

// batchLogs is logs for the hooks of a batch, in which callbacks may read logs on one worker and not on another. With
// several processes they are therefore the results for this process's examples.
func (r *resultReader) batchLogs() *callbacks.Logs {
	return r.logsOf(r.functions.own, "")
}

func (r *resultReader) logsOf(f *distribute.Function, prefix string) *callbacks.Logs {
	at := r.m.measured.Load()
	return callbacks.NewLogs(func(l *callbacks.Logs) error {
		if r.m.measured.Load() != at {
			return errLate
		}
		return r.read(f, prefix, l)
	})
}

var errLate = errors.New("keras: the logs of a batch are worked out when they are first read, which must be inside the hook that gets them")

func (r *resultReader) read(f *distribute.Function, prefix string, l *callbacks.Logs) error {
	inst, err := r.compute(f)
	if err != nil {
		return err
	}
	defer f.Release(inst)
	for i, name := range r.names {
		a, err := r.result(inst, i)
		if err != nil {
			return err
		}
		l.Set(prefix+name, a.Float64s()...)
	}
	return nil
}

// scores returns the first number of each result, by name.
func (r *resultReader) scores() (map[string]float64, error) {
	f := r.functions.all
	inst, err := r.compute(f)
	if err != nil {
		return nil, err
	}
	defer f.Release(inst)
	scores := make(map[string]float64, len(r.names))
	for i, name := range r.names {
		a, err := r.result(inst, i)
		if err != nil {
			return nil, err
		}
		if scores[name] = 0; a.Len() > 0 {
			scores[name] = a.Element(0)
		}
	}
	return scores, nil
}

// compute computes the results. The caller releases the instance that has them.
func (r *resultReader) compute(f *distribute.Function) (*distribute.Instance, error) {
	if err := r.m.settle(); err != nil {
		return nil, err
	}
	inst, err := f.Acquire(r.types, r.sizes)
	if err != nil {
		return nil, err
	}
	if err := inst.Run(context.Background(), 0, 0); err != nil {
		f.Release(inst)
		return nil, err
	}
	return inst, nil
}

// result returns the i-th result, valid until the next call.
func (r *resultReader) result(inst *distribute.Instance, i int) (kernels.Array, error) {
	b := inst.Output(0, i)
	t := b.Type()
	if n := t.Bytes(); cap(r.raw) < n {
		r.raw = make([]byte, n)
	}
	r.raw = r.raw[:t.Bytes()]
	return kernels.Array{Type: t, Data: r.raw}, b.Read(r.raw)
}
