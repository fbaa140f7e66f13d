package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// axisPairs reads a field of amounts before and after each of n axes: one number for all, one number for each axis, or
// a pair for each axis. nil stands for the default.
func axisPairs(x *ops.Tensor, name string, field [][]int, n, def int) [][2]int {
	out := make([][2]int, n)
	for i := range out {
		pair := []int{def}
		switch {
		case len(field) == 1:
			pair = field[0]
		case len(field) == n:
			pair = field[i]
		case len(field) != 0:
			ops.Failf(x.Graph(), "%s must have 1 or %d entries, received %v", name, n, field)
		}
		if len(pair) == 1 {
			pair = []int{pair[0], pair[0]}
		}
		if len(pair) != 2 || pair[0] < 0 || pair[1] < 0 {
			ops.Failf(x.Graph(), "each entry of %s must be one or two numbers of at least 0, received %v", name, field)
		}
		out[i] = [2]int(pair)
	}
	return out
}

// firstAndLast reads a field of amounts before and after one axis: one number for both, or two.
func firstAndLast(x *ops.Tensor, name string, field []int, def int) [][2]int {
	if len(field) > 2 {
		ops.Failf(x.Graph(), "%s must have one or two entries, before and after, received %v", name, field)
	}
	if len(field) == 0 {
		field = []int{def}
	}
	return axisPairs(x, name, [][]int{field}, 1, def)
}

// padSpatial adds zeros around the spatial axes.
func padSpatial(x *ops.Tensor, format DataFormat, padding [][2]int) []*ops.Tensor {
	low, high := make([]int, x.Rank()), make([]int, x.Rank())
	for i, axis := range spatialAxes(x, len(padding), format) {
		low[axis], high[axis] = padding[i][0], padding[i][1]
	}
	return []*ops.Tensor{ops.Pad(x, low, high, 0)}
}

// cropSpatial cuts from the ends of the spatial axes.
func cropSpatial(x *ops.Tensor, format DataFormat, cropping [][2]int) []*ops.Tensor {
	start, limit := make([]int, x.Rank()), x.Shape().Clone()
	for i, axis := range spatialAxes(x, len(cropping), format) {
		start[axis] = cropping[i][0]
		limit[axis] = dim.Sub(limit[axis], cropping[i][1])
		if dim.Known(limit[axis]) && start[axis] >= limit[axis] {
			ops.Failf(x.Graph(), "Cropping %v leaves nothing of axis %d of an input of shape %v; crop less", cropping, axis, x.Shape())
		}
	}
	return []*ops.Tensor{ops.Slice(x, start, limit)}
}

// amendPairs writes a field of amounts as one pair for each axis.
//
//go:noinline
func amendPairs(keys map[string]any, key string, field [][]int, n int) error {
	if len(field) == 0 {
		return nil
	}
	out := make([]any, n)
	for i := range out {
		pair := field[min(i, len(field)-1)]
		if len(pair) == 0 {
			return nil
		}
		out[i] = []any{int64(pair[0]), int64(pair[len(pair)-1])}
	}
	keys[key] = out
	return nil
}
