package losses_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/testdevice"
	"github.com/gokeras/gokeras/internal/vectors"
	"github.com/gokeras/gokeras/keras/ops"
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

// run traces f and runs it once on every replica of s, with each replica's inputs; it returns each replica's results.
func run(s distribute.Strategy, f distribute.TraceFunc, inputs [][]kernels.Array) ([][]kernels.Array, error) {
	types, sizes := make([][]ir.Type, len(inputs)), make([]int, len(inputs))
	for i, list := range inputs {
		for _, a := range list {
			types[i] = append(types[i], a.Type)
		}
		sizes[i] = list[0].Type.Shape[0]
	}
	results := 0
	fn := distribute.NewFunction(s, "test", func(r *distribute.Replica, in []*ops.Tensor) []*ops.Tensor {
		out := f(r, in)
		results = len(out)
		return out
	})
	defer fn.Close()
	inst, err := fn.Acquire(types, sizes)
	if err != nil {
		return nil, err
	}
	defer fn.Release(inst)
	for i, list := range inputs {
		for j, a := range list {
			if err := inst.Input(i, j).Write(a.Data); err != nil {
				return nil, err
			}
		}
	}
	if err := inst.Run(context.Background(), 1, 0); err != nil {
		return nil, err
	}
	out := make([][]kernels.Array, len(inputs))
	for i := range inputs {
		for j := range results {
			b := inst.Output(i, j)
			a := kernels.NewArray(b.Type())
			if err := b.Read(a.Data); err != nil {
				return nil, err
			}
			out[i] = append(out[i], a)
		}
	}
	return out, nil
}

// runOne is run on one replica.
func runOne(t testing.TB, f distribute.TraceFunc, inputs ...kernels.Array) []kernels.Array {
	t.Helper()
	out, err := run(testdevice.Strategy(), f, [][]kernels.Array{inputs})
	require.NoError(t, err)
	return out[0]
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
