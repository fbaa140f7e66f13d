package keras

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
)

// TestNewResult: a result is an array of zeros, for every element type and number of axes.
func TestNewResult(t *testing.T) {
	for _, dtype := range ir.DTypes() {
		for _, row := range []ir.Shape{{}, {1}, {7}, {2, 3}, {1, 1, 1}, {2, 1, 3, 4}, {2, 1, 3, 4, 5}, {1, 2, 1, 2, 1, 2}, {2, 0}} {
			for _, rows := range []int{0, 1, 2, 9} {
				got, err := newResult(dtype, row, rows)
				require.NoError(t, err)
				require.NoError(t, got.Check())
				require.Equal(t, append([]int{rows}, row...), got.Shape())
				for _, v := range got.Float64s() {
					require.Zero(t, v)
				}
			}
		}
	}
}
