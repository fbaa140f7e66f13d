package optimizers_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/vectors"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/optimizers"
)

// array returns a value in host memory.
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

// variable makes a weight with the given value.
func variable(t testing.TB, name string, value kernels.Array) *distribute.Variable {
	t.Helper()
	v := distribute.NewVariable(distribute.VariableSpec{Name: name, Shape: value.Type.Shape, DType: value.Type.DType})
	require.NoError(t, v.SetValue(value))
	return v
}

// valueOf returns the elements of a variable.
func valueOf(t testing.TB, v *distribute.Variable) []float64 {
	t.Helper()
	a, err := v.Value()
	require.NoError(t, err)
	return a.Float64s()
}

// trainer runs steps of an optimizer with gradients from host memory.
type trainer struct {
	t        testing.TB
	strategy distribute.Strategy
	inst     *distribute.Instance
}

// newTrainer compiles a step. nil entries of present are weights without a gradient; nil stands for all present.
func newTrainer(t testing.TB, s distribute.Strategy, o optimizers.Optimizer, weights distribute.Variables, missing ...int) *trainer {
	t.Helper()
	tr, err := tryTrainer(s, o, weights, missing...)
	require.NoError(t, err)
	tr.t = t
	return tr
}

func tryTrainer(s distribute.Strategy, o optimizers.Optimizer, weights distribute.Variables, missing ...int) (*trainer, error) {
	f := distribute.NewFunction(s, "step", func(r *distribute.Replica, in []*ops.Tensor) []*ops.Tensor {
		grads := append([]*ops.Tensor{}, in...)
		for _, i := range missing {
			grads[i] = nil
		}
		o.Apply(r, ops.Gradients{Of: weights, Values: grads})
		return nil
	})
	n := s.NumReplicasInSync()
	types := make([][]ir.Type, n)
	for i := range types {
		for _, w := range weights {
			types[i] = append(types[i], w.Type())
		}
	}
	inst, err := f.Acquire(types, make([]int, n))
	return &trainer{strategy: s, inst: inst}, err
}

// step runs one step; grads[replica][weight].
func (tr *trainer) step(grads ...[]kernels.Array) {
	tr.t.Helper()
	for i, list := range grads {
		for j, g := range list {
			require.NoError(tr.t, tr.inst.Input(i, j).Write(g.Data))
		}
	}
	require.NoError(tr.t, tr.inst.Run(context.Background(), 0, 0))
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
