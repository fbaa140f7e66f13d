package features_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras/features"
)

func ExampleSpace() {
	table := map[string]any{"age": []float32{16, 32, 48}, "job": []string{"cook", "smith", "cook"}}
	space, err := features.New(map[string]features.Feature{"age": features.FloatRescaled(0.015625, 0), "job": features.StringCategorical()})
	if err != nil {
		log.Fatal(err)
	}
	if err := space.Adapt(context.Background(), data.Arrays(table, nil)); err != nil {
		log.Fatal(err)
	}
	rows, err := space.Encode(context.Background(), table)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(space.ResultNames(), rows.Single().Shape(), rows.Single().Elements())
	// Output: [age job] [3 4] [0.25 0 1 0 0.5 0 0 1 0.75 0 1 0]
}

func ExampleFeature() {
	f := features.IntegerHashed(8).As(features.IntMode)
	fmt.Println(f.DType, f.OutputMode)
	// Output: int32 int
}

func ExampleCross() {
	c := features.Cross{Features: []string{"job", "zip"}, Bins: 32}
	fmt.Println(c.Name())
	// Output: job_X_zip
}

func ExampleOption() {
	space, err := features.New(map[string]features.Feature{"a": features.StringHashed(4), "b": features.IntegerHashed(4)},
		features.Crosses(16, []string{"a", "b"}), features.AsDict())
	fmt.Println(space.ResultNames(), err)
	// Output: [a b a_X_b] <nil>
}
