package callbacks_test

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/optimizers"
)

// check keeps the examples short; a program would return the error.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

// line returns a model of y = 2x, and data for it.
func line(optimizer any) (*keras.Model, data.Dataset) {
	model, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 1}}, keras.InputShape(1))
	check(err)
	check(model.Compile(keras.CompileConfig{Optimizer: optimizer, Loss: "mse"}))
	x := [][]float64{{-1}, {-0.5}, {0.5}, {1}}
	y := [][]float64{{-2}, {-1}, {1}, {2}}
	return model, data.Arrays(x, y)
}

func ExampleEarlyStopping() {
	model, examples := line(&optimizers.SGD{LearningRate: 0.5})
	stop := &callbacks.EarlyStopping{Monitor: "loss", MinDelta: 1e-6, Patience: 2, RestoreBestWeights: true, Verbose: 1}
	history, err := model.Fit(context.Background(), examples, keras.Epochs(1000), keras.Callbacks(stop), keras.ProgressOutput(io.Discard))
	check(err)
	fmt.Println("stopped early:", len(history.Epoch) < 1000)
	fmt.Println("epochs after the best:", stop.StoppedEpoch()-stop.BestEpoch())
	// Output:
	// stopped early: true
	// epochs after the best: 2
}

func ExampleModelCheckpoint() {
	dir, err := os.MkdirTemp("", "checkpoints")
	check(err)
	defer os.RemoveAll(dir)
	model, examples := line(&optimizers.SGD{LearningRate: 0.1})
	_, err = model.Fit(context.Background(), examples, keras.Epochs(3), keras.Callbacks(&callbacks.ModelCheckpoint{
		FilePath:        filepath.Join(dir, "epoch-{epoch:02d}.weights.npz"),
		SaveWeightsOnly: true,
		SaveBestOnly:    true,
		Monitor:         "loss",
	}))
	check(err)
	files, err := os.ReadDir(dir)
	check(err)
	for _, f := range files {
		fmt.Println(f.Name())
	}
	check(model.LoadWeights(filepath.Join(dir, "epoch-01.weights.npz")))
	// Output:
	// epoch-01.weights.npz
	// epoch-02.weights.npz
	// epoch-03.weights.npz
}

func ExampleReduceLROnPlateau() {
	model, examples := line(&optimizers.SGD{LearningRate: 0.5})
	// No epoch improves the loss by 100, so the rate falls after each epoch but the first.
	plateau := &callbacks.ReduceLROnPlateau{Monitor: "loss", MinDelta: new(100.0), Patience: 1, Factor: 0.5, MinLR: 0.125}
	history, err := model.Fit(context.Background(), examples, keras.Epochs(5), keras.Callbacks(plateau))
	check(err)
	fmt.Println(history.Logs["learning_rate"])
	// Output: [0.5 0.5 0.25 0.125 0.125]
}

func ExampleLearningRateScheduler() {
	model, examples := line(&optimizers.SGD{LearningRate: 0.5})
	halve := &callbacks.LearningRateScheduler{Schedule: func(epoch int, rate float64) float64 {
		if epoch < 2 {
			return rate
		}
		return rate / 2
	}}
	history, err := model.Fit(context.Background(), examples, keras.Epochs(4), keras.Callbacks(halve))
	check(err)
	fmt.Println(history.Logs["learning_rate"])
	// Output: [0.5 0.5 0.25 0.125]
}

func ExampleCSVLogger() {
	path := filepath.Join(os.TempDir(), fmt.Sprintf("training-%d.csv", os.Getpid()))
	defer os.Remove(path)
	logger := &callbacks.CSVLogger{Filename: path, Separator: ";"}
	check(logger.OnTrainBegin()) // Fit calls the hooks; here a program does
	logs := callbacks.NewLogs(nil)
	logs.Set("loss", 0.5)
	logs.Set("val_loss", 0.625)
	check(logger.OnEpochEnd(0, logs))
	check(logger.OnTrainEnd(nil))
	text, err := os.ReadFile(path)
	check(err)
	fmt.Printf("%q\n", text)
	// Output: "epoch;loss;val_loss\r\n0;0.5;0.625\r\n"
}

func ExampleTerminateOnNaN() {
	model, _ := line("sgd")
	broken := data.Arrays([][]float64{{1}, {math.NaN()}}, [][]float64{{1}, {1}})
	_, err := model.Fit(context.Background(), broken, keras.BatchSize(1), keras.Shuffle(false), keras.Callbacks(&callbacks.TerminateOnNaN{}))
	check(err)
	// Output:
	// epoch 1: batch 1: input "input_layer" has a NaN (element 0 of (1, 1)): the loss and all weights will be NaN; keras.RefuseNaN makes this an error
	// Batch 1: Invalid loss, terminating training
}

func ExampleLambdaCallback() {
	model, examples := line("sgd")
	_, err := model.Fit(context.Background(), examples, keras.Epochs(2), keras.BatchSize(2), keras.Callbacks(&callbacks.LambdaCallback{
		EpochBegin:    func(epoch int) error { fmt.Println("epoch", epoch); return nil },
		TrainBatchEnd: func(batch int, _ *callbacks.Logs) error { fmt.Println("  batch", batch); return nil },
	}))
	check(err)
	// Output:
	// epoch 0
	//   batch 0
	//   batch 1
	// epoch 1
	//   batch 0
	//   batch 1
}

func ExampleSwapEMAWeights() {
	model, examples := line(&optimizers.SGD{LearningRate: 0.1, Options: optimizers.Options{UseEMA: true}})
	swap := &callbacks.SwapEMAWeights{}
	history, err := model.Fit(context.Background(), examples, keras.Epochs(3), keras.ValidationData(examples), keras.Callbacks(swap))
	check(err)
	// A run with UseEMA ends with the averages as weights; with the callback, validation has used them all along.
	scores, err := model.Evaluate(context.Background(), examples)
	check(err)
	last, _ := history.Last("val_loss")
	fmt.Println(scores["loss"] == last)
	// Output: true
}

