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
		fmt.Println(batch.X.Single().Elements(), err)
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
	fmt.Println(table.Columns, table.X.Shape(), table.Y.Elements(), table.Classes)
	// Output: [width height] [3 2] [0 1 0] [cat dog]
}

func ExampleImageDataset() {
	images, err := data.ImageDatasetFromDirectory("testdata/images", 8, 8, data.ImageBatchSize(2), data.ImagesInOrder())
	if err != nil {
		fmt.Println(err)
		return
	}
	for batch, err := range images.Batches(context.Background(), 0) {
		fmt.Println(batch, err)
		break
	}
	// Output: x float32[2 8 8 3], y int32[2] <nil>
}

func ExampleTextDataset() {
	texts, err := data.TextDatasetFromDirectory("testdata/texts", data.ImageBatchSize(1), data.ImagesInOrder(), data.MaxLength(5))
	if err != nil {
		fmt.Println(err)
		return
	}
	for batch, err := range texts.Batches(context.Background(), 0) {
		words, _, _ := data.Strings(batch.X.Single())
		fmt.Println(len(words), len(words[0]) <= 5, err)
		break
	}
	// Output: 1 true <nil>
}

// powers are batches that are computed when they are asked for.
type powers struct{}

func (powers) Len() int { return 3 }

func (powers) At(_ context.Context, i int) (data.Batch, error) {
	x, err := data.ToArray([]float32{float32(i), float32(i * i)})
	return data.Batch{X: data.List(x)}, err
}

func ExampleSequence() {
	for batch, err := range data.FromSequence(powers{}, 2, 0).Batches(context.Background(), 0) {
		fmt.Println(batch.X.Single().Elements(), err)
	}
	// Output:
	// [0 0] <nil>
	// [1 1] <nil>
	// [2 4] <nil>
}

// A pass hands out batches for as long as the consumer wants to keep them.
func ExamplePass() {
	pass := data.Arrays([]float32{1, 2, 3}, nil).Loader(2, false, 0).Start(context.Background(), 0)
	defer pass.Close()
	batch, err := pass.Next()
	fmt.Println(batch.X.Single().Elements(), err)
	pass.Done(batch)
	// Output: [1 2] <nil>
}

// Rows are gathered in memory of the program's.
func ExamplePlace() {
	memory := make([]byte, 8)
	place := data.Place(func(batch *data.Batch) {
		if len(batch.X.Arrays) > 0 { // it knows its types from the batch before
			batch.X.Arrays[0].Data = memory
		}
	})
	loader := data.Arrays([]float32{1, 2, 3, 4, 5, 6, 7, 8}, nil).Loader(2, false, 0, place)
	for _, err := range loader.Batches(context.Background(), 0) {
		if err != nil {
			fmt.Println(err)
		}
	}
	last, err := data.ArrayOf(memory, 8)
	fmt.Println(last.Elements(), err)
	// Output: [0 0 224 64 0 0 0 65] <nil>
}

// The next batch is looked at while the loop works on the one before.
func ExamplePrepare() {
	look := data.Prepare(func(batch *data.Batch) {
		for i, v := range data.Values[float32](batch.X.Single()) {
			if v < 0 {
				fmt.Println("a negative number at", i)
			}
		}
	})
	for _, err := range data.Arrays([]float32{1, -2}, nil).Loader(2, false, 0, look).Batches(context.Background(), 0) {
		fmt.Println("a batch", err)
	}
	// Output:
	// a negative number at 1
	// a batch <nil>
}
