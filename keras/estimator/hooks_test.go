package estimator_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/estimator"
	"github.com/gokeras/gokeras/keras/ops"
)

// recorder records how it is called.
type recorder struct {
	estimator.HookBase
	calls  []string
	losses []float64
	stop   int64
	fail   error
	quiet  bool // the model has no variable "w"
}

func (r *recorder) Begin(s *estimator.Session) error {
	r.calls = append(r.calls, "begin")
	if _, err := s.VariableValue("w"); !r.quiet {
		return err
	}
	return nil
}

func (r *recorder) BeforeRun(*estimator.RunContext) error {
	r.calls = append(r.calls, "before")
	return nil
}

func (r *recorder) AfterRun(c *estimator.RunContext, v *estimator.RunValues) error {
	r.calls, r.losses = append(r.calls, "after"), append(r.losses, v.Loss)
	if v.GlobalStep == r.stop {
		c.RequestStop()
	}
	return r.fail
}

func (r *recorder) End(*estimator.Session) error {
	r.calls = append(r.calls, "end")
	return nil
}

func forever(t *testing.T) estimator.InputFn {
	x, y := linearData(t)
	return func(distribute.InputContext) (data.Dataset, error) {
		return data.FromTensorSlices(x, y).Repeat(-1).Batch(4, false), nil
	}
}

func TestHooks(t *testing.T) {
	var log strings.Builder
	conf := config(t, 2)
	conf.LogOutput, conf.LogStepCountSteps, conf.SaveCheckpointsSteps = &log, new(2), 2
	e, err := estimator.New(linear(meanLoss), conf, nil)
	require.NoError(t, err)
	var saved []int64
	r := &recorder{stop: 3}
	at := &strings.Builder{}
	require.NoError(t, e.Train(ctx, forever(t), estimator.Hooks(r, &estimator.LoggingTensorHook{Output: at, Tensors: []string{"bias"}, AtEnd: true}),
		estimator.SavingListeners(func(_ *estimator.Session, step int64) error { saved = append(saved, step); return nil })))
	require.Equal(t, "begin before after before after before after end", strings.Join(r.calls, " "))
	require.Equal(t, []int64{0, 2, 3}, saved)
	require.Contains(t, log.String(), "step = 1, loss = ")
	require.Contains(t, log.String(), "step = 3, loss = ")
	require.Contains(t, log.String(), "global_step/sec: ")
	require.Regexp(t, `^step = 3, bias = 0\.0\d+\n$`, at.String())

	fail := errors.New("stop it")
	r = &recorder{fail: fail}
	require.ErrorIs(t, e.Train(ctx, forever(t), estimator.Hooks(r)), fail)
	require.Equal(t, "begin before after", strings.Join(r.calls, " "), "End is not called after an error")
	require.Equal(t, []float64{3}, value(t, e, "global_step"), "the checkpoint of the beginning stands")

	_, err = e.Evaluate(ctx, forever(t), estimator.Steps(2), estimator.Hooks(&recorder{stop: 3}))
	require.NoError(t, err)
	require.Contains(t, log.String(), "Saving dict for global step 3: global_step = 3, loss = ")
	for _, h := range []estimator.SessionRunHook{
		&estimator.StopAtStepHook{}, &estimator.StopAtStepHook{NumSteps: 1, LastStep: 1}, &estimator.LoggingTensorHook{Output: at},
		&estimator.LoggingTensorHook{Output: at, EveryNIter: 1, Tensors: []string{"nothing"}}, &estimator.StepCounterHook{}, &estimator.CheckpointSaverHook{},
	} {
		require.Error(t, e.Train(ctx, forever(t), estimator.Steps(1), estimator.Hooks(h)), "%T", h)
	}
}

// A loss that is not a number ends training, and no checkpoint keeps it.
func TestNaNLoss(t *testing.T) {
	nan := func(x *ops.Tensor) *ops.Tensor { return ops.MultiplyScalar(ops.Mean(x), math.NaN()) }
	conf := config(t, 2)
	conf.SaveCheckpointsSteps = 1
	e, err := estimator.New(linear(nan), conf, nil)
	require.NoError(t, err)
	require.ErrorIs(t, e.Train(ctx, forever(t), estimator.Steps(5)), estimator.ErrNaNLoss)
	require.Equal(t, []float64{0}, value(t, e, "global_step"))
}

