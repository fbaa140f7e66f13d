package keras_test

import (
	"context"
	"fmt"
	"image"
	"log"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// A server predicts repeatedly without allocating: it writes new values into the memory that its examples were created
// from.
func ExampleModel_PredictOnBatchInto() {
	model, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 1, KernelInitializer: "ones"}}, keras.InputShape(2))
	if err != nil {
		fmt.Println(err)
		return
	}
	values := []float32{1, 2}
	x := data.Arrays(data.Must(data.ArrayOf(values, 1, 2)), nil)
	y := data.Must(data.Zeros[float32](1, 1))
	for range 3 {
		if err := model.PredictOnBatchInto(context.Background(), x, y); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(y.Elements())
		values[0]++
	}
	// Output:
	// [3]
	// [4]
	// [5]
}

// Images are passed in as they are, class names are numbered and read back, and results are plain Go slices.
func ExampleModel_PredictRows() {
	light, dark := image.NewGray(image.Rect(0, 0, 2, 2)), image.NewGray(image.Rect(0, 0, 2, 2))
	for i := range light.Pix {
		light.Pix[i] = 255
	}
	m, err := keras.NewSequential([]layers.Layer{
		&layers.Rescaling{Scale: []float64{1.0 / 255}}, &layers.GlobalAveragePooling2D{},
	}, keras.InputShape(2, 2, 1))
	if err != nil {
		log.Fatal(err)
	}
	pictures := data.Arrays([]image.Image{light, dark}, nil)
	rows, err := m.PredictRows(context.Background(), pictures)
	if err != nil {
		log.Fatal(err)
	}
	predictions, err := m.Predict(context.Background(), pictures)
	if err != nil {
		log.Fatal(err)
	}
	labels, err := data.NewClassLabels("dark", "light")
	if err != nil {
		log.Fatal(err)
	}
	names, err := labels.Decode(predictions)
	fmt.Println(rows, names, err)
	// Output: [[1] [0]] [light dark] <nil>
}
