package geometry

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
)

func TestAxisGroups(t *testing.T) {
	for _, c := range []struct {
		shape ir.Shape
		axes  []int
		want  []AxisGroup
	}{
		{ir.Shape{4, 5, 6}, []int{1}, []AxisGroup{{4, 5, 6}}},
		{ir.Shape{4, 5, 6}, []int{0, 1}, []AxisGroup{{1, 20, 6}}},
		{ir.Shape{4, 100, 6, 40}, []int{1, 3}, []AxisGroup{{2400, 40, 1}, {4, 100, 6}}},
		{ir.Shape{4, 100, 6, 8}, []int{1, 3}, []AxisGroup{{4, 100, 48}, {24, 8, 1}}}, // short rows last
		{ir.Shape{4, 10, 10, 6, 1}, []int{1, 2, 4}, []AxisGroup{{4, 100, 6}}},        // an axis of one element is none
		{ir.Shape{3, 1, 3}, []int{1}, nil},
		{ir.Shape{2, 0, 3}, []int{1}, []AxisGroup{{2, 0, 3}}},
		{ir.Shape{2, 0, 3, 4}, []int{1, 3}, []AxisGroup{{2, 0, 12}, {6, 4, 1}}},
		{ir.Shape{8, 2, 8, 2, 8, 2}, []int{1, 3, 5}, []AxisGroup{{128, 2, 16}, {8, 2, 128}, {512, 2, 1}}},
	} {
		require.Equal(t, c.want, AxisGroups(c.shape, c.axes), "%v %v", c.shape, c.axes)
	}
}
