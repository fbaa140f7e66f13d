package estimator_test

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/multiworker"
	"github.com/gokeras/gokeras/internal/tfvectors"
	"github.com/gokeras/gokeras/keras/estimator"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/optimizers"
)

// onWorkers runs f on n workers of one job, each with a strategy of its own.
func onWorkers(t *testing.T, n int, f func(ctx context.Context, s *distribute.MultiWorkerMirroredStrategy) error) {
	t.Helper()
	tasks := make([]cluster.Task, n)
	for i := range tasks {
		tasks[i] = cluster.Task{Type: cluster.Worker, Index: i}
	}
	onTasks(t, tasks, func(ctx context.Context, s *distribute.MultiWorkerMirroredStrategy, _ cluster.Resolver) error {
		return f(ctx, s)
	})
}

// onTasks is onWorkers for a cluster of these tasks.
func onTasks(t *testing.T, tasks []cluster.Task, f func(context.Context, *distribute.MultiWorkerMirroredStrategy, cluster.Resolver) error) {
	t.Helper()
	n, jobs := len(tasks), map[string][]string{}
	var listeners []net.Listener
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		job := tasks[len(listeners)].Type
		jobs[job], listeners = append(jobs[job], l.Addr().String()), append(listeners, l)
	}
	spec, err := cluster.NewSpec(jobs)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := make(chan error, n)
	for rank := range n {
		go func() {
			ended <- func() error {
				resolver := &cluster.Simple{Cluster: spec, Task: &tasks[rank]}
				s, err := multiworker.NewStrategy(ctx, multiworker.Options{Devices: []string{"cpu:0"}, Listener: listeners[rank], Deadline: 20 * time.Second,
					Resolver: resolver})
				if err != nil {
					return err
				}
				if err := f(ctx, s, resolver); err != nil {
					return err
				}
				return s.Close()
			}()
		}()
	}
	for range n {
		require.NoError(t, <-ended)
	}
}

// multiWorkerCase is train_and_evaluate on several workers, with the final values of TensorFlow's variables. TensorFlow
// wrote no checkpoint; here the chief writes one, with those values.
func multiWorkerCase(t *testing.T, c *tfvectors.Case) {
	want := c.Map(t)
	x, y := float32s(t, c.Inputs["x"]), float32s(t, c.Inputs["y"])
	var tasks []cluster.Task
	for _, job := range []string{cluster.Chief, cluster.Worker} {
		if n, ok := c.Setup["tasks"].(map[string]any)[job].(float64); ok {
			for i := range int(n) {
				tasks = append(tasks, cluster.Task{Type: job, Index: i})
			}
		}
	}
	dir := t.TempDir()
	var mu sync.Mutex
	contexts, variables, returned := map[string]any{}, map[string]map[string][]float64{}, map[string]map[string]float64{}
	onTasks(t, tasks, func(ctx context.Context, s *distribute.MultiWorkerMirroredStrategy, r cluster.Resolver) error {
		kind, _ := r.TaskType()
		index, _ := r.TaskIndex()
		name := fmt.Sprint(kind, index)
		conf := estimator.RunConfig{TrainDistribute: s, ModelDir: dir, SaveCheckpointsSteps: 1, Cluster: r}
		e, err := estimator.New(linear(func(x *ops.Tensor) *ops.Tensor { return ops.DivideScalar(ops.Sum(x), 4) }), conf, nil)
		if err != nil {
			return err
		}
		end := &atEnd{}
		results, err := estimator.TrainAndEvaluate(ctx, e, estimator.TrainSpec{MaxSteps: new(3), Hooks: []estimator.SessionRunHook{end}, InputFn: func(ic distribute.InputContext) (data.Dataset, error) {
			mu.Lock()
			contexts[name] = []any{[]any{float64(ic.NumInputPipelines), float64(ic.InputPipelineID), float64(ic.NumReplicasInSync)}}
			mu.Unlock()
			return data.FromTensorSlices(x, y).Shard(ic.NumInputPipelines, ic.InputPipelineID).Batch(4, false), nil
		}}, estimator.EvalSpec{InputFn: rows(x, y, 4)})
		mu.Lock()
		defer mu.Unlock()
		variables[name], returned[name] = end.values, results
		return err
	})
	require.Len(t, want, len(tasks))
	for name := range want {
		require.Equal(t, tfvectors.Get(want, name, "train_and_evaluate_returned") == nil, returned[name] == nil)
		require.Equal(t, tfvectors.Get(want, name, "input_contexts"), contexts[name], name)
		for _, variable := range []string{"global_step", "w", "b"} {
			c.Close(t, name+" "+variable, tfvectors.Get(want, name, "variables_at_end", variable), variables[name][variable])
		}
	}
	alone, err := estimator.New(linear(meanLoss), estimator.RunConfig{ModelDir: dir}, nil)
	require.NoError(t, err)
	c.Close(t, "checkpoint", tfvectors.Get(c.Exact, "w"), value(t, alone, "w"))
	require.Len(t, files(t, dir, "events"), 1, "the chief alone writes summaries")
}

// atEnd records the variables at the end of a session.
type atEnd struct {
	estimator.HookBase
	values map[string][]float64
}

