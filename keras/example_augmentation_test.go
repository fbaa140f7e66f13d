package keras_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// Layers that augment images precede the model, as a model of their own: they change what it is trained on, on the
// device that trains it, but not its predictions.
func ExampleNewSequential_augmentation() {
	augment, err := keras.NewSequential([]layers.Layer{&layers.RandomFlip{Mode: "horizontal"}, &layers.RandomBrightness{Factor: []float64{0.5}}})
	if err != nil {
		log.Fatal(err)
	}
	model, err := keras.NewSequential([]layers.Layer{augment, &layers.Flatten{}, &layers.Dense{Units: 1, KernelInitializer: "ones"}}, keras.InputShape(1, 3, 1), keras.Seed(1))
	if err != nil {
		log.Fatal(err)
	}
	if err := model.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "mse"}); err != nil {
		log.Fatal(err)
	}
	images := data.Arrays([][][][]float32{{{{10}, {20}, {30}}}}, []float32{60})
	scores, err := model.Evaluate(context.Background(), images)
	if err != nil {
		log.Fatal(err)
	}
	history, err := model.Fit(context.Background(), images)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("evaluated:", scores["loss"], "trained as it was:", history.Logs["loss"][0] == 0)
	// Output: evaluated: 0 trained as it was: false
}
