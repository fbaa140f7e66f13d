package cpu

import (
	"hash/crc32"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TestChecksum: however the contents of a buffer change, the checksum follows. Contents that have not changed are not
// read again, unless others know the memory.
func TestChecksum(t *testing.T) {
	typ := ir.Type{DType: ir.Float32, Shape: ir.Shape{5}}
	b, other := newBuffer(kernels.Device{Kind: "cpu"}, typ), newBuffer(kernels.Device{Kind: "cpu"}, typ)
	check := func() {
		t.Helper()
		require.Equal(t, crc32.ChecksumIEEE(b.data), b.Checksum())
		require.Equal(t, crc32.ChecksumIEEE(b.data), b.Checksum())
	}
	check()
	require.NoError(t, b.Write([]byte("12345678901234567890")))
	check()
	require.NoError(t, b.Fill(func(memory []byte) error { memory[3] = 'x'; return nil }))
	check()
	require.NoError(t, b.Exchange(other))
	check()
	require.NoError(t, b.Exchange(other))
	check()
	mine := []byte("abcdefghijklmnopqrst")
	require.NoError(t, b.Borrow(mine))
	check()
	mine[0] = 'z'
	check()
	require.NoError(t, b.Borrow(nil))
	check()
	kept := b.Checksum()
	b.data[0]++ // which nobody does
	require.Equal(t, kept, b.Checksum(), "it is not gone through again")
	b.Bytes()[1]++
	check()
	b.Bytes()[2]++
	check()
}
