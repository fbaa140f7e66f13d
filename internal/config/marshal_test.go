package config_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/config"
)

func TestMarshal(t *testing.T) {
	for _, row := range []struct {
		value any
		want  string
	}{
		{0.0, "0.0"}, {-3.0, "-3.0"}, {0.1, "0.1"}, {1e-7, "1e-07"}, {1e30, "1e+30"}, {float32(0.1), "0.1"},
		{7, "7"}, {int64(-2), "-2"}, {true, "true"}, {nil, "null"}, {"a\"b", `"a\"b"`},
		{math.Inf(1), "Infinity"}, {math.Inf(-1), "-Infinity"}, {math.NaN(), "NaN"},
		{[]any{1, 1.0, nil}, "[1,1.0,null]"}, {[][]any{{nil, 2}, {}}, "[[null,2],[]]"},
		{map[string]any{"b": 2.0, "a": map[string]any{}}, `{"a":{},"b":2.0}`},
	} {
		text, err := config.Marshal(row.value)
		require.NoError(t, err)
		assert.Equal(t, row.want, string(text))
	}
	_, err := config.Marshal(map[string]any{"f": []any{func() {}}})
	assert.ErrorContains(t, err, `key "f": element 0`)
}

// rates has defaults that are integers in fields of both kinds.
type rates struct {
	Rate    float64 `keras:"rate,default=1"`
	Limit   *float64
	Strides []int     `keras:"strides,length=2,default=1"`
	Factors []float64 `keras:"factors,default=[1,2]"`
}

func TestDefaultsHaveTheKindOfTheField(t *testing.T) {
	c, err := config.Encode(rates{})
	require.NoError(t, err)
	text, err := config.Marshal(c)
	require.NoError(t, err)
	assert.Equal(t, `{"factors":[1.0,2.0],"rate":1.0,"strides":[1,1]}`, string(text))
}

func ExampleMarshal() {
	text, err := config.Marshal(map[string]any{"momentum": 0.0, "units": 3})
	fmt.Println(string(text), err)
	// Output: {"momentum":0.0,"units":3} <nil>
}