func ExampleBackupAndRestore() {
	dir, err := os.MkdirTemp("", "backup")
	check(err)
	defer os.RemoveAll(dir)
	backup := &callbacks.BackupAndRestore{BackupDir: dir}
	crash := &callbacks.LambdaCallback{EpochBegin: func(epoch int) error {
		if epoch == 2 {
			return fmt.Errorf("the machine went down")
		}
		return nil
	}}
	model, examples := line("adam")
	_, err = model.Fit(context.Background(), examples, keras.Epochs(5), keras.Callbacks(backup, crash))
	fmt.Println(err)

	model, examples = line("adam") // the program was started again
	history, err := model.Fit(context.Background(), examples, keras.Epochs(5), keras.Callbacks(backup))
	check(err)
	fmt.Println("went on; the history has epochs", history.Epoch)
	// Output:
	// keras: Fit: epoch 3: the machine went down
	// went on; the history has epochs [0 1 2 3 4]
}

func ExampleRemoteMonitor() {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		fmt.Println(r.URL.Path, r.FormValue("data"))
	}))
	defer server.Close()
	monitor := &callbacks.RemoteMonitor{Root: server.URL}
	check(monitor.OnTrainBegin())
	logs := callbacks.NewLogs(nil)
	logs.Set("loss", 0.5)
	check(monitor.OnEpochEnd(0, logs))
	// Output: /publish/epoch/end/ {"epoch": 0, "loss": 0.5}
}

func ExampleHistory() {
	model, examples := line("sgd")
	history, err := model.Fit(context.Background(), examples, keras.Epochs(4), keras.ValidationData(examples), keras.ValidationFrequency(2))
	check(err)
	fmt.Println(history.Epoch, history.Names())
	fmt.Println(len(history.Logs["loss"]), len(history.Logs["val_loss"]))
	// Output:
	// [0 1 2 3] [loss val_loss]
	// 4 2
}

// A history prints as a table. The second epoch alone was followed by a validation.
func ExampleHistory_String() {
	model, examples := line("sgd")
	history, err := model.Fit(context.Background(), examples, keras.Epochs(2), keras.ValidationData(examples), keras.ValidationFrequency(2))
	check(err)
	fmt.Println(history)
	// Output:
	//  epoch    loss  val_loss
	// ─────────────────────────
	//      1  0.6305
	//      2  0.6149    0.5996
}

func ExampleProgbar() {
	var line strings.Builder
	bar := callbacks.NewProgbar(&line, 12, 2)
	logs := callbacks.NewLogs(nil)
	logs.Set("loss", 0.25)
	for step := range 12 {
		bar.Update(step+1, logs, step == 11)
	}
	// The times differ from run to run: "12/12 - 0s - 3us/step - loss: 0.2500".
	fmt.Println(strings.HasPrefix(line.String(), "12/12 - "), strings.HasSuffix(line.String(), " - loss: 0.2500\n"))
	// Output: true true
}

func ExampleProgbarLogger() {
	model, examples := line("sgd")
	// What keras.Verbose(2) and keras.ProgressOutput(w) do:
	logger := callbacks.NewProgbarLogger(2, io.Discard)
	_, err := model.Fit(context.Background(), examples, keras.Callbacks(logger))
	fmt.Println(err)
	// Output: <nil>
}

// counter is a custom callback: it embeds Base and overrides the hooks it needs.
type counter struct {
	callbacks.Base
	batches int
}

func (c *counter) OnTrainBatchEnd(int, *callbacks.Logs) error {
	c.batches++
	if c.batches == 3 {
		c.Model().Stop()
	}
	return nil
}

func ExampleBase() {
	model, examples := line("sgd")
	c := &counter{}
	_, err := model.Fit(context.Background(), examples, keras.BatchSize(1), keras.Callbacks(c))
	check(err)
	fmt.Println(c.batches)
	// Output: 3
}

func ExampleList() {
	history := &callbacks.History{}
	list := callbacks.NewList([]callbacks.Callback{history}, nil, callbacks.Params{Epochs: 2, Steps: 10})
	check(list.Each(func(c callbacks.Callback) error { return c.OnTrainBegin() }))
	for epoch := range 2 {
		logs := callbacks.NewLogs(nil)
		logs.Set("loss", 1/float64(epoch+1))
		check(list.Each(func(c callbacks.Callback) error { return c.OnEpochEnd(epoch, logs) }))
	}
	check(list.EachAlways(func(c callbacks.Callback) error { return c.OnTrainEnd(nil) }))
	fmt.Println(history.Logs["loss"])
	// Output: [1 0.5]
}

func ExampleLogs() {
	logs := callbacks.NewLogs(func(l *callbacks.Logs) error {
		fmt.Println("worked out")
		l.Set("loss", 0.5)
		l.Set("accuracy", 0.75)
		return nil
	})
	loss, ok := logs.Get("loss")
	fmt.Println(loss, ok, logs.Names())
	// Output:
	// worked out
	// 0.5 true [accuracy loss]
}

func ExampleTrace() {
	model, examples := line("sgd")
	folder, err := os.MkdirTemp("", "trace")
	check(err)
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "trace.json")
	_, err = model.Fit(context.Background(), examples, keras.BatchSize(1), keras.Callbacks(&callbacks.Trace{Path: path, Steps: 2}))
	check(err)
	text, err := os.ReadFile(path) // ui.perfetto.dev shows it
	check(err)
	fmt.Println(strings.Count(string(text), `"name":"step"`), "steps")
	// Output: 2 steps
}
