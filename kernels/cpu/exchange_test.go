package cpu

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Buffers exchange memory. Borrowed memory goes back first.
func TestExchange(t *testing.T) {
	typ := ir.Type{DType: ir.Uint8, Shape: ir.Shape{3}}
	a, b := newBuffer(kernels.Device{Kind: "cpu"}, typ), newBuffer(kernels.Device{Kind: "cpu"}, typ)
	require.NoError(t, a.Write([]byte{1, 2, 3}))
	require.NoError(t, b.Write([]byte{4, 5, 6}))
	memory := &a.Bytes()[0]
	require.NoError(t, a.Exchange(b))
	require.Equal(t, []byte{4, 5, 6}, a.Bytes())
	require.Equal(t, []byte{1, 2, 3}, b.Bytes())
	require.Same(t, memory, &b.Bytes()[0], "nothing is copied")
	require.NoError(t, a.Borrow([]byte{7, 8, 9}))
	require.NoError(t, a.Exchange(b))
	require.Equal(t, []byte{1, 2, 3}, a.Bytes())
	require.Equal(t, []byte{4, 5, 6}, b.Bytes())
	other := newBuffer(kernels.Device{Kind: "cpu"}, ir.Type{DType: ir.Uint8, Shape: ir.Shape{4}})
	require.ErrorContains(t, a.Exchange(other), "cannot be exchanged")
}
