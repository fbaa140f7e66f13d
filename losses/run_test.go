package losses_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/testdevice"
	"github.com/gokeras/gokeras/internal/vectors"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// array returns a value for the inputs of a function.
func array(t testing.TB, d ir.DType, shape []int, values ...float64) kernels.Array {
	t.Helper()
	a, err := kernels.FromFloat64s(d, shape, values)
	require.NoError(t, err)
	return a
}

func fromVector(t testing.TB, a vectors.Array) kernels.Array {
	t.Helper()
	d, err := ir.ParseDType(a.DType)
	require.NoError(t, err)
	return array(t, d, a.Shape, a.Data...)
}

// runOne traces f and runs it once on one replica.
func runOne(t testing.TB, f distribute.TraceFunc, inputs ...kernels.Array) []kernels.Array {
	t.Helper()
	out, err := testdevice.CallOne(f, inputs...)
	require.NoError(t, err)
	return out
}

// mirrored returns a strategy of n logical CPU replicas.
func mirrored(t testing.TB, n int) distribute.Strategy {
	t.Helper()
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("cpu:%d", i)
	}
	s, err := distribute.NewMirroredStrategy(names...)
	require.NoError(t, err)
	return s
}

// split cuts inputs along axis 0 into parts of the given sizes.
func split(inputs []kernels.Array, sizes []int) [][]kernels.Array {
	out := make([][]kernels.Array, len(sizes))
	from := 0
	for i, n := range sizes {
		for _, a := range inputs {
			out[i] = append(out[i], a.Slice(from, from+n))
		}
		from += n
	}
	return out
}
