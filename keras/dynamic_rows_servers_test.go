package keras_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/cluster/clustertest"
	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/distribute/parameterserver"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/optimizers"
)

// trainRowsOnServers trains a model with an embedding under a strategy, in synchronous rounds, and returns the rows of
// the coordinator.
func trainRowsOnServers(t *testing.T, o func() optimizers.Optimizer, dynamic bool, program func(run serverProgram) error, options ...keras.FitOption) ([]parameters.Row, []float64) {
	t.Helper()
	var rows []parameters.Row
	var values []float64
	x, y := rowData(64)
	require.NoError(t, program(func(ctx context.Context, s *distribute.ParameterServerStrategy) error {
		e := &layers.Embedding{Name: "e", OutputDim: 4, Dynamic: true, DenseUpdates: true}
		first := e
		if !dynamic {
			first = dynamic0(t)
			e = &layers.Embedding{Name: "e", InputDim: rowKeys, OutputDim: 4}
		}
		m := rowModel(t, e, keras.Input(keras.Shape(3), keras.DType("int64")), distribute.Scope(s))
		if !dynamic {
			plainRows(t, first, e)
		}
		if err := m.Compile(keras.CompileConfig{Optimizer: o(), Loss: "mse"}); err != nil {
			return err
		}
		_, err := m.Fit(ctx, data.Arrays(x, y), append([]keras.FitOption{keras.BatchSize(4), keras.StepsPerEpoch(8), keras.Epochs(2), keras.Shuffle(false)}, options...)...)
		if err != nil || !s.Job().Coordinates() {
			return err
		}
		if dynamic {
			rows, err = e.Table().Rows()
			return err
		}
		values = valuesOfAll(t, layers.Weights(e))[0]
		return nil
	}))
	return rows, values
}

func sameRows(t *testing.T, want []float64, got []parameters.Row) {
	t.Helper()
	require.Len(t, got, rowKeys)
	for i, row := range got {
		require.Equal(t, int64(i), row.Key)
		for j, v := range row.Values {
			require.Equal(t, float32(want[4*i+j]), v, "row %d, number %d", i, j)
		}
	}
}

// TestDynamicRowsOnServersArePlain: under parameter servers, keys 0 to n-1 train to the weights of a plain embedding,
// bit for bit, whatever the number of servers.
func TestDynamicRowsOnServersArePlain(t *testing.T) {
	synchronous := func(o *parameterserver.Options) { o.Consistency.Synchronous = true }
	servers := 0
	for name, optimizer := range rowOptimizers {
		servers = servers%3 + 1
		t.Run(fmt.Sprintf("%s/servers=%d", name, servers), func(t *testing.T) {
			run := func(p serverProgram) error { return onParameterServers(t, 2, servers, synchronous, p) }
			_, want := trainRowsOnServers(t, optimizer, false, run)
			got, _ := trainRowsOnServers(t, optimizer, true, run)
			sameRows(t, want, got)
			other, _ := trainRowsOnServers(t, optimizer, true, func(p serverProgram) error { return onParameterServers(t, 2, servers%3+1, synchronous, p) })
			require.Equal(t, got, other, "another number of servers")
		})
	}
}

// TestDynamicRowsSurviveServers: a server that is killed while rows are trained comes back with them, and the run ends
// with the bits of an uninterrupted one.
func TestDynamicRowsSurviveServers(t *testing.T) {
	adam := func() optimizers.Optimizer { return &optimizers.Adam{LearningRate: 0.02} }
	synchronous := func(o *parameterserver.Options) { o.Consistency.Synchronous = true }
	want, _ := trainRowsOnServers(t, adam, true, func(p serverProgram) error { return onParameterServers(t, 2, 2, synchronous, p) }, keras.Epochs(8))
	kills := 0
	got, _ := trainRowsOnServers(t, adam, true, func(p serverProgram) error {
		spec := clustertest.Jobs(t, map[string]int{"worker": 2, "ps": 2})
		folder := t.TempDir()
		options := func(task *cluster.Task) parameterserver.Options {
			o := parameterserver.Options{Resolver: &cluster.Simple{Cluster: spec, Task: task}, JoinTimeout: time.Minute, ServerTimeout: time.Minute, LogBytes: 1 << 12}
			o.Consistency.Synchronous = true
			if task != nil && task.Type == "ps" {
				o.Directory = filepath.Join(folder, fmt.Sprint(task.Index))
			}
			return o
		}
		var wait sync.WaitGroup
		over := make(chan struct{})
		for i := range 2 {
			wait.Add(2)
			go func() {
				defer wait.Done()
				if err := parameterserver.RunStrategy(t.Context(), options(&cluster.Task{Type: "worker", Index: i}), p); err != nil {
					t.Logf("worker:%d: %v", i, err)
				}
			}()
			go func() {
				defer wait.Done()
				live := func() (again bool) {
					server, err := parameterserver.NewServer(options(&cluster.Task{Type: "ps", Index: i}))
					if err != nil {
						t.Error(err)
						return false
					}
					ctx, kill := context.WithCancel(t.Context())
					defer kill()
					ended := make(chan error, 1)
					go func() { ended <- server.Serve(ctx) }()
					base := server.Stats().Commands
					for {
						select {
						case <-over:
							kill()
							<-ended
							return false
						case err := <-ended: // the job is over
							if err != nil {
								t.Error(err)
							}
							return false
						case <-time.After(time.Millisecond):
							if i == 0 && kills < 3 && server.Stats().Commands > base+40 {
								kills++
								kill()
								<-ended
								return true
							}
						}
					}
				}
				for live() {
				}
			}()
		}
		err := parameterserver.RunStrategy(t.Context(), options(nil), p)
		close(over)
		wait.Wait()
		return err
	}, keras.Epochs(8))
	require.Equal(t, 3, kills)
	require.Equal(t, want, got)
}