func (h *atEnd) End(s *estimator.Session) error {
	h.values = map[string][]float64{}
	for _, name := range []string{"global_step", "w", "b"} {
		d, err := s.VariableValue(name)
		if err != nil {
			return err
		}
		switch list := d.Elements().(type) {
		case []float32:
			for _, x := range list {
				h.values[name] = append(h.values[name], float64(x))
			}
		case []int64:
			h.values[name] = []float64{float64(list[0])}
		}
	}
	return nil
}

// The guide's regressor, and others whose data differ from row to row, on two workers: the chief's folder holds what
// one replica trains on batches that contain both workers' examples, and both evaluate the same.
func TestTwoWorkers(t *testing.T) {
	x, real, _ := wave()
	const batch, steps = 8, 6
	// parts gives each pipeline its half of each batch, endlessly.
	parts := func(batch int) estimator.InputFn {
		return func(c distribute.InputContext) (data.Dataset, error) {
			n := batch / c.NumInputPipelines
			var xs, ys [][]float32
			for first := c.InputPipelineID * n; first < len(x); first += batch {
				xs, ys = append(xs, x[first:first+n]...), append(ys, real[first:first+n]...)
			}
			return data.FromTensorSlices(map[string]any{"x": xs}, ys).Repeat(-1).Batch(n, false), nil
		}
	}
	guide := func(c distribute.InputContext) (data.Dataset, error) {
		return data.FromTensorSlices(map[string]any{"feats": [][]float32{{1}}}, [][]float32{{1}}).Repeat(1000).Batch(20/c.NumInputPipelines, false), nil
	}
	for _, c := range []struct {
		name      string
		make      func(estimator.RunConfig) (*estimator.Estimator, error)
		input     estimator.InputFn
		variables []string
	}{
		{"the guide's", func(c estimator.RunConfig) (*estimator.Estimator, error) {
			return estimator.NewLinearRegressor(estimator.LinearRegressor{FeatureColumns: []estimator.FeatureColumn{estimator.NumericColumn{Key: "feats"}}, Optimizer: "SGD", Config: c})
		}, guide, []string{"linear/linear_model/bias_weights", "linear/linear_model/feats/weights"}},
		{"linear", func(c estimator.RunConfig) (*estimator.Estimator, error) {
			return estimator.NewLinearRegressor(estimator.LinearRegressor{FeatureColumns: waveColumn, Optimizer: &optimizers.Adam{LearningRate: 0.001}, Config: c})
		}, parts(batch), []string{"linear/linear_model/bias_weights", "linear/linear_model/x/weights"}},
		{"deep", func(c estimator.RunConfig) (*estimator.Estimator, error) {
			return estimator.NewDNNRegressor(estimator.DNNRegressor{HiddenUnits: []int{5}, FeatureColumns: waveColumn, Config: c})
		}, parts(batch), []string{"dnn/hiddenlayer_0/kernel", "dnn/hiddenlayer_0/bias", "dnn/logits/kernel", "dnn/logits/bias"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := func(ctx context.Context, conf estimator.RunConfig) (*estimator.Estimator, map[string]float64, error) {
				conf.TFRandomSeed = 7
				e, err := c.make(conf)
				if err != nil {
					return nil, nil, err
				}
				for range 2 { // the second continues from the checkpoint of the first
					if err := e.Train(ctx, c.input, estimator.Steps(steps)); err != nil {
						return nil, nil, err
					}
				}
				results, err := e.Evaluate(ctx, c.input, estimator.Steps(3))
				return e, results, err
			}
			one, want, err := run(t.Context(), config(t, 1))
			require.NoError(t, err)
			require.EqualValues(t, 2*steps, want["global_step"])
			shared, own := t.TempDir(), t.TempDir()
			dirs := []string{shared, shared}
			if c.name == "deep" { // a worker elsewhere, without the chief's folder
				dirs[1] = own
			}
			got := make([]map[string]float64, 2)
			estimators := make([]*estimator.Estimator, 2)
			onWorkers(t, 2, func(ctx context.Context, s *distribute.MultiWorkerMirroredStrategy) (err error) {
				estimators[s.Rank()], got[s.Rank()], err = run(ctx, estimator.RunConfig{TrainDistribute: s, EvalDistribute: s, ModelDir: dirs[s.Rank()]})
				return err
			})
			for rank := range 2 {
				require.Len(t, got[rank], len(want))
				for name, v := range want {
					require.InDelta(t, v, got[rank][name], 1e-6*(1+max(v, -v)), "worker %d: %s", rank, name)
				}
			}
			for _, name := range c.variables {
				require.InDeltaSlice(t, value(t, one, name), value(t, estimators[0], name), 1e-6, name)
			}
			files, err := filepath.Glob(filepath.Join(own, "*"))
			require.NoError(t, err)
			require.Empty(t, files)
			files, err = filepath.Glob(filepath.Join(shared, "*"))
			require.NoError(t, err)
			alone, err := filepath.Glob(filepath.Join(one.ModelDir(), "*"))
			require.NoError(t, err)
			require.Len(t, files, len(alone), "the chief alone writes: %v", files)
		})
	}
}
