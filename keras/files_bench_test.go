package keras_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// BenchmarkLoadModel loads a model of 100 MB; the peer reads the same file twice.
func BenchmarkLoadModel(b *testing.B) {
	m, err := keras.NewSequential([]layers.Layer{
		&layers.Dense{Units: 2500, KernelInitializer: "zeros"}, &layers.Dense{Units: 2500, KernelInitializer: "zeros"},
		&layers.Dense{Units: 2500, KernelInitializer: "zeros"}, &layers.Dense{Units: 2500, KernelInitializer: "zeros"},
	}, keras.InputShape(2500))
	require.NoError(b, err)
	path := filepath.Join(b.TempDir(), "large.keras")
	require.NoError(b, m.Save(path))
	info, err := os.Stat(path)
	require.NoError(b, err)
	b.Run("load", func(b *testing.B) {
		b.SetBytes(info.Size())
		for b.Loop() {
			_, err := keras.LoadModel(path)
			require.NoError(b, err)
		}
	})
	b.Run("read the file twice", func(b *testing.B) {
		b.SetBytes(info.Size())
		for b.Loop() {
			for range 2 {
				_, err := os.ReadFile(path)
				require.NoError(b, err)
			}
		}
	})
}
