package data_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
)

// size reads a size as Keras does: a number below 1 is a fraction.
func size(v *float64) data.SplitSize {
	switch {
	case v == nil:
		return data.Rest
	case *v < 1:
		return data.Fraction(*v)
	default:
		return data.Count(int(*v))
	}
}

func TestSplitDatasetIsThatOfKeras(t *testing.T) {
	cases := kerasUtilities(t).Split
	require.Len(t, cases, 9)
	for _, c := range cases {
		left, right, err := data.SplitDataset(data.Arrays(upTo(10), nil), size(c.LeftSize), size(c.RightSize))
		require.NoError(t, err)
		assert.Equal(t, c.Left, left.All().X.Single().Elements())
		assert.Equal(t, c.Right, right.All().X.Single().Elements())
	}
}

func TestSplitDatasetShuffles(t *testing.T) {
	source := pairs(50)
	left, right, err := data.SplitDataset(source, data.Count(30), data.Rest, data.ShuffleBeforeSplit(1))
	require.NoError(t, err)
	a, b := orderOf(t, left.All()), orderOf(t, right.All())
	assert.Len(t, a, 30)
	assert.False(t, slices.IsSorted(a))
	all := append(slices.Clone(a), b...)
	slices.Sort(all)
	assert.Equal(t, upTo(50), all)

	train, test, err := data.TrainTestSplit(source, 0.2, 1)
	require.NoError(t, err)
	assert.Equal(t, 40, train.N())
	assert.Equal(t, append(slices.Clone(a), b...), append(orderOf(t, train.All()), orderOf(t, test.All())...), "the same seed, the same order")
	_, other, err := data.TrainTestSplit(source, 0.2, 2)
	require.NoError(t, err)
	assert.NotEqual(t, orderOf(t, test.All()), orderOf(t, other.All()))
}

func TestSplitDatasetRejects(t *testing.T) {
	source := data.Arrays(upTo(10), nil)
	for want, sizes := range map[string][2]data.SplitSize{
		"both sides are Rest":             {data.Rest, data.Rest},
		"left: Count(0) of 10":            {data.Count(0), data.Rest},
		"right: Count(10) of 10":          {data.Rest, data.Count(10)},
		"left: Fraction(1)":               {data.Fraction(1), data.Rest},
		"left: Fraction(0)":               {data.Fraction(0), data.Rest},
		"left: Fraction(NaN)":             {data.Fraction(math.NaN()), data.Rest},
		"Fraction(0.01) and Rest of 10":   {data.Fraction(.01), data.Rest},
		"Count(6) and Count(5) of 10 exa": {data.Count(6), data.Count(5)},
	} {
		_, _, err := data.SplitDataset(source, sizes[0], sizes[1])
		require.ErrorContains(t, err, "data: SplitDataset: ", want)
		assert.ErrorContains(t, err, want)
	}
	_, _, err := data.TrainTestSplit(data.Arrays(nil, nil), .5, 0)
	require.ErrorContains(t, err, "x is nil")
	_, _, err = data.TrainTestSplit(source, 0, 0)
	require.ErrorContains(t, err, "data: TrainTestSplit: the test fraction is 0; expected one between 0 and 1")
	_, _, err = data.TrainTestSplit(source, math.NaN(), 0)
	require.ErrorContains(t, err, "data: TrainTestSplit: the test fraction is NaN")
}

func ExampleSplitDataset() {
	source := data.Arrays([]float32{0, 1, 2, 3, 4}, nil)
	left, right, err := data.SplitDataset(source, data.Fraction(0.8), data.Rest)
	fmt.Println(left.N(), right.N(), err)
	// Output: 4 1 <nil>
}
