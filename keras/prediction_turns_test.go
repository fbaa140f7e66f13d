package keras

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/layers"
)

// While the maximum number of batches is being computed, Predict and PredictOnBatch wait, and give up when their
// contexts end.
func TestPredictOnBatchTakesTurns(t *testing.T) {
	m, err := NewSequential([]layers.Layer{&layers.Dense{Units: 1}}, InputShape(2))
	require.NoError(t, err)
	x := data.Arrays([][]float32{{1, 2}}, nil)
	_, err = m.PredictOnBatch(context.Background(), x)
	require.NoError(t, err)
	require.Equal(t, m.turnLimit(), cap(m.predictions.turns))
	require.Empty(t, m.predictions.turns, "the call that ended gave its turn back")

	var others []*prediction
	for range m.turnLimit() {
		p := m.newPrediction()
		require.NoError(t, p.takeTurn(context.Background()))
		others = append(others, p)
	}
	ctx, cancel := context.WithCancel(context.Background())
	failed := make(chan error)
	go func() {
		_, err := m.PredictOnBatch(ctx, x)
		failed <- err
	}()
	go func() {
		_, err := m.Predict(ctx, x)
		failed <- err
	}()
	time.Sleep(time.Millisecond)
	cancel()
	require.ErrorIs(t, <-failed, context.Canceled)
	require.ErrorIs(t, <-failed, context.Canceled)

	done := make(chan error)
	go func() {
		_, err := m.PredictOnBatch(context.Background(), x)
		done <- err
	}()
	m.finish(others[0])
	require.NoError(t, <-done)
	for _, p := range others[1:] {
		m.finish(p)
	}
	require.Empty(t, m.predictions.turns)
}

// A call of many batches lets those that wait go first after each of its batches.
func TestPredictOffersItsTurn(t *testing.T) {
	m, err := NewSequential([]layers.Layer{&layers.Dense{Units: 1}}, InputShape(2))
	require.NoError(t, err)
	one, many := data.Arrays([][]float32{{1, 2}}, nil), data.Arrays(make([][2]float32, 1<<20), nil)
	_, err = m.PredictOnBatch(context.Background(), one)
	require.NoError(t, err)
	for range m.turnLimit() - 1 {
		p := m.newPrediction()
		require.NoError(t, p.takeTurn(context.Background()))
		defer m.finish(p)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() {
		_, err := m.Predict(ctx, many, BatchSize(1))
		ended <- err
	}()
	require.Eventually(t, func() bool { return len(m.predictions.turns) == m.turnLimit() }, time.Minute, time.Millisecond)
	for range 10 {
		_, err := m.PredictOnBatch(context.Background(), one)
		require.NoError(t, err)
	}
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled, "the long call ended before the short ones")
}
