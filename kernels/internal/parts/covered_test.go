package parts

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// On a mesh of 2 by 3 a row of devices has all parts along the second axis, and a column those along the first.
func TestCovered(t *testing.T) {
	m := Mesh{2, 3}
	require.True(t, m.Covered([]int{-1, 1}, []int{0, 1, 2}))
	require.False(t, m.Covered([]int{-1, 1}, []int{0, 3}))
	require.True(t, m.Covered([]int{0}, []int{0, 3}))
	require.False(t, m.Covered([]int{0}, []int{0, 1, 2}))
	require.False(t, m.Covered([]int{1, 0}, []int{0, 1, 2, 3, 4}))
	require.True(t, m.Covered([]int{1, 0}, []int{0, 1, 2, 3, 4, 5}))
	require.True(t, m.Covered([]int{-1, -1}, []int{4}), "a full copy")
}
