package keras_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// TestExportOpensTheBatch: a batch that an input fixes is open in the file, as in Keras's, unless the model needs it.
func TestExportOpensTheBatch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.onnx")
	export := func(l layers.Layer, options ...keras.ExportOption) string {
		x := keras.Input(keras.Shape(3), keras.FixedBatch(2), keras.InputName("x"))
		m, err := keras.NewFunctional(keras.Inputs(x), keras.Outputs(layers.Apply(l, x)))
		require.NoError(t, err)
		require.NoError(t, m.Export(path, options...))
		file, err := os.ReadFile(path)
		require.NoError(t, err)
		return string(file)
	}
	open := "\x12\x05batch" // the name of an axis
	require.Contains(t, export(&layers.Dense{Units: 2}), open)
	require.NotContains(t, export(&layers.Dense{Units: 2}, keras.ExportBatch(2)), open)
	ofTwo := func(x *ops.Tensor) *ops.Tensor {
		return ops.Add(x, ops.Constant(x, x.DType(), ir.Shape{2, 3}, []float64{float64(x.Dim(0)), 1, 2, 3, 4, 5}))
	}
	require.NotContains(t, export(&layers.Lambda{Function: ofTwo}), open)
}
