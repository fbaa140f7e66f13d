package data_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
)

func TestPadSequencesIsThatOfKeras(t *testing.T) {
	sequences := [][]int{{1}, {2, 3}, {4, 5, 6}, {}}
	cases := kerasUtilities(t).Pad
	require.Len(t, cases, 24)
	for _, c := range cases {
		a := c.Arguments
		d, err := data.PadSequences(sequences, data.MaxLen(a.MaxLen), data.Padding(a.Padding), data.Truncating(a.Truncating), data.PadValue(a.Value))
		require.NoError(t, err)
		want, err := data.ToArray(c.Result)
		require.NoError(t, err)
		assert.Equal(t, want.Elements(), d.Elements(), "%+v", a)
		assert.Equal(t, shapeOf(want), shapeOf(d))
	}
}

type degrees float32

func TestPadSequencesTypes(t *testing.T) {
	for _, c := range []struct {
		pad  func() (any, error)
		want any
	}{
		{func() (any, error) { d, err := data.PadSequences([][]float32{{.5}, {}}); return d.Elements(), err }, []float32{.5, 0}},
		{func() (any, error) { d, err := data.PadSequences([][]degrees{{.5}, {}}); return d.Elements(), err }, []float32{.5, 0}},
		{func() (any, error) { d, err := data.PadSequences([][]float64{{.1}, {}}); return d.Elements(), err }, []float64{.1, 0}},
		{func() (any, error) { d, err := data.PadSequences([][]uint8{{200}, {}}); return d.Elements(), err }, []int32{200, 0}},
		{func() (any, error) {
			d, err := data.PadSequences([][]int64{{math.MinInt32}, {}})
			return d.Elements(), err
		}, []int32{math.MinInt32, 0}},
	} {
		got, err := c.pad()
		require.NoError(t, err)
		assert.Equal(t, c.want, got)
	}
	_, err := data.PadSequences([][]int64{{1}, {2, math.MaxInt32 + 1}})
	require.ErrorContains(t, err, "sequence 1 holds 2147483648")
	_, err = data.PadSequences([][]uint32{{math.MaxUint32}})
	require.ErrorContains(t, err, "sequence 0 holds 4294967295")
	_, err = data.PadSequences([][]uint64{{math.MaxUint64}})
	require.ErrorContains(t, err, "sequence 0 holds")
}

func TestPadSequencesRejects(t *testing.T) {
	for want, options := range map[string][]data.PadOption{
		"MaxLen is -1":          {data.MaxLen(-1)},
		`Padding is "left"`:     {data.Padding("left")},
		`Truncating is "right"`: {data.Truncating("right")},
	} {
		_, err := data.PadSequences([][]int{{1}}, options...)
		require.ErrorContains(t, err, want)
	}
	_, err := data.PadSequences([][]int{})
	require.ErrorContains(t, err, "no sequences")
	_, err = data.PadSequences([][]int{{}, {}})
	require.ErrorContains(t, err, "all 2 sequences are empty")
}

func ExamplePadSequences() {
	sequences := [][]int{{1}, {2, 3}, {4, 5, 6}}
	d, err := data.PadSequences(sequences)
	fmt.Println(d.Shape(), d.Elements(), err)
	d, err = data.PadSequences(sequences, data.MaxLen(2), data.Padding(data.Post))
	fmt.Println(d.Shape(), d.Elements(), err)
	// Output:
	// [3 3] [0 0 1 0 2 3 4 5 6] <nil>
	// [3 2] [1 0 2 3 5 6] <nil>
}
