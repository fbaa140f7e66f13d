//go:build linux

package cuda

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Memory that was freed serves allocations of other sizes too.
func TestFreedMemoryIsUsedAgain(t *testing.T) {
	b := on(t, fakedriver.New(fakedriver.Options{Memory: 1 << 20}))
	take := func(bytes int) (kernels.Buffer, error) {
		return b.NewBuffer(kernels.Device{Kind: Kind}, ir.Type{DType: ir.Uint8, Shape: ir.Shape{bytes}})
	}
	for _, bytes := range []int{600 << 10, 700 << 10, 800 << 10} {
		x, err := take(bytes)
		require.NoError(t, err)
		x.Free()
	}
	x, err := take(600 << 10)
	require.NoError(t, err)
	defer x.Free()
	_, err = take(500 << 10)
	var full *OutOfMemoryError
	require.ErrorAs(t, err, &full)
	assert.EqualValues(t, 600<<10, full.Used)
}

// What is large is copied in pieces, through little memory that does not move.
func TestPieces(t *testing.T) {
	defer func(n int) { pieceBytes = n }(pieceBytes)
	pieceBytes = minBlock
	f := fakedriver.New(fakedriver.Options{})
	b := on(t, f)
	for _, n := range []int{1, minBlock - 1, minBlock, minBlock + 1, 2 * minBlock, 7*minBlock + 5} {
		x, err := b.NewBuffer(kernels.Device{Kind: Kind}, ir.Type{DType: ir.Uint8, Shape: ir.Shape{n}})
		require.NoError(t, err)
		data := make([]byte, n)
		for i := range data {
			data[i] = byte(i * 31 >> 3)
		}
		require.NoError(t, x.Write(data))
		got := make([]byte, n)
		require.NoError(t, x.Read(got))
		require.Equal(t, data, got, "%d bytes", n)
		clear(got)
		require.NoError(t, x.Download(got).Wait(t.Context()), "in one piece, as of now")
		require.Equal(t, data, got, "%d bytes", n)
		x.Free()
	}
	calls := f.Calls()
	assert.LessOrEqual(t, calls["cuMemHostAlloc"]-calls["cuMemFreeHost"], 4, "blocks that are kept")
	for _, h := range b.devices[0].idle {
		assert.LessOrEqual(t, len(h.memory), pieceBytes, "large blocks are given back")
	}
}

// A piece is not overwritten while the device is behind.
func TestPiecesWait(t *testing.T) {
	defer func(n int) { pieceBytes = n }(pieceBytes)
	pieceBytes = minBlock
	f := fakedriver.New(fakedriver.Options{})
	b := on(t, f)
	x, err := b.NewBuffer(kernels.Device{Kind: Kind}, ir.Type{DType: ir.Uint8, Shape: ir.Shape{9 * minBlock}})
	require.NoError(t, err)
	defer x.Free()
	data := make([]byte, 9*minBlock)
	for i := range data {
		data[i] = byte(i / minBlock)
	}
	gate, over := make(chan struct{}), make(chan error)
	require.Zero(t, f.Foreign(b.devices[0].Stream, 0, "other", func() error { <-gate; return nil }))
	waits := f.Calls()["cuEventSynchronize"]
	go func() { over <- x.Write(data) }()
	for f.Calls()["cuEventSynchronize"] == waits && err == nil {
		select {
		case err = <-over:
			close(gate)
			require.Fail(t, "everything was copied out of two pieces, and the device has done nothing")
		default:
		}
	}
	close(gate)
	require.NoError(t, <-over)
	got := make([]byte, len(data))
	require.NoError(t, x.Read(got))
	require.Equal(t, data, got)
}
