package keras

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/layers"
)

// ones is a job whose variables are full of ones.
type ones struct {
	parameters.Job
	pulls int
}

func (o *ones) Pull(_ context.Context, reads ...*parameters.Read) error {
	o.pulls++
	for _, r := range reads {
		for i := range r.Values {
			r.Values[i] = 1
		}
	}
	return nil
}

// failingData are data that cannot be read. When asked for a batch they check the weights, and leave there what the
// step would.
type failingData struct {
	source
	weight *serverWeight
	memory *stepMemory
	seen   []float64
}

var errStep = errors.New("a step that fails when its gradients lie where the weights were")

func (f *failingData) next() (*data.Batch, error) {
	a, err := f.weight.local.Value()
	if err != nil {
		return nil, err
	}
	f.seen = append(f.seen, a.Float64s()[0])
	for _, r := range f.memory.reads {
		for i := range r.Values {
			r.Values[i] = 7
		}
	}
	return nil, errStep
}

// TestFailedStepLeavesNoWeights: weights that were fetched ahead for waiting steps serve one of them. If that step
// fails, the next one reads its own, and does not mistake the gradients for weights.
func TestFailedStepLeavesNoWeights(t *testing.T) {
	m, err := NewSequential([]layers.Layer{&layers.Dense{Units: 2}}, InputShape(3))
	require.NoError(t, err)
	require.NoError(t, m.Compile(CompileConfig{Optimizer: "sgd", Loss: "mse"}))
	weight := &serverWeight{local: m.TrainableVariables()[0], trained: true, remote: &parameters.Variable{Name: "kernel"}}
	job, src := &ones{}, &failingData{weight: weight}
	w := &serverWorker{serverFit: &serverFit{job: job, t: &trainer{m: m, c: &fitConfig{}, source: src}, weights: []*serverWeight{weight}},
		dense: []*serverWeight{weight}, trained: []*serverWeight{weight}, turn: make(chan struct{}, 1), reads: true, lookup: &tableLookups{}}
	src.memory = w.memory()
	require.NoError(t, job.Pull(t.Context(), src.memory.reads...))
	src.memory.ready = 2 // both steps were waiting when the values were requested
	w.giveBack(src.memory)
	var argument bytes.Buffer
	require.NoError(t, gob.NewEncoder(&argument).Encode(serverStep{Batch: -1}))
	for range 2 {
		_, err := w.step(t.Context(), &parameters.Closure{Argument: argument.Bytes()})
		require.ErrorIs(t, err, errStep)
	}
	require.Equal(t, []float64{1, 1}, src.seen)
	require.Equal(t, 2, job.pulls, "one here and one of the second step")
	require.NoError(t, w.leave())
}
