package keras_test

import (
	"fmt"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// The weights of one layer are copied to a layer of another model, as with layer.set_weights(other.get_weights()).
func ExampleModel_SetLayerWeights() {
	trained, err := keras.NewSequential([]layers.Layer{
		&layers.Dense{Units: 2, KernelInitializer: "ones", Name: "hidden"}, &layers.Dense{Units: 5},
	}, keras.InputShape(3))
	check(err)
	fresh, err := keras.NewSequential([]layers.Layer{
		&layers.Dense{Units: 2, Name: "base"}, &layers.Dense{Units: 1},
	}, keras.InputShape(3))
	check(err)
	hidden, err := trained.GetLayer("hidden")
	check(err)
	base, err := fresh.GetLayer("base")
	check(err)

	weights, err := trained.GetLayerWeights(hidden)
	check(err)
	check(fresh.SetLayerWeights(base, weights))
	copied, err := fresh.GetLayerWeights(base)
	check(err)
	fmt.Println(copied[0].Elements(), copied[1].Elements())
	// Output: [1 1 1 1 1 1] [0 0]
}
