package coordinator

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestValuesTravel: each value arrives with its type, whether it goes as it is or in gob.
func TestValuesTravel(t *testing.T) {
	for _, values := range [][]any{
		{}, {nil}, {true, false}, {0, -1, math.MaxInt, math.MinInt}, {int64(0), int64(math.MinInt64)}, {float32(1.5), float32(math.Inf(-1))}, {math.Pi, math.SmallestNonzeroFloat64},
		{"", "text", "\x00"}, {datasetArgument{"data"}, nil, 7}, {[]float32{1, 2}, nil, "text"}, {map[string]any{"a": 1}}, {int32(3)}, {[]any{1, "two"}},
		{map[string][]float64{"a": {1, 2}}}, {map[int64][]float32{-1: {1}}, [][]int64{{1}, {2, 3}}}, {map[string]string{"a": "b"}},
	} {
		b, err := encode("it", append([]any{}, values...)...)
		require.NoError(t, err)
		got, err := decode(b)
		require.NoError(t, err)
		require.Len(t, got, len(values))
		for i := range values {
			require.Equal(t, values[i], got[i])
		}
	}
	b, err := encode("it", math.Copysign(0, -1), math.NaN())
	require.NoError(t, err)
	got, err := decode(b)
	require.NoError(t, err)
	require.True(t, math.Signbit(got[0].(float64)))
	require.True(t, math.IsNaN(got[1].(float64)))
}

// TestCannotTravel: the error of a value that cannot be sent says why and what to do.
func TestCannotTravel(t *testing.T) {
	for text, v := range map[string]any{
		"it has a channel":  []any{make(chan int)},
		"it has a function": func() {},
		"type not registered for interface: struct { X int }; of other types than numbers, texts and slices of them give gob.Register a value when the program begins, in all processes": struct{ X int }{1},
		"cannot encode nil pointer of type *int": (*int)(nil),
	} {
		_, err := encode("the result", v)
		require.ErrorContains(t, err, "coordinator: the result cannot travel: ")
		require.ErrorContains(t, err, text)
	}
}

// FuzzDecode: a broken message is an error, and one that is read is read alike when it is written again.
func FuzzDecode(f *testing.F) {
	for _, values := range [][]any{{1, "text", 2.5, nil, true, float32(1)}, {datasetArgument{"data"}}, {int64(1) << 40}} {
		b, err := encode("it", values...)
		require.NoError(f, err)
		f.Add(b)
		f.Add(b[:len(b)-1])
		f.Add(append(b, 0))
	}
	f.Add([]byte{inPlain, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Add([]byte{inPlain, 1, plainString, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 0 && b[0] == inGob {
			return // gob's own
		}
		values, err := decode(b)
		if err != nil {
			return
		}
		again, err := encode("it", values...)
		require.NoError(t, err)
		twice, err := decode(again)
		require.NoError(t, err)
		require.Len(t, twice, len(values))
	})
}
