package keras

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TestRowMemory: the rows that servers write are the step's input, and the step writes its gradients where they are
// sent from. Both serve the next batches too. Rows that arrived in another way are copied.
func TestRowMemory(t *testing.T) {
	v := &parameters.Variable{Name: "v", Shape: ir.Shape{100, 4}, Width: 4}
	m := &rowMemory{}
	answer := func(ids ...int64) *parameters.Read {
		m.ids = append(m.ids[:0], ids...)
		r := m.read(v)
		r.Values = r.Values[:4*len(r.IDs)]
		for i := range r.Values {
			r.Values[i] = float32(r.IDs[i/4])
		}
		return r
	}
	r := answer(7, 3, 7, 9, 3)
	require.Equal(t, []int64{3, 7, 9}, r.IDs)
	require.Equal(t, []int32{1, 0, 1, 2, 0}, m.distinct.Places)
	in := m.input(r)
	require.True(t, in.lent)
	require.Equal(t, ir.Shape{5, 4}, in.types.Shape, "as many rows as ids, whatever repeats")
	require.Len(t, in.data, 5*4*4)
	require.Same(t, &bytesOfFloats(r.Values)[0], &in.data[0])
	require.Len(t, m.output(v), 5*4)

	rows, grads := m.rows, m.grads
	r = answer(1, 1)
	require.Same(t, rows, m.rows)
	require.Same(t, grads, m.grads)
	require.Len(t, m.input(r).data, 2*4*4)

	r.Values = []float32{1, 1, 1, 1} // in place of what a server may still write
	rows.Spoil()
	in = m.input(r)
	require.False(t, in.lent)
	require.Equal(t, bytesOfFloats([]float32{1, 1, 1, 1, 0, 0, 0, 0}), in.data)
	require.True(t, m.spoiled())

	m.ids = m.ids[:0]
	r = m.read(v)
	require.NotSame(t, rows, m.rows)
	require.False(t, m.spoiled())
	require.NotNil(t, r.IDs, "no rows, not all")
	require.Equal(t, ir.Shape{1, 4}, m.input(r).types.Shape)
	m.close()
}
