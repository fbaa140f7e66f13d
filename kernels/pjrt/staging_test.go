//go:build linux

package pjrt_test

import (
	"bytes"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/pjrt"
)

// filled stages a byte all over.
func filled(t *testing.T, b kernels.Stager, x byte) kernels.Staged {
	s := b.Stage()
	require.NotNil(t, s)
	for i := range s.Bytes() {
		s.Bytes()[i] = x
	}
	return s
}

// The plugin for CPUs reads staged memory where it is, for as long as the buffer has these contents, and never writes
// it.
func TestStagedMemoryIsNotCopied(t *testing.T) {
	b := pjrt.New("staged", plugin(t), pjrt.Option{Name: "cpu_device_count", Value: int64(1)})
	d := kernels.Device{Kind: "staged"}
	typ := ir.Type{DType: ir.Float32, Shape: ir.Shape{100, 3}}
	made, err := b.NewBuffer(d, typ)
	require.NoError(t, err)
	x := made.(kernels.Stager)
	got := make([]byte, typ.Bytes())
	first := filled(t, x, 1)
	require.Zero(t, uintptr(unsafe.Pointer(&first.Bytes()[0]))%64)
	require.NoError(t, x.WriteStaged(first))
	require.NoError(t, x.Read(got))
	require.Equal(t, bytes.Repeat([]byte{1}, len(got)), got)
	first.Bytes()[7] = 5 // which nobody may do, and shows that there is no copy
	require.NoError(t, x.Read(got))
	require.EqualValues(t, 5, got[7])
	first.Bytes()[7] = 1

	second := filled(t, x, 2)
	require.NotSame(t, &first.Bytes()[0], &second.Bytes()[0], "the buffer still has the first")
	require.NoError(t, single(t.Context(), b, d, x), "a program that replaces the buffer's contents")
	require.Equal(t, bytes.Repeat([]byte{1}, len(got)), first.Bytes(), "takes memory of its own for that")
	require.NoError(t, x.Read(got))
	require.NotEqual(t, first.Bytes(), got)
	third := x.Stage()
	require.Same(t, &first.Bytes()[0], &third.Bytes()[0], "which is free now")
	require.NoError(t, x.WriteStaged(second))
	require.NoError(t, x.Read(got))
	require.Equal(t, bytes.Repeat([]byte{2}, len(got)), got)

	require.ErrorContains(t, x.WriteStaged(second), "written or dropped already")
	third.Drop()
	third.Drop()
	require.ErrorContains(t, x.WriteStaged(third), "written or dropped already")
	other, err := b.NewBuffer(d, typ)
	require.NoError(t, err)
	require.ErrorContains(t, other.(kernels.Stager).WriteStaged(filled(t, x, 3)), "not staged for it")
	x.Free()
	require.Nil(t, x.Stage(), "of a buffer that was freed")
	other.Free()
	require.NoError(t, b.Close())
}

// Memory is bounded: a buffer of many bytes has a few stages, one of few bytes as many as launches may be under way.
func TestStagesAreBounded(t *testing.T) {
	f := fake(t)
	f.reset(-1, 0, 115, 0)
	b := pjrt.New("fake", f.path)
	for bytes, most := range map[int]int{16: 40, 4 << 20: 16, 32 << 20: 4} {
		made, err := b.NewBuffer(kernels.Device{Kind: "fake"}, ir.Type{DType: ir.Uint8, Shape: ir.Shape{bytes}})
		require.NoError(t, err)
		x := made.(kernels.Stager)
		var all []kernels.Staged
		for s := x.Stage(); s != nil; s = x.Stage() {
			all = append(all, s)
		}
		require.Len(t, all, most)
		all[2].Drop()
		require.Same(t, all[2], x.Stage())
		require.Nil(t, x.Stage())
		x.Free()
	}
	require.NoError(t, b.Close())
	require.Empty(t, f.leaks(""))
}

// Memory is lent to one at a time, also after the plugin could not say whether it is done with some of it.
func TestStagesAreLentOnce(t *testing.T) {
	f := fake(t)
	f.reset(-1, 0, 115, 0)
	b := pjrt.New("fake", f.path)
	made, err := b.NewBuffer(kernels.Device{Kind: "fake"}, ir.Type{DType: ir.Uint8, Shape: ir.Shape{16}})
	require.NoError(t, err)
	x := made.(kernels.Stager)
	sent := []kernels.Staged{x.Stage(), x.Stage(), x.Stage()}
	for _, s := range sent {
		require.NoError(t, x.WriteStaged(s))
	}
	f.reset(88, 2, 115, 0)
	require.Nil(t, x.Stage(), "the plugin has not said that it is done with the second")
	f.reset(-1, 0, 115, 0)
	lent := map[*byte]bool{}
	for range 40 {
		s := x.Stage()
		require.NotNil(t, s)
		require.False(t, lent[&s.Bytes()[0]], "two have the same memory")
		lent[&s.Bytes()[0]] = true
	}
	require.Nil(t, x.Stage())
	x.Free()
	require.NoError(t, b.Close())
	require.Empty(t, f.leaks(""))
}
