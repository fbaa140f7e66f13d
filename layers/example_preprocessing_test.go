package layers_test

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

func ExampleCategoryEncoding() {
	show(&layers.CategoryEncoding{NumTokens: 4}, in(ir.Shape{2, 2}, 0, 2, 3, 3))
	show(&layers.CategoryEncoding{NumTokens: 4, OutputMode: layers.CountMode}, in(ir.Shape{1, 3}, 1, 3, 3))
	// Output:
	// (2, 4) [1 0 1 0 0 0 0 1]
	// (1, 4) [0 1 0 2]
}

func ExampleDiscretization() {
	show(&layers.Discretization{BinBoundaries: []float64{0, 1, 2}}, in(ir.Shape{1, 4}, -1.5, 1, 3.4, 0.5))
	// Output: (1, 4) [0 2 3 1]
}

func ExampleDiscretization_Adapt() {
	ages, err := kernels.FromFloat64s(ir.Float32, ir.Shape{8}, []float64{3, 18, 22, 25, 31, 44, 61, 80})
	if err != nil {
		panic(err)
	}
	bins := &layers.Discretization{NumBins: 4}
	if err := bins.Adapt(ages); err != nil {
		panic(err)
	}
	fmt.Println(bins.BinBoundaries)
	// Output: [18 25 44]
}

func ExampleIntegerLookup() {
	show(&layers.IntegerLookup{Vocabulary: []int{12, 36, 1138}}, in(ir.Shape{1, 4}, 1138, 12, 7, 36))
	// Output: (1, 4) [3 1 0 2]
}

func ExampleStringLookup() {
	colours := &layers.StringLookup{Vocabulary: []string{"red", "green", "blue"}}
	y, err := colours.Transform(layers.HostStrings([]string{"blue", "mauve", "red"}))
	fmt.Println(y.Ints, err)
	// Output: [3 0 1] <nil>
}

func ExampleStringLookup_Adapt() {
	pets := &layers.StringLookup{OutputMode: layers.MultiHotMode}
	if err := pets.Adapt(layers.HostStrings([]string{"cat", "dog", "cat", "bird"})); err != nil {
		panic(err)
	}
	fmt.Println(pets.GetVocabulary(true))
	// Output: [[UNK] cat dog bird]
}

func ExampleTextVectorization() {
	words := &layers.TextVectorization{OutputSequenceLength: 4}
	if err := words.Adapt(layers.HostStrings([]string{"The cat sat.", "The cat ran!"})); err != nil {
		panic(err)
	}
	fmt.Println(words.GetVocabulary(false))
	y, err := words.Transform(layers.HostStrings([]string{"A cat sat", "the the"}))
	fmt.Println(y.Shape, y.Ints, err)
	// Output:
	// [the cat sat ran]
	// [2 4] [1 3 4 0 2 2 0 0] <nil>
}

func ExampleHashing() {
	y, err := (&layers.Hashing{NumBins: 3}).Transform(layers.HostStrings([]string{"A", "B", "C", "D", "E"}))
	fmt.Println(y.Ints, err)
	// Output: [1 0 1 1 2] <nil>
}

func ExampleHashedCrossing() {
	y, err := (&layers.HashedCrossing{NumBins: 5}).Transform(
		layers.HostStrings([]string{"A", "B", "A", "B", "A"}), layers.HostInts([]int64{101, 101, 101, 102, 102}))
	fmt.Println(y.Ints, err)
	// Output: [1 4 1 1 3] <nil>
}

func ExampleHostArray() {
	fmt.Println(layers.HostStrings([]string{"a", "b", "c", "d"}, 2, 2).Shape)
	// Output: [2 2]
}

func ExampleResizing() {
	show(&layers.Resizing{Height: 1, Width: 4}, in(ir.Shape{1, 1, 2, 1}, 0, 8))
	// Output: (1, 1, 4, 1) [0 2 6 8]
}

func ExampleCenterCrop() {
	show(&layers.CenterCrop{Height: 1, Width: 2}, in(ir.Shape{1, 3, 4, 1}))
	// Output: (1, 1, 2, 1) [6 7]
}

func ExampleRandomFlip() {
	train(&layers.RandomFlip{Mode: "horizontal"}, in(ir.Shape{3, 1, 3, 1}, 1, 2, 3, 1, 2, 3, 1, 2, 3))
	show(&layers.RandomFlip{Mode: "horizontal"}, in(ir.Shape{1, 1, 3, 1}))
	// Output:
	// (3, 1, 3, 1) [1 2 3 3 2 1 1 2 3]
	// (1, 1, 3, 1) [1 2 3]
}

func ExampleRandomRotation() {
	train(&layers.RandomRotation{Factor: []float64{0.25, 0.25}}, in(ir.Shape{1, 2, 2, 1}))
	// Output: (1, 2, 2, 1) [2 4 1 3]
}

func ExampleRandomZoom() {
	train(&layers.RandomZoom{HeightFactor: []float64{-0.5, -0.5}}, in(ir.Shape{1, 1, 3, 1}, 0, 4, 8))
	// Output: (1, 1, 3, 1) [2 4 6]
}

func ExampleRandomTranslation() {
	train(&layers.RandomTranslation{HeightFactor: []float64{0}, WidthFactor: []float64{0.5, 0.5}, FillMode: "wrap"}, in(ir.Shape{1, 1, 4, 1}))
	// Output: (1, 1, 4, 1) [3 4 1 2]
}

func ExampleRandomCrop() {
	train(&layers.RandomCrop{Height: 1, Width: 2}, in(ir.Shape{1, 2, 3, 1}))
	// Output: (1, 1, 2, 1) [4 5]
}

func ExampleRandomContrast() {
	train(&layers.RandomContrast{Factor: []float64{1, 1}}, in(ir.Shape{1, 1, 3, 1}, 0, 100, 200))
	show(&layers.RandomContrast{Factor: []float64{1, 1}}, in(ir.Shape{1, 1, 3, 1}, 0, 100, 200))
	// Output:
	// (1, 1, 3, 1) [0 100 255]
	// (1, 1, 3, 1) [0 100 200]
}

func ExampleRandomBrightness() {
	train(&layers.RandomBrightness{Factor: []float64{0.5, 0.5}, ValueRange: []float64{0, 1}}, in(ir.Shape{1, 1, 2, 1}, 0.25, 0.75))
	// Output: (1, 1, 2, 1) [0.75 1]
}
