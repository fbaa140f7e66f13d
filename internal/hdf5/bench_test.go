package hdf5

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const benchElements = 25_000_000 // 100 MB of float32

// hundredMegabytes writes a file with one dataset of 100 MB.
func hundredMegabytes(b *testing.B) string {
	w := NewWriter()
	_, err := w.Root().Dataset("layers/dense/vars/0", Float32, []int{benchElements}, Values(make([]float32, benchElements)))
	require.NoError(b, err)
	path := filepath.Join(b.TempDir(), "large.h5")
	f, err := os.Create(path)
	require.NoError(b, err)
	_, err = w.WriteTo(f)
	require.NoError(b, err)
	require.NoError(b, f.Close())
	return path
}

// BenchmarkRead compares reading a dataset of 100 MB with reading the file's bytes, both into existing memory.
func BenchmarkRead(b *testing.B) {
	path := hundredMegabytes(b)
	dst := make([]byte, 4*benchElements+1<<16)
	b.Run("dataset", func(b *testing.B) {
		b.SetBytes(4 * benchElements)
		for b.Loop() {
			r, err := os.Open(path)
			require.NoError(b, err)
			info, err := r.Stat()
			require.NoError(b, err)
			f, err := Open(r, info.Size())
			require.NoError(b, err)
			d, err := f.Root().Dataset("layers/dense/vars/0")
			require.NoError(b, err)
			require.NoError(b, d.ReadInto(dst[:d.Size()]))
			require.NoError(b, r.Close())
		}
	})
	b.Run("file", func(b *testing.B) {
		b.SetBytes(4 * benchElements)
		for b.Loop() {
			r, err := os.Open(path)
			require.NoError(b, err)
			info, err := r.Stat()
			require.NoError(b, err)
			_, err = io.ReadFull(r, dst[:info.Size()])
			require.NoError(b, err)
			require.NoError(b, r.Close())
		}
	})
}

func BenchmarkWrite(b *testing.B) {
	values := make([]float32, benchElements)
	b.SetBytes(4 * benchElements)
	b.ReportAllocs()
	for b.Loop() {
		w := NewWriter()
		_, err := w.Root().Dataset("layers/dense/vars/0", Float32, []int{benchElements}, Values(values))
		require.NoError(b, err)
		_, err = w.WriteTo(io.Discard)
		require.NoError(b, err)
	}
}

// BenchmarkOpen reads the metadata of 3000 datasets.
func BenchmarkOpen(b *testing.B) {
	data := write(b, manyDatasets(b, 3000))
	for b.Loop() {
		n := 0
		require.NoError(b, openBytes(b, data).Root().Walk(func(string, Object) error { n++; return nil }))
		require.Equal(b, 3000, n)
	}
}
