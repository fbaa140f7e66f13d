package plot_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/plot"
	"github.com/gokeras/gokeras/layers"
)

func ExampleModel() {
	dir, err := os.MkdirTemp("", "plot")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	in := keras.Input(keras.Shape(8))
	h := layers.Apply(&layers.Dense{Units: 8, Activation: "relu"}, in)
	out := layers.Apply(&layers.Add{}, in, h)
	model, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(out))
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"model.svg", "model.png", "model.dot"} {
		err := plot.Model(model, filepath.Join(dir, name), plot.ShowShapes(), plot.ShowLayerNames(), plot.RankDir("LR"))
		fmt.Println(name, err)
	}
	// Output:
	// model.svg <nil>
	// model.png <nil>
	// model.dot <nil>
}

func ExampleHistory() {
	dir, err := os.MkdirTemp("", "plot")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	history := &keras.History{Epoch: []int{0, 1, 2}, Logs: map[string][]float64{"loss": {1, 0.5, 0.25}, "val_loss": {1.1, 0.6, 0.4}}}
	fmt.Println(plot.History(history, filepath.Join(dir, "curves.png")))
	// Output: <nil>
}

func ExampleHistoryFile() {
	dir, err := os.MkdirTemp("", "plot")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	from := filepath.Join(dir, "history.json")
	if err := os.WriteFile(from, []byte(`{"loss": [1.0, 0.5], "val_loss": [1.25, 0.75]}`), 0o666); err != nil {
		panic(err)
	}
	fmt.Println(plot.HistoryFile(from, filepath.Join(dir, "curves.svg")))
	// Output: <nil>
}
