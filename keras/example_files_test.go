package keras_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
)

func small(units int) *keras.Model {
	m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: units}, &layers.Dense{Units: 1}}, keras.InputShape(3))
	check(err)
	check(m.Compile(keras.CompileConfig{Optimizer: "adam", Loss: "mse"}))
	return m
}

func folder() (string, func()) {
	dir, err := os.MkdirTemp("", "example")
	check(err)
	return dir, func() { check(os.RemoveAll(dir)) }
}

func ExampleLoadModel() {
	dir, remove := folder()
	defer remove()
	path := filepath.Join(dir, "model.keras")
	check(small(4).Save(path))
	m, err := keras.LoadModel(path)
	check(err)
	fmt.Println(m.Name(), m.CountParams())
	// Output: sequential 21
}

func ExampleModel_Save() {
	dir, remove := folder()
	defer remove()
	fmt.Println(small(4).Save(filepath.Join(dir, "model.h5")) != nil)
	check(small(4).Save(filepath.Join(dir, "model"), keras.AsFolder(), keras.WithoutCompile()))
	files, err := os.ReadDir(filepath.Join(dir, "model"))
	check(err)
	for _, f := range files {
		fmt.Println(f.Name())
	}
	// Output:
	// true
	// config.json
	// metadata.json
	// model.weights.h5
}

func ExampleModel_LoadWeights() {
	dir, remove := folder()
	defer remove()
	path := filepath.Join(dir, "model.weights.h5")
	check(small(4).SaveWeights(path))
	var report keras.LoadReport
	check(small(5).LoadWeights(path, keras.SkipMismatch(), keras.Report(&report)))
	fmt.Println(len(report.Matched), len(report.Skipped))
	fmt.Println(report.Skipped[0].Reason)
	// Output:
	// 0 4
	// layer "dense" (Dense): variable dense/kernel (layers/dense/vars/0): shape mismatch: the variable has shape (3, 5), the file holds shape (3, 4)
}

func ExampleModel_SaveShardedWeights() {
	dir, remove := folder()
	defer remove()
	check(small(4).SaveShardedWeights(filepath.Join(dir, "model.weights.json"), 64))
	files, err := os.ReadDir(dir)
	check(err)
	for _, f := range files {
		fmt.Println(f.Name())
	}
	// Output:
	// model.weights.json
	// model_00000.weights.h5
	// model_00001.weights.h5
}

// OnChief is for what only one of several workers does, such as writing the model. Without workers it simply does it.
func ExampleModel_OnChief() {
	model, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 1}}, keras.InputShape(2))
	check(err)
	err = model.OnChief(context.Background(), func() error {
		fmt.Println("written by", model.Strategy())
		return nil
	})
	fmt.Println(err)
	// Output:
	// written by Default(cpu:0)
	// <nil>
}

// Autoencoder is a model of a user's type that can be saved.
type Autoencoder struct {
	Units   int          `keras:"units"`
	Decoder *keras.Model `keras:"decoder"` // given
	Encoder layers.Layer `keras:"-"`       // made
}

func (a *Autoencoder) Assemble() error {
	a.Encoder = &layers.Dense{Units: a.Units, Activation: "relu"}
	return nil
}

func (a *Autoencoder) Call(c *layers.Context, x *ops.Tensor) *ops.Tensor {
	return a.Decoder.Call(c, layers.Invoke(a.Encoder, c, x))
}

func init() { keras.RegisterModel[Autoencoder]("blocks") }

func ExampleRegisterModel() {
	dir, remove := folder()
	defer remove()
	decoder, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 3}}, keras.InputShape(2))
	check(err)
	m, err := keras.NewModel(&Autoencoder{Units: 2, Decoder: decoder})
	check(err)
	check(m.Build([]int{layers.Unknown, 3}))
	path := filepath.Join(dir, "model.keras")
	check(m.Save(path))
	read, err := keras.LoadModel(path)
	check(err)
	fmt.Println(read.Name(), read.CountParams())
	// Output: autoencoder 17
}
