package harvest

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/layers"
)

// withoutTypes are functions that testdata/dtypes.json.gz has no case of, and why.
var withoutTypes = map[string]string{
	"average_pool": "JAX refuses it outside of a compiled function", "max_pool": "JAX refuses it outside of a compiled function",
	"elastic_transform": "draws at random", "ndim": "a number of Python", "size": "a number of Python",
	"polar": "makes complex numbers", "view_as_complex": "makes complex numbers",
}

// TestTypesLikeKeras compares the functions of keras.ops with Keras on JAX for operands of every type: types of results
// and numbers.
func TestTypesLikeKeras(t *testing.T) {
	file, err := os.ReadFile("testdata/dtypes.json.gz")
	require.NoError(t, err)
	cases, err := TypeCases(file)
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, c := range cases {
		seen[c.Function] = true
		if err := c.Verdict(context.Background()); err != nil {
			t.Errorf("%s: %v", c.Name(), err)
		}
	}
	for _, name := range layers.OperationNames() {
		assert.True(t, seen[name] != (withoutTypes[name] != ""), "%s: add it to dtypes.py and record again, or say in withoutTypes why not", name)
	}
}

// TestNumbersLikeKeras compares functions of a tensor and a number of Python with Keras on JAX: the number takes the
// type of the tensor, unless it is of a higher kind.
func TestNumbersLikeKeras(t *testing.T) {
	file, err := os.ReadFile("testdata/numbers.json.gz")
	require.NoError(t, err)
	cases, err := TypeCases(file)
	require.NoError(t, err)
	require.Greater(t, len(cases), 1500)
	for _, c := range cases {
		if err := c.Verdict(context.Background()); err != nil {
			t.Errorf("%s: %v", c.Name(), err)
		}
	}
}

// A result whose type or whose numbers are changed must fail.
func TestChangedTypesFail(t *testing.T) {
	file, err := os.ReadFile("testdata/dtypes.json.gz")
	require.NoError(t, err)
	cases, err := TypeCases(file)
	require.NoError(t, err)
	changed := 0
	for _, c := range cases {
		if c.Function != "add" || c.Refused != "" {
			continue
		}
		changed++
		require.NoError(t, c.Check(context.Background()))
		right := c.Results[0]
		c.Results[0].Type = "uint32"
		require.ErrorContains(t, c.Check(context.Background()), "type: result 0", c.Name())
		c.Results[0] = right
		first := right.numbers()[0]
		c.Results[0].Values[0] = 1.125*first + 1
		require.ErrorContains(t, c.Check(context.Background()), "differs", c.Name())
	}
	require.Greater(t, changed, 10)
}
