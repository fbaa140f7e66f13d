package monitoring_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/monitor"
	"github.com/gokeras/gokeras/distribute/multiworker"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/monitoring"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/optimizers"
)

// train fits ten batches per epoch with a monitor; each step begins later by slow.
func train(ctx context.Context, s distribute.Strategy, m *monitor.Monitor, slow time.Duration, perExecution int) error {
	model, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 1}}, distribute.Scope(s), keras.InputShape(2))
	if err != nil {
		return err
	}
	if err := model.Compile(keras.CompileConfig{Optimizer: &optimizers.SGD{LearningRate: 0.1}, Loss: "mse", StepsPerExecution: perExecution}); err != nil {
		return err
	}
	x, y := make([][]float64, 40), make([]float64, 40)
	for i := range x {
		x[i] = []float64{float64(i), 1}
	}
	late := &callbacks.LambdaCallback{TrainBatchBegin: func(int) error { time.Sleep(slow); return nil }}
	_, err = model.Fit(ctx, data.Arrays(x, y), keras.BatchSize(4), keras.Epochs(2), keras.Callbacks(monitoring.Steps(m), late))
	return err
}

func TestAlone(t *testing.T) {
	for _, perExecution := range []int{1, 4} {
		m := monitor.New(monitor.Options{})
		require.NoError(t, train(t.Context(), distribute.Default(), m, 0, perExecution))
		count, total := m.Steps()
		require.Equal(t, int64(20), count)
		require.Positive(t, total.Input)
		require.Positive(t, total.Compute)
		require.Zero(t, total.Communication+total.Waiting)
	}
}

// One of two workers is late for every step: the other waits for it, and the metrics of both show that.
func TestTwoWorkers(t *testing.T) {
	const slow = 100 * time.Millisecond
	var addresses []string
	var listeners []net.Listener
	for range 2 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		addresses, listeners = append(addresses, l.Addr().String()), append(listeners, l)
	}
	spec, err := cluster.NewSpec(map[string][]string{cluster.Worker: addresses})
	require.NoError(t, err)
	monitors, errs := make([]*monitor.Monitor, 2), make(chan error, 2)
	for rank := range monitors {
		task := cluster.Task{Type: cluster.Worker, Index: rank}
		monitors[rank] = monitor.New(monitor.Options{Task: task.String()})
		go func() {
			errs <- func() error {
				s, err := multiworker.NewStrategy(t.Context(), multiworker.Options{Devices: []string{"cpu:0"}, Listener: listeners[rank], NoSharedMemory: true,
					Deadline: 30 * time.Second, Resolver: &cluster.Simple{Cluster: spec, Task: &task}})
				if err != nil {
					return err
				}
				if err := train(t.Context(), s, monitors[rank], time.Duration(rank)*slow, 1); err != nil {
					return err
				}
				return s.Close()
			}()
		}()
	}
	require.NoError(t, <-errs)
	require.NoError(t, <-errs)
	var phases [2]monitor.Phases
	for rank, m := range monitors {
		count, total := m.Steps()
		require.Equal(t, int64(20), count)
		require.Positive(t, total.Communication)
		phases[rank] = total
	}
	require.Greater(t, phases[0].Waiting, 10*slow, "of 20 steps in which the other came late by %v", slow)
	require.Less(t, phases[1].Waiting, phases[0].Waiting)
	require.GreaterOrEqual(t, phases[1].Compute+phases[1].Input, 20*slow)

	server, err := monitors[1].Serve("")
	require.NoError(t, err)
	r, err := http.Get("http://" + server.Address() + "/metrics")
	require.NoError(t, err)
	text, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	require.NoError(t, r.Body.Close())
	for _, line := range []string{`gokeras_steps_total{task="worker:1"} 20`, `gokeras_group_size{task="worker:1"} 2`, `gokeras_group_generation{task="worker:1"} 1`, `gokeras_lost_workers_total{task="worker:1"} 0`} {
		require.Contains(t, string(text), line+"\n")
	}
	require.Regexp(t, `gokeras_sent_bytes_total\{task="worker:1"\} [1-9][0-9]{3,}\n`, string(text))
	require.Regexp(t, `gokeras_received_bytes_total\{task="worker:1"\} [1-9][0-9]{3,}\n`, string(text))
	require.NoError(t, server.Close())
}

func ExampleSteps() {
	m := monitor.New(monitor.Options{Task: "worker:0"})
	if err := train(context.Background(), distribute.Default(), m, 0, 1); err != nil {
		fmt.Println(err)
		return
	}
	count, _ := m.Steps() // and m.Serve shows them to Prometheus
	fmt.Println(count)
	// Output: 20
}
