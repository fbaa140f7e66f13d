package keras_test

import (
	"context"
	"fmt"

	"gorgonia.org/tensor"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// A server predicts again and again without allocating: it writes new values into the memory that its examples were made of.
func ExampleModel_PredictOnBatchInto() {
	model, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 1, KernelInitializer: "ones"}}, keras.InputShape(2))
	if err != nil {
		fmt.Println(err)
		return
	}
	values := []float32{1, 2}
	x := data.Arrays(tensor.New(tensor.WithShape(1, 2), tensor.WithBacking(values)), nil)
	y := tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(1, 1))
	for range 3 {
		if err := model.PredictOnBatchInto(context.Background(), x, y); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(y.Data())
		values[0]++
	}
	// Output:
	// [3]
	// [4]
	// [5]
}
