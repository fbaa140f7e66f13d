package estimator_test

import (
	"context"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/multiworker"
	"github.com/gokeras/gokeras/keras/estimator"
	"github.com/gokeras/gokeras/optimizers"
)

// onWorkers runs f on n workers of one job, each with a strategy of its own.
func onWorkers(t *testing.T, n int, f func(ctx context.Context, s *distribute.MultiWorkerMirroredStrategy) error) {
	t.Helper()
	var addresses []string
	var listeners []net.Listener
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		addresses, listeners = append(addresses, l.Addr().String()), append(listeners, l)
	}
	spec, err := cluster.NewSpec(map[string][]string{cluster.Worker: addresses})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := make(chan error, n)
	for rank := range n {
		go func() {
			ended <- func() error {
				s, err := multiworker.NewStrategy(ctx, multiworker.Options{Devices: []string{"cpu:0"}, Listener: listeners[rank], Deadline: 20 * time.Second,
					Resolver: &cluster.Simple{Cluster: spec, Task: &cluster.Task{Type: cluster.Worker, Index: rank}}})
				if err != nil {
					return err
				}
				if err := f(ctx, s); err != nil {
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

// The guide's regressor, and others with data that differ from row to row, on two workers: the chief's folder holds what one replica trains on
// batches that hold those of both, and both evaluate the same.
func TestTwoWorkers(t *testing.T) {
	x, real, _ := wave()
	const batch, steps = 8, 6
	// parts gives each pipeline its half of each batch, one after the other for ever.
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
				for range 2 { // the second goes on from the checkpoint of the first
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
