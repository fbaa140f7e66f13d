package data_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/gokeras/gokeras/data"
)

func ExampleArraySource() {
	s := data.Arrays([][]float32{{1, 2}, {3, 4}, {5, 6}}, []int32{0, 1, 0}, data.SampleWeight([]float32{1, 1, 2}))
	fmt.Println(s.N(), s.All(), s.Err())
	// Output: 3 x float32[3 2], y int32[3], sample_weight float32[3] <nil>
}

// Batches of a loader repeat with their seed.
func ExampleLoader() {
	loader := data.Arrays([]float32{0, 1, 2, 3, 4}, nil).Loader(2, false, 0)
	for batch, err := range loader.Batches(context.Background(), 0) {
		fmt.Println(batch.X.Single().Data(), err)
	}
	// Output:
	// [0 1] <nil>
	// [2 3] <nil>
	// [4] <nil>
}

func ExampleCSV() {
	table, err := data.ReadCSV(strings.NewReader("width,height,kind\n1,2,cat\n3,4,dog\n5,6,cat\n"), data.LabelColumn("kind"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(table.Columns, table.X.Shape(), table.Y.Data(), table.Classes)
	// Output: [width height] (3, 2) [0 1 0] [cat dog]
}
