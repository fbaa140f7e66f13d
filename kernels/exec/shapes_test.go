package exec

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Bursts of several shapes, one after the other, leave memory for as many instances as ran at the same time, and one
// instance of each shape once they are over.
func TestIdleInstancesOfAllShapes(t *testing.T) {
	f := NewFunction(newPlaced(1), "f", func(_ *Replica, in []*ops.Tensor) []*ops.Tensor { return []*ops.Tensor{ops.Exp(in[0])} })
	defer f.Close()
	burst := func(rows, at int) {
		var out []*Instance
		for range at {
			inst, err := f.Acquire([][]ir.Type{{{DType: ir.Float32, Shape: ir.Shape{rows, 3}}}}, []int{rows})
			require.NoError(t, err)
			out = append(out, inst)
		}
		for _, inst := range out {
			f.Release(inst)
		}
	}
	for rows := 1; rows <= 5; rows++ {
		burst(rows, 8)
		require.Len(t, f.lots.all, 8)
		require.Equal(t, 8*rows, f.shapes.idle)
	}
	for range 3 * lookThrough { // the bursts are over
		for rows := 1; rows <= 5; rows++ {
			burst(rows, 1)
		}
	}
	require.Len(t, f.lots.all, 1)
	require.Equal(t, 5, f.shapes.idle)
	f.shapes.each(func(c *compiled) { require.Len(t, c.idle, 1) })
}

// A function that is closed while instances are out gives its queues back with the last of them, and can still be used.
func TestCloseWhileInstancesAreOut(t *testing.T) {
	s := newPlaced(1)
	v := NewVariable(VariableSpec{Name: "v", Shape: ir.Shape{2, 3}, DType: ir.Float32}, func() Strategy { return s })
	f := NewFunction(s, "f", func(r *Replica, in []*ops.Tensor) []*ops.Tensor {
		r.AssignMirrored(v, in[0])
		return in
	})
	acquire := func() *Instance {
		inst, err := f.Acquire([][]ir.Type{{{DType: ir.Float32, Shape: ir.Shape{2, 3}}}}, []int{2})
		require.NoError(t, err)
		return inst
	}
	for range 2 {
		first, second := acquire(), acquire()
		f.Close()
		f.Release(first)
		require.NotNil(t, f.lane.queues)
		require.NoError(t, second.Run(t.Context(), 0, 0))
		f.Release(second)
		require.Nil(t, f.lane.queues)
	}
}
