package layers_test

import (
	"fmt"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// Fine-tuning trains A and B of rank 4 and the bias; the kernel stays unchanged.
func ExampleLoraOptions() {
	dense := &layers.Dense{Units: 64}
	m, err := keras.NewSequential([]layers.Layer{dense}, keras.InputShape(100))
	if err != nil {
		panic(err)
	}
	if err := dense.EnableLora(4, layers.LoraOptions{Alpha: 8}); err != nil {
		panic(err)
	}
	for _, v := range m.TrainableVariables() {
		fmt.Println(v)
	}
	// Output:
	// dense/bias float32[64]
	// dense/lora_kernel_a float32[100 4]
	// dense/lora_kernel_b float32[4 64]
}

// All layers of a model that support LoRA get it.
func ExampleLoraEnabler() {
	m, err := keras.NewSequential([]layers.Layer{&layers.Embedding{InputDim: 1000, OutputDim: 32}, &layers.Flatten{}, &layers.Dense{Units: 10}},
		keras.InputShape(20), keras.InputDType("int32"))
	if err != nil {
		panic(err)
	}
	for _, l := range m.Layers() {
		if e, ok := l.(layers.LoraEnabler); ok {
			if err := e.EnableLora(2); err != nil {
				panic(err)
			}
		}
	}
	fmt.Println(m.TrainableVariables().Count(), "of", m.CountParams())
	// Output:
	// 3374 of 41774
}
