package data_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
)

func TestTextRoundTrip(t *testing.T) {
	words := [][]string{{"a", "日本", ""}, {"\x00b", "word", " "}}
	d, err := data.Text(append(append([]string{}, words[0]...), words[1]...), 2, 3)
	require.NoError(t, err)
	assert.Equal(t, []int{2, 3, 6}, d.Shape())
	values, shape, err := data.Strings(d)
	require.NoError(t, err)
	assert.Equal(t, []int{2, 3}, shape)
	assert.Equal(t, append(words[0], words[1]...), values)
}

func TestTextIsBatched(t *testing.T) {
	ds := data.FromTensorSlices([]string{"one", "two", "three"}, []float32{1, 2, 3}).Batch(2, false)
	require.NoError(t, ds.Err())
	var got []string
	for b, err := range ds.Batches(t.Context(), 0) {
		require.NoError(t, err)
		values, shape, err := data.Strings(b.X.Single())
		require.NoError(t, err)
		assert.Len(t, shape, 1)
		got = append(got, values...)
	}
	assert.Equal(t, []string{"one", "two", "three"}, got)
}

func TestTextErrors(t *testing.T) {
	for _, c := range []struct {
		v    any
		want string
	}{
		{[]string{}, "is an empty []string"},
		{[][]string{{"a"}, {"b", "c"}}, "is ragged: length 2 on axis 1, but 1 in the first entry"},
		{[]string{"a\x00"}, "string 0 ends in a zero byte"},
		{map[string]any{"in": [][]string{{}}}, `x["in"] is an empty []string`},
		{"a", "expected"},
	} {
		assert.ErrorContains(t, data.Arrays(c.v, nil).Err(), c.want)
	}
	_, _, err := data.Strings(data.Array{})
	assert.ErrorContains(t, err, "zero Array")
	numbers, err := data.ToArray([]float32{1})
	require.NoError(t, err)
	_, _, err = data.Strings(numbers)
	assert.ErrorContains(t, err, "an array of float32 of shape [1]; expected an array of text")
	_, err = data.Text([]string{"a", "b"}, 3)
	assert.ErrorContains(t, err, "received 2 strings for the shape [3]")
}

func ExampleText() {
	d, err := data.Text([]string{"cat", "horse"}, 2, 1)
	fmt.Println(d.Shape(), d.DType(), err)
	values, shape, err := data.Strings(d)
	fmt.Printf("%q %v %v\n", values, shape, err)
	// Output:
	// [2 1 5] uint8 <nil>
	// ["cat" "horse"] [2 1] <nil>
}
