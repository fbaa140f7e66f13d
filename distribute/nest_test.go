package distribute_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Variables are arguments like others: two of one name and type are two.
func TestNestFunctionArguments(t *testing.T) {
	s := mirrored(t, 2)
	named := func(value float64) *distribute.Variable {
		v, err := distribute.Scope(s).NewVariable(distribute.VariableSpec{Name: "v", DType: ir.Float32})
		require.NoError(t, err)
		require.NoError(t, v.Assign(array(t, ir.Float32, nil, value)))
		return v
	}
	f := distribute.NewNestFunction(s, func(r *distribute.Replica, args ...any) any {
		return ops.AddScalar(r.Read(args[0].(*distribute.Variable)), float64(args[1].(int)))
	})
	defer f.Close()
	a, b := named(1), named(2)
	for _, c := range []struct {
		v    *distribute.Variable
		add  int
		want float64
	}{{a, 10, 11}, {b, 10, 12}, {a, 20, 21}, {a, 10, 11}} {
		got, err := f.Run(t.Context(), c.v, c.add)
		require.NoError(t, err)
		require.Equal(t, []float64{c.want, c.want}, flat(got.(distribute.PerReplica)))
	}
	_, err := f.Run(t.Context(), distribute.PerReplica{array(t, ir.Float32, nil, 1), array(t, ir.Float32, nil, 1), array(t, ir.Float32, nil, 1)}, 1)
	require.ErrorContains(t, err, "received 3 values; expected one for each of the 2 replicas")
}

// A structure of other things than values cannot be reduced or gathered.
func TestStructureMistakes(t *testing.T) {
	s := mirrored(t, 2)
	x := distribute.PerReplica{array(t, ir.Float32, ir.Shape{1}, 1), array(t, ir.Float32, ir.Shape{1}, 2)}
	got, err := distribute.GatherStructure(s, map[string]any{"x": x}, 0)
	require.NoError(t, err)
	require.Equal(t, []float64{1, 2}, got.(map[string]any)["x"].(kernels.Array).Float64s())
	_, err = distribute.GatherStructure(s, []any{"text"}, 0)
	require.ErrorContains(t, err, `the structure has a string at "[0]"`)
	_, err = s.Reduce(distribute.OnlyFirstReplica, x)
	require.ErrorContains(t, err, "use Sum or Mean")
	for _, n := range []int{0, 3} {
		_, err = s.Reduce(distribute.Sum, make(distribute.PerReplica, n))
		require.ErrorContains(t, err, "expected one for each of the 2 replicas")
	}
	_, err = s.Gather(nil, 0)
	require.ErrorContains(t, err, "received 0 values")
}

// What UpdateNonSlot computes comes back from every replica.
func TestUpdateNonSlot(t *testing.T) {
	e := mirrored(t, 2).Extended()
	got, err := e.UpdateNonSlot(t.Context(), func(_ *distribute.Replica, args ...*ops.Tensor) *ops.Tensor { return ops.AddScalar(args[0], 1) },
		distribute.PerReplica{array(t, ir.Float32, nil, 1), array(t, ir.Float32, nil, 5)})
	require.NoError(t, err)
	require.Equal(t, []float64{2, 6}, flat(got))
	other, err := distribute.Scope(distribute.Default()).NewVariable(distribute.VariableSpec{Name: "w", DType: ir.Float32})
	require.NoError(t, err)
	_, err = e.ColocateVarsWith(other)
	require.ErrorContains(t, err, "variable w (made at distribute/nest_test.go:")
	_, err = e.Update(t.Context(), other, func(*distribute.Component, ...*ops.Tensor) *ops.Tensor { return nil })
	require.ErrorContains(t, err, "cannot be used under another strategy")
	_, err = e.ReduceTo(distribute.Sum, nil, distribute.ToDevices())
	require.ErrorContains(t, err, "name at least one")
}