// killer requests the end of a server in the middle of some epochs, when both copies of everything exist.
type killer struct {
	callbacks.Base
	complete func() // waits
	kill     []chan struct{}
	epoch    int
	kills    int
}

func (k *killer) OnEpochBegin(epoch int) error {
	k.epoch = epoch
	return nil
}

func (k *killer) OnTrainBatchBegin(batch int) error {
	if k.epoch%2 == 1 && batch == 3 {
		k.complete()
		k.kill[k.kills%len(k.kill)] <- struct{}{}
		k.kills++
	}
	return nil
}

// TestDynamicRowsOnTwoServers: with Options.Replicas 2, growing rows are on two servers. Both are killed, one after the
// other, and the run ends with the bits of an uninterrupted run with one copy.
func TestDynamicRowsOnTwoServers(t *testing.T) {
	if testing.Short() {
		t.Skip("several seconds; run without -short")
	}
	adam := func() optimizers.Optimizer { return &optimizers.Adam{LearningRate: 0.02} }
	synchronous := func(o *parameterserver.Options) { o.Consistency.Synchronous = true }
	want, _ := trainRowsOnServers(t, adam, true, func(p serverProgram) error { return onParameterServers(t, 2, 3, synchronous, p) }, keras.Epochs(8))
	spec := clustertest.Jobs(t, map[string]int{"worker": 2, "ps": 3})
	options := func(task *cluster.Task) parameterserver.Options {
		o := parameterserver.Options{Resolver: &cluster.Simple{Cluster: spec, Task: task}, JoinTimeout: 5 * time.Minute, ServerTimeout: 5 * time.Minute, Replicas: 2}
		o.Consistency.Synchronous = true
		return o
	}
	k := &killer{kill: []chan struct{}{make(chan struct{}), make(chan struct{}), make(chan struct{})}}
	k.complete = func() {
		require.Eventually(t, func() bool {
			copies, err := parameterserver.FindCopies(t.Context(), options(nil))
			return err == nil && len(copies) == 3 && !slices.ContainsFunc(copies, func(c parameterserver.Copies) bool { return !c.Complete })
		}, 5*time.Minute, time.Millisecond)
	}
	got, _ := trainRowsOnServers(t, adam, true, func(p serverProgram) error {
		var wait sync.WaitGroup
		start := func(run func() error) {
			wait.Add(1)
			go func() {
				defer wait.Done()
				if err := run(); err != nil {
					t.Errorf("a task of the job: %v", err)
				}
			}()
		}
		for i := range 2 {
			start(func() error {
				return parameterserver.RunStrategy(t.Context(), options(&cluster.Task{Type: "worker", Index: i}), p)
			})
		}
		for i, kill := range k.kill {
			start(func() error {
				for {
					ctx, cancel := context.WithCancel(t.Context())
					ended := make(chan error, 1)
					go func() { ended <- parameterserver.Serve(ctx, options(&cluster.Task{Type: "ps", Index: i})) }()
					select {
					case err := <-ended:
						cancel()
						return err
					case <-kill:
						cancel()
						<-ended
					}
				}
			})
		}
		defer wait.Wait()
		return parameterserver.RunStrategy(t.Context(), options(nil), p)
	}, keras.Epochs(8), keras.Callbacks(k))
	require.Equal(t, 4, k.kills)
	require.Equal(t, want, got)
}

// TestTextKeysOnServers: strings are keys on servers too, and a model continues elsewhere with what it has learned.
func TestTextKeysOnServers(t *testing.T) {
	x, y := [][]string{{"berlin"}, {"paris"}, {"rome"}, {"berlin"}}, [][]float32{{1}, {0}, {1}, {1}}
	path := filepath.Join(t.TempDir(), "m.keras")
	require.NoError(t, onParameterServers(t, 2, 3, nil, func(ctx context.Context, s *distribute.ParameterServerStrategy) error {
		in := keras.Input(keras.Shape(1), keras.DType("string"))
		e := &layers.Embedding{Name: "e", OutputDim: 2, Dynamic: true}
		out := layers.Apply(&layers.Dense{Units: 1}, layers.Apply(&layers.Flatten{}, layers.Apply(e, in)))
		m, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(out), distribute.Scope(s))
		if err != nil {
			return err
		}
		if err := m.Compile(keras.CompileConfig{Optimizer: &optimizers.Adam{LearningRate: 0.05}, Loss: "mse"}); err != nil {
			return err
		}
		for range 2 { // the second call continues with the rows of the first
			if _, err := m.Fit(ctx, data.Arrays(x, y), keras.BatchSize(2), keras.StepsPerEpoch(30), keras.Epochs(1)); err != nil {
				return err
			}
		}
		if s.Job().Coordinates() {
			rows, err := e.Table().Rows()
			require.NoError(t, err)
			require.Len(t, rows, 3)
			require.Equal(t, uint64(60), e.Table().State().Step)
		}
		return m.Save(path)
	}))
	m, err := keras.LoadModel(path)
	require.NoError(t, err)
	got, err := m.PredictRows(t.Context(), data.Arrays(x, nil))
	require.NoError(t, err)
	require.Greater(t, got[0][0], got[1][0]+0.3)
	_, err = m.Fit(t.Context(), data.Arrays(x, y), keras.Epochs(2))
	require.NoError(t, err)
	e, _ := layers.IsDynamic(layerNamed(m, "e"))
	require.Equal(t, uint64(62), e.Table().State().Step)
}
