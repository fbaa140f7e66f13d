package multiworker_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/monitor"
	"github.com/gokeras/gokeras/distribute/multiworker"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/metrics"
	"github.com/gokeras/gokeras/optimizers"
)

// sent trains a small model on the data and returns the bytes that a worker wrote to sockets in each of the last 100
// steps.
func sent(units int) func(context.Context, *distribute.MultiWorkerMirroredStrategy) (float64, error) {
	return func(ctx context.Context, s *distribute.MultiWorkerMirroredStrategy) (float64, error) {
		m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: units, Activation: "relu"}, &layers.Dense{Units: 2}}, distribute.Scope(s), keras.InputShape(4))
		if err != nil {
			return 0, err
		}
		if err := m.Compile(keras.CompileConfig{Optimizer: &optimizers.SGD{LearningRate: 0.01}, Loss: "mse", Metrics: []metrics.Metric{&metrics.MeanAbsoluteError{}}}); err != nil {
			return 0, err
		}
		source, ok := distribute.WorkersOf(s).(monitor.Source)
		if !ok {
			return 0, fmt.Errorf("%T tells no traffic", distribute.WorkersOf(s))
		}
		steps, from, to := 0, int64(0), int64(0)
		count := &callbacks.LambdaCallback{TrainBatchEnd: func(int, *callbacks.Logs) error {
			switch steps++; steps {
			case 20:
				from = source.Traffic().Sent
			case 120:
				to = source.Traffic().Sent
			}
			return nil
		}}
		_, err = m.Fit(ctx, trainings()[0].arrays(false), keras.BatchSize(1), keras.Epochs(4), keras.Callbacks(count)) // 37 steps an epoch
		return float64(to-from) / 100, err
	}
}

// What a step costs on the wire beside the gradients, of which each worker of n sends 2(n-1)/n at least, is small, also
// where the job outlives lost workers and these tell each other their metrics. (TensorFlow: 2.2 KB and more; gloo 0.6
// KB.) Long messages are cut, and each piece has a header: that is a part of their size.
func TestBytesOfAStep(t *testing.T) {
	const fixedLimit, share = 300, 0.002
	for _, n := range []int{2, 3} {
		for name, elastic := range map[string]*distribute.Elastic{"plain": nil, "elastic": {}} {
			for _, units := range []int{22, 3000} { // 156 and 21,002 parameters
				results, errs := workers(t, n, func(_ int, o *multiworker.Options) { o.NoSharedMemory, o.Elastic = true, elastic }, sent(units))
				parameters := float64(4 * (7*units + 2))
				bound := parameters * 2 * float64(n-1) / float64(n)
				total := 0.
				for rank := range results {
					require.NoError(t, errs[rank])
					total += results[rank]
				}
				fixed := total/float64(n) - bound
				t.Logf("%d workers, %s, %.0f bytes of parameters: sent %v a step, %.0f beside the bound of %.0f", n, name, parameters, results, fixed, bound)
				if !(fixed < fixedLimit+share*bound) {
					t.Errorf("it costs %.0f bytes a step beside the gradients; at most %d and %v of them are wanted", fixed, fixedLimit, share)
				}
			}
		}
	}
}
