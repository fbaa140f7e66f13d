package cpu

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TestBindKnownBuffer: an input buffer that the previous run also had is read at its current address, and rejected if
// it has no memory.
func TestBindKnownBuffer(t *testing.T) {
	f, w := newPredictor(t, 1, false), newBuffer(here, ir.Type{DType: ir.Float32, Shape: ir.Shape{75, 70}})
	require.NoError(t, w.Write(float32s(75*70)))
	first := f.run(w)
	other := newBuffer(here, f.x.typ)
	require.NoError(t, f.x.Exchange(other)) // zeros now
	require.NotEqual(t, first, f.run(w))
	require.NoError(t, f.x.Borrow(other.data))
	require.Equal(t, first, f.run(w))
	f.x.Free()
	require.ErrorContains(t, f.e.Run(context.Background(), []kernels.Buffer{f.x, w}, []kernels.Buffer{f.y}), "input 0")
	require.ErrorContains(t, f.e.Run(context.Background(), []kernels.Buffer{w, w}, []kernels.Buffer{f.y}), "input 0")
	require.ErrorContains(t, f.e.Run(context.Background(), []kernels.Buffer{other, nil}, []kernels.Buffer{f.y}), "input 1")
}
