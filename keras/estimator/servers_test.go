package estimator_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/cluster/clustertest"
	"github.com/gokeras/gokeras/distribute/parameterserver"
	"github.com/gokeras/gokeras/distribute/partitioners"
	"github.com/gokeras/gokeras/internal/fairclock"
	"github.com/gokeras/gokeras/keras/estimator"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers/initializers"
	"github.com/gokeras/gokeras/optimizers"
)

// lineModel is a line with two variables, one of which the step assigns before it is trained, a counter that the step
// increments, and a mean that follows the predictions.
func lineModel(c *estimator.Context, features estimator.Features, labels *ops.Tensor, mode estimator.ModeKey, _ estimator.Params) (estimator.EstimatorSpec, error) {
	kernel := c.GetVariable(distribute.VariableSpec{Name: "line/w", Shape: ir.Shape{3, 1}, DType: ir.Float32, Initializer: &initializers.Constant{Value: 0.5},
		Constraint: func(w *ops.Tensor) *ops.Tensor { return ops.Clip(w, -0.3, 0.7) }})
	if mode == estimator.TRAIN {
		c.AssignMirrored(kernel, ops.MultiplyScalar(c.Read(kernel), 0.9))
	}
	w := c.Read(kernel)
	b := c.Read(c.GetVariable(distribute.VariableSpec{Name: "line/b", Shape: ir.Shape{1}, DType: ir.Float32}))
	x := features.First()
	y := ops.Add(ops.Matmul(x, w), ops.BroadcastTo(b, x.Dim(0), 1))
	spec := estimator.EstimatorSpec{Mode: mode, Predictions: map[string]*ops.Tensor{"y": y}}
	if mode == estimator.PREDICT {
		return spec, nil
	}
	spec.Loss = ops.Mean(ops.Square(ops.Subtract(y, labels)))
	if mode == estimator.TRAIN {
		moving := c.GetVariable(distribute.VariableSpec{Name: "line/moving", Shape: ir.Shape{}, DType: ir.Float32, Frozen: true, Aggregation: distribute.OnlyFirstReplica})
		c.AssignAdd(moving, ops.Scalar(y, 1))
		mean := c.GetVariable(distribute.VariableSpec{Name: "line/mean", Shape: ir.Shape{}, DType: ir.Float32, Frozen: true, Aggregation: distribute.Mean, Initializer: &initializers.Constant{Value: math.Inf(1)}})
		c.Assign(mean, ops.Minimum(c.Read(mean), ops.Mean(y)))
		spec.TrainOp = c.Minimize(&optimizers.Adam{LearningRate: 0.05}, spec.Loss)
	}
	return spec, nil
}

func lineInput(distribute.InputContext) (data.Dataset, error) {
	x, y := make([][]float32, 64), make([][]float32, 64)
	for i := range x {
		x[i] = []float32{float32(i%7) / 7, float32(i%5) / 5, float32(i%3) / 3}
		y[i] = []float32{2*x[i][0] - x[i][1] + 0.5*x[i][2] + 0.25}
	}
	return data.FromTensorSlices(x, y).Repeat(-1).Batch(8, false), nil
}

// trainLine trains twice: the second session continues where the first one ended.
func trainLine(ctx context.Context, s distribute.Strategy, dir string, hooks ...estimator.SessionRunHook) error {
	e, err := estimator.New(lineModel, estimator.RunConfig{TrainDistribute: s, ModelDir: dir, SaveCheckpointsSteps: 7}, nil)
	if err != nil {
		return err
	}
	for _, steps := range []int{20, 33} {
		if err := e.Train(ctx, lineInput, estimator.MaxSteps(steps), estimator.Hooks(hooks...)); err != nil {
			return err
		}
	}
	return nil
}

// countingHook records the steps that it sees.
type countingHook struct {
	estimator.HookBase
	steps []int64
}

func (h *countingHook) AfterRun(_ *estimator.RunContext, v *estimator.RunValues) error {
	h.steps = append(h.steps, v.GlobalStep)
	return nil
}

// onServers runs a program as a job of one worker and two servers in this process, with a step at a time.
func onServers(t *testing.T, program func(ctx context.Context, s *distribute.ParameterServerStrategy) error) error {
	t.Helper()
	spec := clustertest.Jobs(t, map[string]int{"worker": 1, "ps": 2})
	run := func(task *cluster.Task) error {
		o := parameterserver.Options{Resolver: &cluster.Simple{Cluster: spec, Task: task}, VariablePartitioner: partitioners.FixedShards{Shards: 2}, InFlight: 1,
			JoinTimeout: 5 * time.Minute, ServerTimeout: 5 * time.Minute}
		o.Consistency.Staleness = 1
		return parameterserver.RunStrategy(t.Context(), o, program)
	}
	var wait sync.WaitGroup
	var mu sync.Mutex
	var others error
	for _, task := range []cluster.Task{{Type: "worker"}, {Type: "ps"}, {Type: "ps", Index: 1}} {
		wait.Add(1)
		go func() {
			defer wait.Done()
			if err := run(&task); err != nil {
				mu.Lock()
				defer mu.Unlock()
				others = errors.Join(others, fmt.Errorf("%v: %w", task, err))
			}
		}()
	}
	err := run(nil)
	wait.Wait()
	return errors.Join(err, others)
}

