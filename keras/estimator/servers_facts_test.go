package estimator_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/estimator"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers/initializers"
	"github.com/gokeras/gokeras/optimizers"
)

// program is what a process trains.
type program struct {
	units      int
	activation func(*ops.Tensor) *ops.Tensor
	factor     float64 // of the loss
	name       string
	optimizer  optimizers.Optimizer
	seed       uint64
	batch      int
	swapped    bool // the terms of the loss are in another order
	fetch      string
	frozen     bool
	steps      int
	nan        bool // one of the labels of the second batch is NaN
	saves      int  // number of steps between checkpoints
}

func (p *program) model(c *estimator.Context, features estimator.Features, labels *ops.Tensor, mode estimator.ModeKey, _ estimator.Params) (estimator.EstimatorSpec, error) {
	ones := &initializers.Constant{Value: 0.5}
	hidden := c.Read(c.GetVariable(distribute.VariableSpec{Name: p.name, Shape: ir.Shape{3, p.units}, DType: ir.Float32, Initializer: ones}))
	out := c.Read(c.GetVariable(distribute.VariableSpec{Name: "out", Shape: ir.Shape{p.units, 1}, DType: ir.Float32, Initializer: ones, Frozen: p.frozen}))
	y := ops.Matmul(p.activation(ops.Matmul(features.First(), hidden)), out)
	spec := estimator.EstimatorSpec{Mode: mode, Predictions: map[string]*ops.Tensor{"y": y}}
	terms := []func() *ops.Tensor{
		func() *ops.Tensor { return ops.Mean(ops.Square(ops.Subtract(y, labels))) },
		func() *ops.Tensor { return ops.MultiplyScalar(ops.Mean(ops.Abs(hidden)), p.factor) },
	}
	if p.swapped {
		second := terms[1]()
		spec.Loss = ops.Add(terms[0](), second)
	} else {
		first := terms[0]()
		spec.Loss = ops.Add(first, terms[1]())
	}
	c.Fetch(p.fetch, spec.Loss)
	if mode == estimator.TRAIN {
		spec.TrainOp = c.Minimize(p.optimizer, spec.Loss)
	}
	return spec, nil
}

func (p *program) train(ctx context.Context, s distribute.Strategy, dir string) error {
	e, err := estimator.New(p.model, estimator.RunConfig{TrainDistribute: s, ModelDir: dir, TFRandomSeed: p.seed, SaveCheckpointsSteps: p.saves}, nil)
	if err != nil {
		return err
	}
	return e.Train(ctx, p.input, estimator.MaxSteps(p.steps))
}

func (p *program) input(distribute.InputContext) (data.Dataset, error) {
	x, y, r := make([][]float32, 64), make([][]float32, 64), rand.New(rand.NewPCG(1, 1))
	for i := range x {
		x[i], y[i] = []float32{r.Float32(), r.Float32(), r.Float32()}, []float32{r.Float32()}
	}
	if p.nan {
		y[p.batch][0] = float32(math.NaN())
	}
	return data.FromTensorSlices(x, y).Repeat(-1).Batch(p.batch, false), nil
}

// aProgram is one of the programs that the tests change.
func aProgram() program {
	return program{units: 5, activation: ops.Tanh, factor: 0.125, name: "hidden", optimizer: &optimizers.SGD{LearningRate: 0.1}, seed: 7, batch: 8, fetch: "total", steps: 3}
}

// TestEstimatorsOtherProgram: a worker with another ModelFn, optimizer or seed ends the job before the first update,
// with an error that shows both. A worker that differs only in its data, or in the order of its operations, trains.
func TestEstimatorsOtherProgram(t *testing.T) {
	for name, c := range map[string]struct {
		change      func(p *program)
		here, there string // parts of what the worker and the coordinator report; "": the job succeeds
	}{
		"activation": {func(p *program) { p.activation = ops.Relu }, "operation ", "operation "},
		"width":      {func(p *program) { p.units = 6 }, "float32[3 6]", "float32[3 5]"},
		"loss":       {func(p *program) { p.factor = 0.25 }, "0.25", "0.125"},
		"name":       {func(p *program) { p.name = "other" }, "variable other", "variable hidden"},
		"optimizer":  {func(p *program) { p.optimizer = &optimizers.Adam{LearningRate: 0.1} }, "Adam", "SGD"},
		"momentum":   {func(p *program) { p.optimizer = &optimizers.SGD{LearningRate: 0.1, Momentum: 0.5} }, "Momentum:0.5", "Momentum:0 "},
		"seed":       {func(p *program) { p.seed = 8 }, "seed 8", "seed 7"},
		"result":     {func(p *program) { p.fetch = "other" }, "other", "total"},
		"frozen":     {func(p *program) { p.frozen = true }, "trained false", "trained true"},
		"batch size": {change: func(p *program) { p.batch = 16 }},
		"order":      {change: func(p *program) { p.swapped = true }},
		"nothing":    {change: func(p *program) {}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			err := onServers(t, func(ctx context.Context, s *distribute.ParameterServerStrategy) error {
				p := aProgram()
				if !s.IsCoordinator() {
					c.change(&p)
					return p.train(ctx, s, t.TempDir())
				}
				return p.train(ctx, s, dir)
			})
			if c.there == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, "this process has")
			require.ErrorContains(t, err, c.here)
			require.ErrorContains(t, err, c.there)
			require.ErrorContains(t, err, "worker:0: estimator: Train: on the coordinator: ", "the worker learns of it too")
		})
	}
}
