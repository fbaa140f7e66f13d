package keras_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/optimizers"
)

// semiSupervised is trained on two inputs and a target, and tested on the second input and the target, as
// semi-supervised and contrastive models are.
type semiSupervised struct {
	Layer *layers.Dense
}

func (m *semiSupervised) TrainStep(s *keras.Step) keras.StepLogs {
	unlabelled, labelled := layers.Invoke(m.Layer, s.Training(), s.X[0]), layers.Invoke(m.Layer, s.Training(), s.X[1])
	loss := s.Mean(ops.Add(ops.Square(unlabelled), ops.Square(ops.Subtract(labelled, s.Y[0]))))
	s.Minimize(s.Optimizer(), loss, s.Model().TrainableVariables())
	return keras.StepLogs{"loss": loss}
}

func (m *semiSupervised) TestStep(s *keras.Step) keras.StepLogs {
	x := s.X[len(s.X)-1]
	if len(s.X) != 1 { // it must not see training batches
		ops.Failf(s.Graph(), "the test step received %d inputs", len(s.X))
	}
	return keras.StepLogs{"off": s.Mean(ops.Abs(ops.Subtract(layers.Invoke(m.Layer, s.Inference(), x), s.Y[0])))}
}

// A user's test step may receive other arrays than the training step, in Fit and in Evaluate, in any order.
func TestValidationOfOtherArrays(t *testing.T) {
	ctx := context.Background()
	x, y := [][]float32{{1}, {2}, {3}, {4}}, [][]float32{{0}, {0}, {0}, {0}}
	train, test := data.Arrays([]any{x, x}, y), data.Arrays(x, y)
	model := func() *keras.Model {
		m, err := keras.NewModel(&semiSupervised{Layer: &layers.Dense{Units: 1, KernelInitializer: "ones"}})
		require.NoError(t, err)
		require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: &optimizers.SGD{LearningRate: 0.0}}))
		return m
	}
	m := model()
	for range 2 {
		h, err := m.Fit(ctx, train, keras.ValidationData(test), keras.BatchSize(2), keras.Epochs(2))
		require.NoError(t, err)
		off, _ := h.Last("val_off")
		require.Equal(t, 2.5, off)
		scores, err := m.Evaluate(ctx, test)
		require.NoError(t, err)
		require.Equal(t, 2.5, scores["off"])
		scores, err = m.TestOnBatch(ctx, test)
		require.NoError(t, err)
		require.Equal(t, 2.5, scores["off"])
		scores, err = m.TrainOnBatch(ctx, train)
		require.NoError(t, err)
		require.Equal(t, 15.0, scores["loss"])
	}
	first := model()
	scores, err := first.Evaluate(ctx, test)
	require.NoError(t, err)
	require.Equal(t, 2.5, scores["off"])
	h, err := first.Fit(ctx, train, keras.ValidationData(test))
	require.NoError(t, err)
	require.Equal(t, []string{"loss", "val_off"}, h.Names())

	// The first batch of a dataset shows which arrays it has.
	set := data.FromTensorSlices(x, y).Batch(2, false)
	h, err = model().Fit(ctx, train, keras.ValidationData(set))
	require.NoError(t, err)
	require.Equal(t, []string{"loss", "val_off"}, h.Names())

	_, err = model().Fit(ctx, train, keras.ValidationData(train))
	require.ErrorContains(t, err, "the test step received 2 inputs")
}

// A backup from the middle of an epoch after a validation has the metrics of both steps.
func TestResumeAfterValidationOfOtherArrays(t *testing.T) {
	x, y := [][]float32{{1}, {2}, {3}, {4}}, [][]float32{{0}, {0}, {0}, {0}}
	folder := t.TempDir()
	fit := func(stop bool) error {
		m, err := keras.NewModel(&semiSupervised{Layer: &layers.Dense{Units: 1, KernelInitializer: "ones"}})
		require.NoError(t, err)
		require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "sgd"}))
		all := []callbacks.Callback{&callbacks.BackupAndRestore{BackupDir: folder, SaveFreq: 1}}
		if stop {
			all = append(all, &stopInEpoch{epoch: 1})
		}
		_, err = m.Fit(t.Context(), data.Arrays([]any{x, x}, y), keras.ValidationData(data.Arrays(x, y)), keras.BatchSize(1), keras.Epochs(3), keras.Callbacks(all...))
		return err
	}
	require.ErrorIs(t, fit(true), errStopInEpoch)
	require.NoError(t, fit(false))
}

var errStopInEpoch = errors.New("stopped")

// stopInEpoch fails in the middle of an epoch.
type stopInEpoch struct {
	callbacks.Base
	epoch, now int
}

func (s *stopInEpoch) OnEpochBegin(epoch int) error {
	s.now = epoch
	return nil
}

func (s *stopInEpoch) OnTrainBatchEnd(batch int, _ *callbacks.Logs) error {
	if s.now == s.epoch && batch == 1 {
		return errStopInEpoch
	}
	return nil
}
