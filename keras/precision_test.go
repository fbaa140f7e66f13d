package keras_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
)

func TestFloat32Precision(t *testing.T) {
	assert.False(t, kernels.AllowsTF32())
	t.Cleanup(func() { kernels.AllowTF32(false) })
	require.NoError(t, keras.SetFloat32Precision("tf32"))
	assert.True(t, kernels.AllowsTF32())
	require.ErrorContains(t, keras.SetFloat32Precision("high"), `"high"; expected "float32" or "tf32"`)
	assert.True(t, kernels.AllowsTF32())
	require.NoError(t, keras.SetFloat32Precision("float32"))
	assert.False(t, kernels.AllowsTF32())
}
