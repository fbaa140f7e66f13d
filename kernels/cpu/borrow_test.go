package cpu_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TestBorrow: borrowed memory is read in place and never written.
func TestBorrow(t *testing.T) {
	b := newBuffer(t, ir.Uint8, 3).(kernels.Borrower)
	require.NoError(t, b.Write([]byte{1, 2, 3}))
	memory := []byte{4, 5, 6}
	require.NoError(t, b.Borrow(memory))
	assert.Same(t, &memory[0], &b.Bytes()[0])
	assert.ErrorContains(t, b.Borrow([]byte{1}), "3 bytes, received 1")
	require.NoError(t, b.Write([]byte{7, 8, 9}))
	assert.Equal(t, []byte{4, 5, 6}, memory)
	assert.Equal(t, []byte{7, 8, 9}, b.Bytes())
	require.NoError(t, b.Borrow(memory))
	require.NoError(t, b.Borrow(nil))
	assert.Equal(t, []byte{7, 8, 9}, b.Bytes())
}
