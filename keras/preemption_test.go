package keras_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/layers"
)

// When the preemption of its machine is announced, a run writes a backup in the middle of an epoch. The next run
// resumes there and ends with the bits of an uninterrupted run.
func TestPreemption(t *testing.T) {
	var taken atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := "NONE"
		if strings.HasSuffix(r.URL.Path, "preempted") && taken.Load() {
			answer = "TRUE"
		}
		_, _ = w.Write([]byte(answer))
	}))
	defer server.Close()
	metadata := &cluster.Metadata{Host: strings.TrimPrefix(server.URL, "http://")}
	train := func(ctx context.Context, list ...callbacks.Callback) ([]kernels.Array, error) {
		m := sequential(t, []keras.Option{keras.Seed(8)}, &layers.Dense{Units: 6, Activation: "relu"}, &layers.Dropout{Rate: 0.3}, &layers.Dense{Units: 1})
		compile(t, m, keras.CompileConfig{Optimizer: "adam", Loss: "mse"})
		x, y := line(20)
		if _, err := m.Fit(ctx, data.Arrays(x, y), keras.BatchSize(4), keras.Epochs(3), keras.Callbacks(list...)); err != nil {
			return nil, err
		}
		return m.GetWeights()
	}
	want, err := train(t.Context())
	require.NoError(t, err)
	dir := t.TempDir()
	ctx, stop := metadata.UntilPreempted(t.Context(), time.Millisecond)
	defer stop()
	batches := 0
	_, err = train(ctx, &callbacks.BackupAndRestore{BackupDir: dir}, &callbacks.LambdaCallback{TrainBatchEnd: func(int, *callbacks.Logs) error {
		if batches++; batches == 8 { // in the second epoch
			taken.Store(true)
			<-ctx.Done()
		}
		return nil
	}})
	require.Error(t, err)
	require.ErrorIs(t, context.Cause(ctx), cluster.ErrPreempted)
	rest := 0
	got, err := train(t.Context(), &callbacks.BackupAndRestore{BackupDir: dir}, &callbacks.LambdaCallback{TrainBatchEnd: func(int, *callbacks.Logs) error {
		rest++
		return nil
	}})
	require.NoError(t, err)
	require.Equal(t, 15-8, rest, "no batch is trained on twice")
	require.Equal(t, want, got)
}
