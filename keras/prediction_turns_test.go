package keras

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/layers"
)

// While the maximum number of batches is being computed, PredictOnBatch waits, and gives up when its context ends.
func TestPredictOnBatchTakesTurns(t *testing.T) {
	m, err := NewSequential([]layers.Layer{&layers.Dense{Units: 1}}, InputShape(2))
	require.NoError(t, err)
	x := data.Arrays([][]float32{{1, 2}}, nil)
	_, err = m.PredictOnBatch(context.Background(), x)
	require.NoError(t, err)
	require.Equal(t, turnLimit(), cap(m.predictions.turns))
	require.Empty(t, m.predictions.turns, "the call that ended gave its turn back")

	var others []*prediction
	for range turnLimit() {
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
	cancel()
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
