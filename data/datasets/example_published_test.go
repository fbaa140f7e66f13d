package datasets_test

import (
	"fmt"

	"github.com/gokeras/gokeras/data/datasets"
)

// An existing file is read from its folder; datasets.Download fetches it.
func ExampleBostonHousing() {
	d, err := datasets.BostonHousing(datasets.Directory("testdata")) // eleven made-up rows in the format of the file
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d.Name, d.Train.X.Shape(), d.Test.X.Shape())
	fmt.Println(d.Train.Arrays().All())
	// Output:
	// Boston housing [8 3] [3 3]
	// x float64[8 3], y float64[8]
}

func ExampleIMDB() {
	d, err := datasets.IMDB(datasets.Directory("testdata"), datasets.NumWords(20)) // made-up reviews in the format of the file
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d.Name, len(d.Train.X), len(d.Test.Y))
	fmt.Println(d.Train.X[0], d.Train.Y[0])
	// Output:
	// IMDB 12 9
	// [1 5 2 13 6 2 7 2 5] 0
}
