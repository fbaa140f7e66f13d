package keras

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/gokeras/gokeras/kernels/ir"
)

// TestNewResult: a result is what tensor.New makes, for every element type and number of axes.
func TestNewResult(t *testing.T) {
	for dtype, host := range denseTypes {
		for _, row := range []ir.Shape{{}, {1}, {7}, {2, 3}, {1, 1, 1}, {2, 1, 3, 4}, {2, 1, 3, 4, 5}, {1, 2, 1, 2, 1, 2}} {
			for _, rows := range []int{1, 2, 9} {
				got, err := newResult(dtype, row, rows)
				require.NoError(t, err)
				assert.Equal(t, tensor.New(tensor.Of(host), tensor.WithShape(append([]int{rows}, row...)...)), got)
				require.NoError(t, got.Reshape(got.Shape().TotalSize()))
				other, err := newResult(dtype, row, rows)
				require.NoError(t, err)
				require.Equal(t, append(ir.Shape{rows}, row...), ir.Shape(other.Shape()))
			}
		}
	}
	_, err := newResult(ir.BFloat16, ir.Shape{1}, 1)
	require.Error(t, err)
}
