//go:build linux

package cuda

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/collective"
	"github.com/gokeras/gokeras/distribute/multiworker"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakenccl"
	"github.com/gokeras/gokeras/kernels/cuda/internal/nccl"
	"github.com/gokeras/gokeras/layers"
)

// A GPU that falls off the bus is a lost worker: its Fit ends with an error that names the device, and the others train
// on, every step once. The same holds where a worker's library breaks although all are there: that worker comes back.
func TestWorkerLosesItsGPU(t *testing.T) {
	for name, strike := range map[string]func(p *process){
		"fallen": func(p *process) { p.driver.Lose(0) },
		"broken": func(p *process) { p.library.Break(nccl.RemoteError) },
	} {
		t.Run(name, func(t *testing.T) {
			const workers, epochs, steps = 3, 4, 4
			w, kind := fakenccl.NewWorld(), fmt.Sprint(name, made.Add(1), "of")
			var all []*process
			for i := range workers {
				p := newProcess(w, fakedriver.Options{Devices: 1})
				p.backend.kind = fmt.Sprint(kind, i, "cuda")
				p.backend.open = func() (driver.API, error) { return p.driver, nil }
				kernels.Register(p.backend)
				all = append(all, p)
			}
			o := multiworker.Options{Elastic: &distribute.Elastic{Min: 1, Patience: -1}, Deadline: 2 * time.Second, Communication: collective.CommunicationOptions{Implementation: collective.NCCL}}
			var mu sync.Mutex
			var said []string
			o.Observe = func(text string) {
				mu.Lock()
				defer mu.Unlock()
				said = append(said, text)
			}
			counts := make([]float64, workers)
			errs := fakeWorkersOn(t, workers, o, func(rank int) []string { return []string{fmt.Sprint(kind, rank, "cuda:0")} }, func(rank int, s *distribute.MultiWorkerMirroredStrategy) error {
				m, err := keras.NewSequential([]layers.Layer{&layers.Flatten{}, &layers.Dense{Units: 3}}, distribute.Scope(s), keras.Seed(3), keras.InputShape(8, 8, 1))
				if err != nil {
					return err
				}
				if err := m.Compile(keras.CompileConfig{Optimizer: "adam", Loss: "sparse_categorical_crossentropy"}); err != nil {
					return err
				}
				x, y := digits()
				done := 0
				hit := &callbacks.LambdaCallback{TrainBatchEnd: func(int, *callbacks.Logs) error {
					if done++; done == 6 && rank == 1 {
						strike(all[1])
					}
					return nil
				}}
				if _, err := m.Fit(t.Context(), data.Arrays(x, y), keras.BatchSize(len(x)/steps), keras.Epochs(epochs), keras.Callbacks(hit)); err != nil {
					return err
				}
				slots, err := m.OptimizerArrays()
				if err == nil {
					counts[rank] = slots[0].Element(0)
				}
				return err
			})
			if name == "fallen" {
				require.Contains(t, strings.Join(said, "\n"), kind+"1cuda:0: the device is lost", "the others know why")
			}
			for rank, err := range errs {
				if name == "fallen" && rank == 1 {
					require.ErrorContains(t, err, kind+"1cuda:0")
					continue
				}
				require.NoError(t, err, "worker %d", rank)
				require.Equal(t, float64(epochs*steps), counts[rank], "worker %d", rank)
				require.NoError(t, all[rank].driver.Fault())
				require.NoError(t, all[rank].library.Fault())
			}
		})
	}
}