// TestTrainOnParameterServers: with one worker and one step at a time an Estimator trains on servers as on one device,
// in two sessions of one job and in a job that continues from a checkpoint, with the state of the optimizer. Hooks see
// every step, and checkpoints have whole steps.
func TestTrainOnParameterServers(t *testing.T) {
	alone := t.TempDir()
	require.NoError(t, trainLine(t.Context(), nil, alone))
	compare := func(dir string) {
		t.Helper()
		one, err := estimator.New(lineModel, estimator.RunConfig{ModelDir: alone}, nil)
		require.NoError(t, err)
		other, err := estimator.New(lineModel, estimator.RunConfig{ModelDir: dir}, nil)
		require.NoError(t, err)
		names, err := one.VariableNames()
		require.NoError(t, err)
		found, err := other.VariableNames()
		require.NoError(t, err)
		require.Equal(t, names, found)
		for _, name := range names {
			want, err := one.VariableValue(name)
			require.NoError(t, err)
			got, err := other.VariableValue(name)
			require.NoError(t, err)
			if values, ok := want.Elements().([]float32); ok {
				require.InDeltaSlice(t, values, got.Elements(), 2e-5, name)
			} else {
				require.Equal(t, want.Elements(), got.Elements(), name)
			}
		}
	}
	dir, counted := t.TempDir(), &countingHook{}
	require.NoError(t, onServers(t, func(ctx context.Context, s *distribute.ParameterServerStrategy) error {
		if !s.IsCoordinator() {
			return trainLine(ctx, s, t.TempDir())
		}
		return trainLine(ctx, s, dir, counted)
	}))
	compare(dir)
	require.Len(t, counted.steps, 33)
	for i, step := range counted.steps {
		require.EqualValues(t, i+1, step)
	}

	again := t.TempDir()
	for _, steps := range []int{20, 33} { // two jobs
		require.NoError(t, onServers(t, func(ctx context.Context, s *distribute.ParameterServerStrategy) error {
			e, err := estimator.New(lineModel, estimator.RunConfig{TrainDistribute: s, ModelDir: again}, nil)
			if err != nil {
				return err
			}
			eval := estimator.EvalSpec{InputFn: lineInput}
			results, err := estimator.TrainAndEvaluate(ctx, e, estimator.TrainSpec{InputFn: lineInput, MaxSteps: &steps}, eval)
			require.Nil(t, results, "the evaluator evaluates")
			return err
		}))
	}
	compare(again)
}

// TestEstimatorOnServersErrors: errors are reported on the coordinator and on the workers.
func TestEstimatorOnServersErrors(t *testing.T) {
	err := onServers(t, func(ctx context.Context, s *distribute.ParameterServerStrategy) error {
		e, err := estimator.New(func(c *estimator.Context, features estimator.Features, labels *ops.Tensor, mode estimator.ModeKey, p estimator.Params) (estimator.EstimatorSpec, error) {
			return estimator.EstimatorSpec{}, errors.New("no model today")
		}, estimator.RunConfig{TrainDistribute: s, ModelDir: t.TempDir()}, nil)
		if err != nil {
			return err
		}
		return e.Train(ctx, lineInput)
	})
	require.ErrorContains(t, err, "no model today")
	require.ErrorContains(t, err, "worker:0: estimator: Train: on the coordinator: ")
}

// beginHook reports the first step.
type beginHook struct {
	estimator.HookBase
	begun chan struct{}
	once  sync.Once
}

func (h *beginHook) AfterRun(*estimator.RunContext, *estimator.RunValues) error {
	h.once.Do(func() { close(h.begun) })
	return nil
}

// TestTrainOnServersEndsWithContext: a worker whose step waits for a server ends with Train's context, not after the
// time in which the server might come back. So does a coordinator whose servers are gone.
func TestTrainOnServersEndsWithContext(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for timeouts: not with -short")
	}
	serving, stopServing := context.WithCancel(t.Context())
	working, stopWorking := context.WithCancel(t.Context())
	training, stopTraining := context.WithCancel(t.Context())
	defer stopServing()
	defer stopWorking()
	defer stopTraining()
	spec := clustertest.Jobs(t, map[string]int{"worker": 1, "ps": 1})
	begun := make(chan struct{})
	run := func(ctx context.Context, task *cluster.Task) chan error {
		ended := make(chan error, 1)
		go func() {
			o := parameterserver.Options{Resolver: &cluster.Simple{Cluster: spec, Task: task}, JoinTimeout: time.Minute, ServerTimeout: 20 * time.Minute}
			ended <- parameterserver.RunStrategy(ctx, o, func(ctx context.Context, s *distribute.ParameterServerStrategy) error {
				dir := t.TempDir()
				e, err := estimator.New(lineModel, estimator.RunConfig{TrainDistribute: s, ModelDir: dir}, nil)
				if err != nil {
					return err
				}
				return e.Train(ctx, lineInput, estimator.Hooks(&beginHook{begun: begun}))
			})
		}()
		return ended
	}
	server := run(serving, &cluster.Task{Type: "ps"})
	worker, coordinator := run(working, &cluster.Task{Type: "worker"}), run(training, nil)
	select {
	case <-begun:
	case err := <-coordinator:
		t.Fatal(err)
	}
	stopServing()
	require.ErrorIs(t, <-server, context.Canceled)
	time.Sleep(300 * time.Millisecond) // a step waits for the server
	clock := fairclock.Start()
	defer clock.Stop()
	stopWorking()
	require.ErrorIs(t, fairclock.Receive(t, clock, time.Minute, worker, "the end of the worker"), context.Canceled)
	stopTraining()
	require.ErrorIs(t, fairclock.Receive(t, clock, time.Minute, coordinator, "the end of the coordinator"), context.Canceled)
}
