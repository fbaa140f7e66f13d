//go:build linux

package pjrt

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// A second backend, as a later process would have, loads what the first compiled; it computes the same. Files that are
// damaged are recompiled, and a folder that cannot be made is no error.
func TestCompiledProgramsAreKept(t *testing.T) {
	path := os.Getenv("GOKERAS_PJRT_CPU")
	if path == "" {
		t.Skip("GOKERAS_PJRT_CPU does not name a PJRT plugin for CPUs (the library in the Python package lammps-jax-pjrt-cpu is one)")
	}
	folder := filepath.Join(t.TempDir(), "kept")
	t.Setenv(cacheVariable, folder)
	run := func(loads int64, values ...float64) []float64 {
		t.Helper()
		b := New("xla", path, Option{Name: "cpu_device_count", Value: int64(1)})
		p := ir.New("square")
		x := p.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{len(values)}})
		y, err := p.Add("square", ir.Mul, nil, x, x)
		require.NoError(t, err)
		p.AddAlias("x", y[0], 0)
		d := kernels.Device{Kind: "xla"}
		l, err := kernels.Load(b, p, d)
		require.NoError(t, err)
		require.EqualValues(t, loads, b.loaded.Load())
		buffer, err := b.NewBuffer(d, p.Type(x))
		require.NoError(t, err)
		a, err := kernels.FromFloat64s(ir.Float32, ir.Shape{len(values)}, values)
		require.NoError(t, err)
		require.NoError(t, buffer.Write(a.Data))
		for range 2 {
			require.NoError(t, l.Run(t.Context(), []kernels.Buffer{buffer}, []kernels.Buffer{nil}))
		}
		require.NoError(t, buffer.Read(a.Data))
		buffer.Free()
		l.Close()
		require.NoError(t, b.Close())
		return a.Float64s()
	}
	require.Equal(t, []float64{16, 81}, run(0, 2, 3))
	files, err := filepath.Glob(filepath.Join(folder, "*.pjrt"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	require.Equal(t, []float64{16, 81}, run(1, 2, 3), "loaded, and donated as before")
	require.Equal(t, []float64{1, 16, 81}, run(0, 1, 2, 3), "another program")

	require.NoError(t, os.WriteFile(files[0], []byte("not a program"), 0o600))
	require.Equal(t, []float64{16, 81}, run(0, 2, 3))
	require.Equal(t, []float64{16, 81}, run(1, 2, 3), "it was compiled and kept anew")
	t.Setenv(cacheVariable, filepath.Join(files[0], "in a file"))
	require.Equal(t, []float64{16, 81}, run(0, 2, 3))
}
