//go:build unix

package multiworker_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/collective"
	"github.com/gokeras/gokeras/distribute/multiworker"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/metrics"
	"github.com/gokeras/gokeras/optimizers"
)

// chaosConfig says how the workers of a run under faults train. It lies in their folder.
type chaosConfig struct {
	Elastic  *distribute.Elastic // nil: the number of workers is kept
	Epochs   int
	Deadline time.Duration
	Stream   bool
	Dropout  bool   // whose numbers depend on the number of replicas
	Secret   string // of workers on a network beyond the loopback interface
}

// secured is a secret as options.
func secured(secret string) *collective.Security {
	if secret == "" {
		return nil
	}
	return &collective.Security{Secret: []byte(secret)}
}

// chaosSteps is the number of steps in an epoch.
const chaosSteps = 10

// chaosResult is what a worker ends with.
type chaosResult struct {
	Weights [][]float64
	Loss    []float64
	ValLoss []float64
	Rate    []float64
	Steps   float64 // as the optimizer counts
}

const (
	chaosConfigFile = "chaos.json"
	chaosLog        = "log.csv"
	hurryFile       = "hurry" // once it is there, the workers do not pause any more
)

func chaosModel(s distribute.Strategy, dropout bool) (*keras.Model, error) {
	list := []layers.Layer{&layers.Dense{Units: 6, Activation: "tanh"}, &layers.BatchNormalization{Synchronized: true}}
	if dropout {
		list = append(list, &layers.Dropout{Rate: 0.1})
	}
	m, err := keras.NewSequential(append(list, &layers.Dense{Units: 2}), distribute.Scope(s), keras.DTypePolicy("float64"), keras.Seed(3), keras.InputShape(4))
	if err != nil {
		return nil, err
	}
	return m, m.Compile(keras.CompileConfig{Optimizer: &optimizers.Adam{LearningRate: 0.01}, Loss: "mse", Metrics: []metrics.Metric{&metrics.MeanAbsoluteError{}}})
}

func chaosData(n int, seed uint64) *data.ArraySource {
	rng := rand.New(rand.NewPCG(seed, 1))
	x, y := make([]float64, 4*n), make([]float64, 2*n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	for i := range y {
		y[i] = x[4*(i/2)+i%2] + rng.NormFloat64()/4
	}
	return data.Arrays(data.Must(data.ArrayOf(x, n, 4)), data.Must(data.ArrayOf(y, n, 2)))
}

// chaosWorker trains and says after each step which one it was.
func chaosWorker() error {
	dir := os.Getenv(dirVariable)
	text, err := os.ReadFile(filepath.Join(dir, chaosConfigFile))
	if err != nil {
		return err
	}
	var c chaosConfig
	if err := json.Unmarshal(text, &c); err != nil {
		return err
	}
	s, err := multiworker.NewStrategy(context.Background(), multiworker.Options{Devices: []string{"cpu:0"}, Elastic: c.Elastic, Deadline: c.Deadline,
		JoinTimeout: time.Minute, NoSharedMemory: c.Stream, Security: secured(c.Secret), Observe: func(text string) { fmt.Println(text) }})
	if err != nil {
		return err
	}
	m, err := chaosModel(s, c.Dropout)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	epoch, hurry := 0, false
	pace := &callbacks.LambdaCallback{
		EpochBegin: func(e int) error { epoch = e; return nil },
		TrainBatchEnd: func(batch int, _ *callbacks.Logs) error {
			fmt.Fprintf(out, "step %d %d\n", epoch*chaosSteps+batch+1, time.Now().UnixNano())
			if !hurry {
				time.Sleep(5 * time.Millisecond)
			}
			return out.Flush()
		},
		EpochEnd: func(int, *callbacks.Logs) error {
			_, err := os.Stat(filepath.Join(dir, hurryFile))
			hurry = err == nil
			return nil
		},
	}
	options := []keras.FitOption{
		keras.BatchSize(24), keras.Epochs(c.Epochs), keras.ValidationData(chaosData(30, 2)), keras.ValidationFrequency(4),
		keras.Callbacks(&callbacks.ReduceLROnPlateau{Monitor: "loss", Patience: 12, Factor: 0.97}, &callbacks.BackupAndRestore{BackupDir: filepath.Join(dir, "backup")},
			&callbacks.CSVLogger{Filename: filepath.Join(dir, chaosLog)}, pace),
	}
	h, err := m.Fit(context.Background(), chaosData(24*chaosSteps, 1), options...)
	if err != nil {
		return err
	}
	result := chaosResult{Loss: h.Logs["loss"], ValLoss: h.Logs["val_loss"], Rate: h.Logs["learning_rate"]}
	weights, err := m.GetWeights()
	if err != nil {
		return err
	}
	for _, w := range weights {
		result.Weights = append(result.Weights, w.Float64s())
	}
	slots, err := m.OptimizerArrays()
	if err != nil {
		return err
	}
	result.Steps = slots[0].Element(0)
	if text, err = json.Marshal(result); err != nil {
		return err
	}
	if err := m.OnChief(context.Background(), func() error { return os.WriteFile(filepath.Join(dir, "model"), text, 0o666) }); err != nil {
		return err
	}
	fmt.Println("done")
	if err := os.WriteFile(os.Getenv(outVariable), text, 0o666); err != nil {
		return err
	}
	return s.Close()
}
