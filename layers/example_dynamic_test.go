package layers_test

import (
	"context"
	"fmt"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/initializers"
)

// trainedCities is a model that has learned about three cities.
func trainedCities() (*keras.Model, *layers.Embedding) {
	cities := &layers.Embedding{Name: "cities", OutputDim: 1, Dynamic: true, EmbeddingsInitializer: initializers.Constant{Value: 1}}
	model, err := keras.NewSequential([]layers.Layer{cities, &layers.Flatten{}}, keras.InputShape(1), keras.InputDType("string"))
	if err == nil {
		err = model.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "mse"})
	}
	if err == nil {
		_, err = model.Fit(context.Background(), data.Arrays([][]string{{"oslo"}, {"berlin"}, {"rome"}}, [][]float32{{1}, {2}, {0}}))
	}
	if err != nil {
		panic(err)
	}
	return model, cities
}

// Rows are created for the keys that are trained.
func ExampleEmbedding_dynamic() {
	model, cities := trainedCities()
	y, err := model.PredictRows(context.Background(), data.Arrays([][]string{{"berlin"}, {"quito"}}, nil))
	fmt.Println(cities.Table().Stats().Rows, y[0][0] > 1, y[1][0], err)
	// Output: 3 true 1 <nil>
}

// A plain embedding with a vocabulary, for Keras and for export.
func ExamplePlainTable() {
	_, cities := trainedCities()
	plain, err := cities.Plain()
	fmt.Println(plain.Texts, plain.Embedding.InputDim, layers.ClassName(plain.Lookup), err)
	// Output: [berlin oslo rome] 4 StringLookup <nil>
}

// Each key is looked up once, whatever the batch repeats.
func ExampleBatchKeys() {
	users := &layers.Embedding{Name: "users", OutputDim: 2, Dynamic: true}
	keys, err := users.Keys(layers.HostInts([]int64{7, -1, 7}))
	fmt.Println(keys.Keys, keys.Places, err)
	fmt.Println(keys.Gather([]float32{1, 2, 3, 4}, 2))
	// Output:
	// [-1 7] [1 0 1] <nil>
	// [3 4 1 2 3 4]
}

// What a weights file contains for a dynamic embedding.
func ExampleTableKeeper() {
	_, cities := trainedCities()
	arrays, err := cities.TableArrays()
	fmt.Println(arrays["rows/keys"].Type, arrays["rows/values"].Type, err)
	// Output: int64[3] float32[3 1] <nil>
}
