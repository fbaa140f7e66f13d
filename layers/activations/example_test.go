package activations_test

import (
	"fmt"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers/activations"
)

func ExampleGet() {
	f, err := activations.Get("swish")
	name, _ := activations.Name(f)
	fmt.Println(name, err)
	// Output: silu <nil>
}

// steep is the logistic function with four times the slope.
func steep(x *ops.Tensor) *ops.Tensor { return ops.Sigmoid(ops.MultiplyScalar(x, 4)) }

func ExampleRegister() {
	activations.Register("steep", steep)
	_, err := activations.Get("steep")
	fmt.Println(err)
	// Output: <nil>
}

func ExampleLinear() {
	f, _ := activations.Get(nil)
	name, _ := activations.Name(f)
	fmt.Println(name)
	// Output: linear
}
