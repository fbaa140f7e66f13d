package data_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
)

func TestClassLabels(t *testing.T) {
	l := data.ClassLabelsOf([]string{"dog", "cat", "dog", "ape"})
	require.Equal(t, []string{"ape", "cat", "dog"}, l.Names())
	y, err := l.Encode([]string{"dog", "ape"})
	require.NoError(t, err)
	require.Equal(t, []int32{2, 0}, y)
	_, err = l.Encode([]string{"dog", "cow"})
	require.ErrorContains(t, err, `value 1 is "cow"`)
	names, err := l.Decode(data.Must(data.ArrayOf([]float32{0.1, 0.7, 0.2, 0.5, 0, 0.5}, 2, 3)))
	require.NoError(t, err)
	require.Equal(t, []string{"cat", "ape"}, names)
	_, err = l.Decode(data.Must(data.ArrayOf([]float32{1, 2, 3, 4}, 2, 2)))
	require.ErrorContains(t, err, "2 numbers for each example")

	two, err := data.NewClassLabels("no", "yes")
	require.NoError(t, err)
	names, err = two.Decode(data.Must(data.ArrayOf([]float64{0.5, 0.51, 0}, 3, 1)))
	require.NoError(t, err)
	require.Equal(t, []string{"no", "yes", "no"}, names)
	_, err = data.NewClassLabels("a", "b", "a")
	require.ErrorContains(t, err, `"a" is class 0 and class 2`)
	_, err = data.NewClassLabels()
	require.Error(t, err)
}

func TestRows(t *testing.T) {
	rows, err := data.Rows[int](data.Must(data.ArrayOf([]float32{1.9, -2, 3, 4, 5, 6, 7, 8}, 2, 2, 2)))
	require.NoError(t, err)
	require.Equal(t, [][]int{{1, -2, 3, 4}, {5, 6, 7, 8}}, rows)
	flags, err := data.Rows[float64](data.Must(data.ArrayOf([]bool{true, false, true}, 3)))
	require.NoError(t, err)
	require.Equal(t, [][]float64{{1}, {0}, {1}}, flags)
	_, err = data.Rows[float64](data.Array{})
	require.Error(t, err)
}

func ExampleClassLabels() {
	labels := data.ClassLabelsOf([]string{"rose", "lily", "rose"})
	y, err := labels.Encode([]string{"rose", "lily"})
	fmt.Println(labels.Names(), y, err)
	// Output: [lily rose] [1 0] <nil>
}

func ExampleRows() {
	rows, err := data.Rows[float64](data.Must(data.ArrayOf([]int32{1, 2, 3, 4}, 2, 2)))
	fmt.Println(rows, err)
	// Output: [[1 2] [3 4]] <nil>
}
