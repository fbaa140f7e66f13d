package estimator_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/keras/estimator"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/optimizers"
)

// TestEstimatorsOfWorkersDiffer: a worker with another ModelFn, optimizer, seed or number of steps ends the job on all
// workers before the first update, with an error that shows both. A worker that differs only in its data trains.
func TestEstimatorsOfWorkersDiffer(t *testing.T) {
	for name, c := range map[string]struct {
		change      func(p *program)
		here, there string // parts of what worker 1 and the others report; "": the job succeeds
	}{
		"activation": {func(p *program) { p.activation = ops.Relu }, "relu", "tanh"},
		"width":      {func(p *program) { p.units = 6 }, "float32[3 6]", "float32[3 5]"},
		"loss":       {func(p *program) { p.factor = 0.25 }, "0.25", "0.125"},
		"optimizer":  {func(p *program) { p.optimizer = &optimizers.Adam{LearningRate: 0.1} }, "adam", "global_step"},
		"momentum":   {func(p *program) { p.optimizer = &optimizers.SGD{LearningRate: 0.1, Momentum: 0.5} }, "sgd/hidden_momentum", "global_step"},
		"seed":       {func(p *program) { p.seed = 8 }, "seed 8", "seed 7"},
		"result":     {func(p *program) { p.fetch = "other" }, "other", "total"},
		"frozen":     {func(p *program) { p.frozen = true }, "program", "program"},
		"order":      {func(p *program) { p.swapped = true }, "abs of", "sub of"},
		"steps":      {func(p *program) { p.steps = 4 }, "up to step 4", "up to step 3"},
		"batch size": {change: func(p *program) { p.batch = 16 }},
		"nothing":    {change: func(p *program) {}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			errs := eachWorker(t, 3, func(ctx context.Context, s *distribute.MultiWorkerMirroredStrategy) error {
				p := aProgram()
				if s.Rank() == 1 {
					c.change(&p)
				}
				return p.train(ctx, s, t.TempDir())
			})
			for rank, err := range errs {
				if c.there == "" {
					require.NoError(t, err, "worker %d", rank)
					continue
				}
				require.ErrorContains(t, err, c.here, "worker %d", rank)
				require.ErrorContains(t, err, c.there, "worker %d", rank)
			}
		})
	}
}

// seen is what a hook sees.
type seen struct {
	estimator.HookBase
	losses []float64
}

func (h *seen) AfterRun(_ *estimator.RunContext, v *estimator.RunValues) error {
	h.losses = append(h.losses, v.Loss)
	return nil
}

// TestLossOfAllWorkers: hooks see the mean of the losses of all workers, as TensorFlow's do. So a NaN loss on one
// worker ends training on all, and no checkpoint stores the resulting weights.
func TestLossOfAllWorkers(t *testing.T) {
	x := [][]float32{{1, 2, 3}, {4, 5, 6}}
	constant := func(c *estimator.Context, f estimator.Features, labels *ops.Tensor, mode estimator.ModeKey, _ estimator.Params) (estimator.EstimatorSpec, error) {
		w := c.GetVariable(distribute.VariableSpec{Name: "w", Shape: []int{3, 1}, DType: ir.Float32})
		loss := ops.Add(ops.Mean(labels), ops.MultiplyScalar(ops.Mean(ops.Matmul(f.First(), c.Read(w))), 0))
		return estimator.EstimatorSpec{Mode: mode, Loss: loss, TrainOp: c.Minimize(&optimizers.SGD{LearningRate: 0.1}, loss)}, nil
	}
	hooks := make([]seen, 2)
	for rank, err := range eachWorker(t, 2, func(ctx context.Context, s *distribute.MultiWorkerMirroredStrategy) error {
		e, err := estimator.New(constant, estimator.RunConfig{TrainDistribute: s, ModelDir: t.TempDir()}, nil)
		if err != nil {
			return err
		}
		y := [][]float32{{float32(3 * s.Rank())}, {float32(1 + s.Rank())}} // losses 0 and 3, then 1 and 2
		return e.Train(ctx, func(distribute.InputContext) (data.Dataset, error) {
			return data.FromTensorSlices(x, y).Repeat(-1).Batch(1, false), nil
		}, estimator.Steps(2), estimator.Hooks(&hooks[s.Rank()]))
	}) {
		require.NoError(t, err)
		require.Equal(t, []float64{1.5, 1.5}, hooks[rank].losses)
	}

	dir := t.TempDir()
	for rank, err := range eachWorker(t, 3, func(ctx context.Context, s *distribute.MultiWorkerMirroredStrategy) error {
		p := aProgram()
		p.saves, p.nan = 1, s.Rank() == 1
		return p.train(ctx, s, dir)
	}) {
		require.ErrorIs(t, err, estimator.ErrNaNLoss, "worker %d", rank)
	}
	checkpoint, err := estimator.LatestCheckpoint(dir)
	require.NoError(t, err)
	require.Contains(t, checkpoint, "model.ckpt-1")
}

// eachWorker runs f on n workers of one job and returns how it ended on each.
func eachWorker(t *testing.T, n int, f func(ctx context.Context, s *distribute.MultiWorkerMirroredStrategy) error) []error {
	t.Helper()
	tasks, errs := make([]cluster.Task, n), make([]error, n)
	for i := range tasks {
		tasks[i] = cluster.Task{Type: cluster.Worker, Index: i}
	}
	began := time.Now()
	onTasks(t, tasks, func(ctx context.Context, s *distribute.MultiWorkerMirroredStrategy, _ cluster.Resolver) error {
		errs[s.Rank()] = f(ctx, s)
		_ = s.Close() // the group may have ended
		return nil
	})
	require.Less(t, time.Since(began), 20*time.Second, "nobody waits in vain")
	return errs
}
