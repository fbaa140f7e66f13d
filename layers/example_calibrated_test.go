package layers_test

import (
	"fmt"
	"log"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/quantizers"
)

func ExampleCalibrated() {
	m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 2}}, keras.InputShape(3))
	if err != nil {
		log.Fatal(err)
	}
	dense := m.Layers()[0].(layers.Calibrated)
	features, err := dense.CalibratedFeatures()
	if err != nil {
		log.Fatal(err)
	}
	seen := quantizers.Statistics{Rows: 10, Magnitudes: []float64{1, 5, 2}}
	if err := dense.QuantizeCalibrated(&quantizers.AWQConfig{}, seen); err != nil {
		log.Fatal(err)
	}
	fmt.Println(features, layers.QuantizedBy(dense))
	// Output: 3 awq/4/128_from_float32
}
