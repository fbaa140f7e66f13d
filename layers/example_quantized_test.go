package layers_test

import (
	"fmt"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/quantizers"
)

// A single layer is quantized, in blocks of 32 inputs.
func ExampleQuantizable() {
	dense := &layers.Dense{Units: 64}
	m, err := keras.NewSequential([]layers.Layer{dense, &layers.Dense{Units: 10}}, keras.InputShape(100))
	if err != nil {
		panic(err)
	}
	if err := dense.Quantize(&quantizers.Int4QuantizationConfig{BlockSize: 32}); err != nil {
		panic(err)
	}
	fmt.Println(dense.DType)
	for _, v := range m.Weights()[:5] {
		fmt.Println(v)
	}
	// Output:
	// int4/32_from_float32
	// dense/bias float32[64]
	// dense/kernel int8[100 32]
	// dense/kernel_scale float32[4 64]
	// dense/kernel_zero int8[4 64]
	// dense/g_idx float32[100]
}
