package layers_test

import (
	"context"
	"fmt"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
)

// In Fit, a custom step mixes the images and labels of each batch, and is otherwise the usual one. Evaluate and Predict
// receive them unmixed.
func ExampleMixUp_fit() {
	mixUp := &layers.MixUp{}
	step := func(s *keras.Step) keras.StepLogs {
		mixed := layers.InvokeAll(mixUp, s.Training(), s.X[0], s.Y[0])
		s.X[0], s.Y[0] = mixed[0], mixed[1]
		predicted := s.Model().Call(s.Training(), s.X...)
		loss := s.ComputeLoss(predicted)
		s.Minimize(s.Optimizer(), loss, s.Model().TrainableVariables())
		return s.ComputeMetrics(predicted)
	}
	model, err := keras.NewSequential([]layers.Layer{&layers.Flatten{}, &layers.Dense{Units: 2}}, keras.InputShape(2, 2, 1))
	if err != nil {
		fmt.Println(err)
		return
	}
	err = model.Compile(keras.CompileConfig{Optimizer: "adam", Loss: &losses.CategoricalCrossentropy{FromLogits: true}, TrainStep: step})
	if err != nil {
		fmt.Println(err)
		return
	}
	bright, dark := [][][]float64{{{1}, {1}}, {{1}, {1}}}, [][][]float64{{{0}, {0}}, {{0}, {1}}}
	examples := data.Arrays([][][][]float64{bright, dark, bright, dark}, [][]float64{{1, 0}, {0, 1}, {1, 0}, {0, 1}})
	history, err := model.Fit(context.Background(), examples, keras.Epochs(3), keras.BatchSize(2))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(history.Logs["loss"]), "epochs")
	// Output: 3 epochs
}
