//go:build linux

package pjrt_test

import (
	"testing"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/pjrt"
)

// floats are the bytes of four float32, each of them x.
func floats(x byte) []byte {
	return []byte{0, 0, x, 0x40, 0, 0, x, 0x40, 0, 0, x, 0x40, 0, 0, x, 0x40}
}

// A buffer in the host's memory is what any other is to programs and copies, and lies there before and after.
func TestMemories(t *testing.T) {
	b := pjrt.New("memories", plugin(t), pjrt.Option{Name: "cpu_device_count", Value: int64(2)})
	defer func() { require.NoError(t, b.Close()) }()
	d := kernels.Device{Kind: "memories"}
	memories, err := b.Memories(d)
	require.NoError(t, err)
	usual, host := "", ""
	for _, m := range memories {
		require.NotEmpty(t, m.Text)
		require.Contains(t, m.Devices, 0)
		if m.Default {
			require.Empty(t, usual, "one memory is the default")
			usual = m.Kind
		} else {
			host = m.Kind
		}
	}
	require.NotEmpty(t, usual)
	require.NotEmpty(t, host, "the plugin for CPUs has another memory beside that of the device: %v", memories)
	four := ir.Type{DType: ir.Float32, Shape: ir.Shape{4}}
	x, err := b.NewBufferIn(d, four, host)
	require.NoError(t, err)
	require.NoError(t, x.Write(floats(0))) // 2
	require.NoError(t, single(t.Context(), b, d, x))
	got := make([]byte, 16)
	require.NoError(t, x.Read(got))
	require.Equal(t, []byte{0, 0, 0x80, 0x41}, got[:4], "2 doubled three times")
	plain, err := b.NewBuffer(kernels.Device{Kind: "memories", Index: 1}, four)
	require.NoError(t, err)
	near, err := b.NewBuffer(d, four)
	require.NoError(t, err)
	for _, y := range []kernels.Buffer{plain, near} {
		require.NoError(t, y.CopyFrom(x).Wait(t.Context()))
		clear(got)
		require.NoError(t, y.Read(got))
		require.Equal(t, []byte{0, 0, 0x80, 0x41}, got[:4])
	}
	require.NoError(t, near.Write(floats(0x40))) // 3
	require.NoError(t, x.CopyFrom(near).Wait(t.Context()))
	require.NoError(t, x.Read(got))
	require.Equal(t, floats(0x40), got)
	require.ErrorContains(t, x.(interface{ Exchange(kernels.Buffer) error }).Exchange(near), "expected the same type, device and memory")
	_, err = b.NewBufferIn(d, four, "attic")
	require.ErrorContains(t, err, `a buffer in memory "attic" of memories:0: expected one of "`+memories[0].Kind)
	for _, y := range []kernels.Buffer{x, plain, near} {
		y.Free()
	}
}

// A plugin that does not tell memories apart has none to list, and says so to who asks for one.
func TestMemoriesOfOlderPlugins(t *testing.T) {
	f := fake(t)
	var lacks func(entry int64)
	library, err := purego.Dlopen(f.path, purego.RTLD_NOW)
	require.NoError(t, err)
	purego.RegisterLibFunc(&lacks, library, "fake_lacks")
	four, d := ir.Type{DType: ir.Float32, Shape: ir.Shape{4}}, kernels.Device{Kind: "fake"}
	for _, c := range []struct {
		entry    int64
		message  string
		memories int
	}{{304, "does not say which memory programs use", 2}, {296, "does not tell memories apart (interface 0.115)", 0}} {
		f.reset(-1, 0, 115, 0)
		b := pjrt.New("fake", f.path)
		require.NoError(t, b.Open(d)) // which fills the table
		lacks(c.entry)
		memories, err := b.Memories(d)
		require.NoError(t, err)
		require.Len(t, memories, c.memories)
		_, err = b.NewBufferIn(d, four, "pinned_host")
		require.ErrorContains(t, err, c.message)
		require.NoError(t, b.Close())
	}
	require.Empty(t, f.leaks(""))
}
