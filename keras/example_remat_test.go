package keras_test

import (
	"fmt"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// Training keeps the inputs of the wide layer and computes its results again for the gradient.
func ExampleRematScope() {
	model, err := keras.NewSequential([]layers.Layer{
		&layers.Dense{Units: 4096, Activation: "gelu", Name: "wide"}, &layers.Dense{Units: 10},
	}, keras.InputShape(64))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(model.Compile(keras.CompileConfig{Loss: "mse", Remat: &keras.RematScope{Mode: "list_of_layers", LayerNames: []string{"wide"}}}))
	// Output: <nil>
}
