//go:build unix

package multiworker_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/cluster/clustertest"
	"github.com/gokeras/gokeras/distribute/collective"
	"github.com/gokeras/gokeras/distribute/multiworker"
	"github.com/gokeras/gokeras/internal/fairclock"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/optimizers"
)

// lineJob is a job whose lines have faults.
type lineJob struct {
	workers, replicas, pack int
	kind                    string // elastic, backup or plain
	secret                  bool
	faults                  [][]clustertest.Fault // by worker
}

const linesDeadline = 400 * time.Millisecond

func drawLineJob(rng *rand.Rand) lineJob {
	j := lineJob{workers: 2 + rng.IntN(3), replicas: 1 + rng.IntN(2), pack: []int{0, 64}[rng.IntN(2)], kind: []string{"elastic", "backup", "plain"}[rng.IntN(3)], secret: rng.IntN(2) == 0}
	j.faults = make([][]clustertest.Fault, j.workers)
	for range 1 + rng.IntN(3) {
		i := rng.IntN(j.workers)
		j.faults[i] = append(j.faults[i], clustertest.Draw(rng, linesDeadline))
	}
	return j
}

// run trains, and returns each worker's weights and error.
func (j lineJob) run(t *testing.T) (weights [][][]float64, errs []error) {
	secret := collective.NewSecret()
	backups := t.TempDir()
	addresses, behind := clustertest.Lines(t, j.workers, func(i int) []clustertest.Fault { return j.faults[i] })
	spec, err := cluster.NewSpec(map[string][]string{cluster.Worker: addresses})
	require.NoError(t, err)
	return workers(t, j.workers, func(rank int, o *multiworker.Options) {
		_ = o.Listener.Close()
		o.Listener, o.Resolver = behind[rank], &cluster.Simple{Cluster: spec, Task: &cluster.Task{Type: cluster.Worker, Index: rank}}
		o.Deadline, o.JoinTimeout, o.NoSharedMemory = linesDeadline, 30*time.Second, true
		o.Communication.BytesPerPack = j.pack
		o.Devices = []string{"cpu:0", "cpu:1"}[:j.replicas]
		if j.kind == "elastic" {
			o.Elastic = &distribute.Elastic{}
		}
		if j.secret {
			o.Security = &collective.Security{Secret: []byte(secret)}
		}
	}, func(ctx context.Context, s *distribute.MultiWorkerMirroredStrategy) ([][]float64, error) {
		m, err := trainings()[0].model(s, "float32")
		if err != nil {
			return nil, err
		}
		if err := m.Compile(keras.CompileConfig{Optimizer: &optimizers.Adam{LearningRate: 0.01}, Loss: "mse"}); err != nil {
			return nil, err
		}
		all := []callbacks.Callback{&callbacks.LambdaCallback{EpochEnd: func(epoch int, _ *callbacks.Logs) error { return halve(m.Weights()[epoch%4]) }}}
		if j.kind == "backup" {
			all = append(all, &callbacks.BackupAndRestore{BackupDir: backups, SaveFreq: 3})
		}
		options := []keras.FitOption{keras.BatchSize(8), keras.Epochs(6), keras.Callbacks(all...)}
		if _, err := m.Fit(ctx, trainings()[0].arrays(false), options...); err != nil {
			return nil, err
		}
		var out [][]float64
		for _, v := range m.Weights() {
			a, err := v.Value()
			if err != nil {
				return nil, err
			}
			out = append(out, a.Float64s())
		}
		return out, nil
	})
}

// halve is what a callback sets, alike on all workers, between the last step of an epoch and the next one.
func halve(v *distribute.Variable) error {
	a, err := v.Value()
	if err != nil {
		return err
	}
	half := a.Float64s()
	for i := range half {
		half[i] /= 2
	}
	if err := a.SetFloat64s(0, half); err != nil {
		return err
	}
	return v.SetValue(a)
}

var (
	namesWorker = regexp.MustCompile(`worker:\d`)
	descriptors = func() int {
		list, _ := os.ReadDir("/proc/self/fd")
		return len(list)
	}
)

// TestChaosOfLines: connections that end within any byte of a message, or lead nowhere, stop, crawl or are refused. A
// job that outlives lost workers ends with the bits of one without faults; another one does, or fails on all workers
// that had not come to the end, with an error that names one. Nothing is left, and nobody waits forever.
func TestChaosOfLines(t *testing.T) {
	draws := max(6, *faults/2)
	if testing.Short() {
		draws = 3
	}
	undisturbed := map[string][][]float64{}
	for draw := range draws {
		j := drawLineJob(rand.New(rand.NewPCG(*schedule, uint64(draw))))
		t.Run(fmt.Sprint(draw), func(t *testing.T) {
			key := fmt.Sprint(j.workers, j.replicas)
			want, known := undisturbed[key]
			if !known {
				quiet := j
				quiet.faults = make([][]clustertest.Fault, j.workers)
				quiet.kind = "elastic" // a slow machine may lose workers
				all, errs := quiet.run(t)
				require.NoError(t, errs[0])
				want = all[0]
				undisturbed[key] = want
			}
			before := descriptors()
			clock := fairclock.Start()
			defer clock.Stop()
			weights, errs := j.run(t)
			t.Logf("%+v: %v %v", j, clock.Elapsed().Round(time.Millisecond), errs)
			require.Less(t, clock.Elapsed(), 20*time.Second)
			for rank, err := range errs {
				if err != nil {
					require.Equal(t, "plain", j.kind, "worker %d: %v", rank, err)
					require.Regexp(t, namesWorker, err.Error(), "worker %d", rank)
					continue
				}
				require.Equal(t, want, weights[rank], "worker %d", rank)
			}
			require.Eventually(t, func() bool { return left() == "" }, 5*time.Second, 10*time.Millisecond, "%s", left())
			if runtime.GOOS == "linux" {
				require.Eventually(t, func() bool { return descriptors() <= before+4*j.workers }, 5*time.Second, 10*time.Millisecond) // those of the lines end with the test
			}
		})
	}
}