// Any strategy can open a checkpoint, even with another number of replicas.
func TestSwitchStrategy(t *testing.T) {
	conf := config(t, 2)
	for i, replicas := range []int{2, 1, 3, 1} {
		conf.TrainDistribute = strategy(t, replicas)
		conf.EvalDistribute = strategy(t, 1+i%3)
		e, err := estimator.New(linear(meanLoss), conf, nil)
		require.NoError(t, err)
		require.NoError(t, e.Train(ctx, forever(t), estimator.Steps(2)))
		require.Equal(t, []float64{float64(2 * (i + 1))}, value(t, e, "global_step"))
		got, err := e.Evaluate(ctx, forever(t), estimator.Steps(2))
		require.NoError(t, err)
		require.Equal(t, float64(2*(i+1)), got["global_step"])
	}
}

// Training in two parts gives the bits of training in one.
func TestResumeSameBits(t *testing.T) {
	x, y := linearData(t)
	whole := func(distribute.InputContext) (data.Dataset, error) { // every batch holds all rows, so that parts see the same data
		return data.FromTensorSlices(x, y).Repeat(-1).Batch(24, false), nil
	}
	var want []float64
	for _, parts := range [][]int{{6}, {2, 4}, {6}} {
		e, err := estimator.New(linear(meanLoss), config(t, 2), nil)
		require.NoError(t, err)
		for _, n := range parts {
			require.NoError(t, e.Train(ctx, whole, estimator.Steps(n)))
		}
		got := append(value(t, e, "w"), value(t, e, "b")...)
		if want == nil {
			want = got
		}
		require.Equal(t, want, got)
	}
}

func TestBadInput(t *testing.T) {
	conf := config(t, 1)
	e, err := estimator.New(linear(meanLoss), conf, nil)
	require.NoError(t, err)
	input := forever(t)
	x, y := linearData(t)
	for want, err := range map[string]error{
		"the input function is nil": e.Train(ctx, nil, estimator.Steps(1)),
		"no batch for every replica": e.Train(ctx, func(distribute.InputContext) (data.Dataset, error) {
			return data.FromTensorSlices(x, y).Take(0).Batch(2, false), nil
		}),
		"returned no data set": e.Train(ctx, func(distribute.InputContext) (data.Dataset, error) { return nil, nil }),
		"broken pipe":          e.Train(ctx, func(distribute.InputContext) (data.Dataset, error) { return nil, errors.New("broken pipe") }),
		"sample weights": e.Train(ctx, func(distribute.InputContext) (data.Dataset, error) {
			return data.Arrays(x, y, data.SampleWeight(make([]float32, 24))), nil
		}),
		"Could not find trained model": second(e.VariableNames()),
		"no such file":                 second(e.Evaluate(ctx, input, estimator.Steps(1), estimator.CheckpointPath(filepath.Join(t.TempDir(), "model.ckpt-1")))),
		"the ModelFn is nil":           second(estimator.New(nil, conf, nil)),
	} {
		require.ErrorContains(t, err, want)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, e.Train(cancelled, input, estimator.Steps(1)), context.Canceled)

	panics, err := estimator.New(func(*estimator.Context, estimator.Features, *ops.Tensor, estimator.ModeKey, estimator.Params) (estimator.EstimatorSpec, error) {
		panic("oh no")
	}, config(t, 1), nil)
	require.NoError(t, err)
	var p *distribute.PanicError
	require.ErrorAs(t, panics.Train(ctx, input, estimator.Steps(1)), &p)
	require.Equal(t, "oh no", p.Value)

	// A checkpoint of another model, and damaged files.
	require.NoError(t, e.Train(ctx, input, estimator.Steps(1)))
	other, err := estimator.NewLinearRegressor(estimator.LinearRegressor{FeatureColumns: waveColumn, Config: conf})
	require.NoError(t, err)
	_, real, _ := wave()
	require.ErrorContains(t, other.Train(ctx, waveInput(real, 4), estimator.Steps(1)), "linear/linear_model/x/weights not found in checkpoint")
	require.NoError(t, os.WriteFile(filepath.Join(conf.ModelDir, "model.ckpt-1.safetensors"), []byte("cut off"), 0o666))
	require.Error(t, e.Train(ctx, input, estimator.Steps(1)))
	require.NoError(t, os.WriteFile(filepath.Join(conf.ModelDir, "checkpoint"), []byte("model_checkpoint_path: \"../elsewhere\"\n"), 0o666))
	require.ErrorContains(t, e.Train(ctx, input, estimator.Steps(1)), "is not the name of a file in the folder")
}

func second[T any](_ T, err error) error { return err }
