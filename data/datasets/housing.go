package datasets

import (
	"fmt"
	"path/filepath"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/data/internal/randomstate"
)

// Table is a set of examples, each a row of numbers and a number to predict, with a part for training and a part for
// testing.
type Table struct {
	Name        string // "Boston housing"
	Train, Test Rows
	Source      Source
	Path        string // folder of the file
}

// Rows are examples of a Table.
type Rows struct {
	X data.Array // float32 or float64, (n, features)
	Y data.Array // (n)
}

// Arrays returns rows and targets as a source of examples for Fit and Evaluate.
func (r Rows) Arrays() *data.ArraySource { return data.Arrays(r.X, r.Y) }

var bostonFile = collection{"boston-housing", kerasFiles, []published{{name: "boston_housing.npz", sha256: "f553886a1f8d56431e820c5b82552d9d95cfcb96d1e678153f8839538947dff5"}}}

var californiaFile = collection{"california-housing", kerasFiles, []published{{name: "california_housing.npz", sha256: "1a2e3a52e0398de6463aebe6f4a8da34fb21fbb6b934cf88c3425e766f2a1a6f"}}}

// BostonHousing loads 506 rows of 13 numbers about suburbs of Boston and the median price of a house in thousands of
// dollars (D. Harrison and D. Rubinfeld, 1978), in the same parts as in Keras: shuffled with [ShuffleSeed] (113 by
// default) and split, with the share [TestSplit] (0.2 by default) for testing. One of the columns is about the share of
// Black residents; the dataset is for comparing methods, not for studying prices.
//
// The file boston_housing.npz comes from the folder given with [Directory], from the cache folder
// (gokeras/boston-housing in the user's cache folder), or, with [Download], from the servers of Keras.
func BostonHousing(options ...BostonHousingOption) (*Table, error) {
	c, err := configure(options, BostonHousingOption.applyBoston)
	return loadTable("BostonHousing", "Boston housing", &bostonFile, c, err)
}

// CaliforniaHousing loads 20,640 rows of 8 numbers about districts of California (longitude, latitude, age of the
// houses, rooms, bedrooms, population, households, income) and the median price of a house in dollars (R. Pace and R.
// Barry, 1997), in the same parts as in Keras; see [BostonHousing]. With [Small] it loads only the first 600 rows.
func CaliforniaHousing(options ...CaliforniaHousingOption) (*Table, error) {
	c, err := configure(options, CaliforniaHousingOption.applyCalifornia)
	return loadTable("CaliforniaHousing", "California housing", &californiaFile, c, err)
}

const smallTable = 600

// loadTable reads a table; err is that of its options.
func loadTable(what, name string, s *collection, c *config, err error) (*Table, error) {
	var d *Table
	if err == nil {
		d, err = readTable(name, s, c)
	}
	if err != nil {
		return nil, fmt.Errorf("datasets: %s: %w", what, err)
	}
	return d, nil
}

func readTable(name string, s *collection, c *config) (*Table, error) {
	dir, source, err := s.locate(c)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, s.files[0].name)
	arrays, err := data.LoadNPZ(file)
	if err != nil {
		return nil, err
	}
	x, y := arrays.Get("x"), arrays.Get("y")
	if x.IsZero() || y.IsZero() || x.Rank() != 2 || y.Rank() != 1 || x.Shape()[0] != y.Shape()[0] {
		return nil, fmt.Errorf("%s holds %v; expected x (n, features) and y (n)", file, arrays)
	}
	n := x.Shape()[0]
	if c.small {
		n = min(n, smallTable)
	}
	order := permutation(randomstate.New(c.seed), n)
	cut := int(float64(n) * (1 - c.testSplit))
	if cut == 0 || cut == n {
		return nil, fmt.Errorf("a test split of %v leaves a part of the %d rows empty", c.testSplit, n)
	}
	all := data.Arrays(x, y)
	d := &Table{Name: name, Source: source, Path: dir}
	for _, part := range []struct {
		rows  *Rows
		order []int
	}{{&d.Train, order[:cut]}, {&d.Test, order[cut:]}} {
		var b data.Batch
		if err := all.Gather(part.order, &b); err != nil {
			return nil, err
		}
		part.rows.X, part.rows.Y = b.X.Single(), b.Y.Single()
	}
	return d, nil
}

// permutation returns the numbers from 0 to n-1 as NumPy's RandomState.shuffle orders them, so that parts are the same
// as in Keras.
func permutation(r *randomstate.RandomState, n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	r.Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order
}
