package keras_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/quantizers"
)

func ExampleCalibration() {
	m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 8, Activation: "relu"}, &layers.Dense{Units: 2}}, keras.InputShape(3))
	if err != nil {
		log.Fatal(err)
	}
	examples := data.Arrays([][]float32{{1, 2, 3}, {0, 1, 0}, {3, 1, 2}, {2, 2, 1}}, nil)
	if err := m.QuantizeWith(context.Background(), &quantizers.GPTQConfig{WeightBits: 8}, keras.Calibration{Data: examples}); err != nil {
		log.Fatal(err)
	}
	for _, l := range m.Layers() {
		fmt.Println(layers.Name(l), layers.QuantizedBy(l))
	}
	// Output:
	// dense gptq/8/128_from_float32
	// dense_1 gptq/8/128_from_float32
}
