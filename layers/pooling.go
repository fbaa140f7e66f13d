package layers

import (
	"slices"

	"github.com/gokeras/gokeras/internal/ints"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// poolFields are the fields of the pooling layers.
type poolFields struct {
	PoolSize, Strides []int
	Padding           Padding
	DataFormat        DataFormat
}

// poolWindows applies a pooling op to an input with n spatial axes.
func poolWindows(x *ops.Tensor, n int, f poolFields, pool func(*ops.Tensor, ops.PoolOptions) *ops.Tensor) []*ops.Tensor {
	g := x.Graph()
	first := isChannelsFirst(g, f.DataFormat)
	needRank(x, n+2, spatialForm(n, first))
	if len(f.PoolSize) == 0 {
		ops.Failf(g, "PoolSize is missing; set it to the length of the window, for example []int{2}")
	}
	o := ops.PoolOptions{Window: tuple(g, "PoolSize", f.PoolSize, n, 1, 1)}
	o.Strides = o.Window
	if f.Strides != nil {
		o.Strides = tuple(g, "Strides", f.Strides, n, 1, 1)
	}
	x = toLast(x, first)
	if isSame(g, f.Padding) {
		o.PadLow, o.PadHigh = samePads(x, o.Window, o.Strides, ints.Repeat(1, n))
	} else {
		for i, w := range o.Window {
			if dim.Less(x.Dim(i+1), w) {
				ops.Failf(g, "the window %v is longer than the input %v, so the result would be empty; use a smaller PoolSize, or Padding %q", o.Window, x.Shape(), Same)
			}
		}
	}
	if first && n == 1 && staysInFront(x) {
		z := ops.PoolOptions{Window: []int{1, o.Window[0]}, Strides: []int{1, o.Strides[0]}}
		if o.PadLow != nil {
			z.PadLow, z.PadHigh = []int{0, o.PadLow[0]}, []int{0, o.PadHigh[0]}
		}
		return []*ops.Tensor{ops.Squeeze(pool(ops.ExpandDims(fromLast(x, true), -1), z), -1)}
	}
	return []*ops.Tensor{fromLast(pool(x, o), first)}
}

// With few channels and many sequences the values that are pooled alike are placed side by side anyway, and those of
// this many sequences fill vectors.
const (
	pooledChannels  = 8
	pooledSequences = 8
)

// staysInFront reports whether sequences (batch, steps, channels) that have their channels in front are pooled as
// images with one channel, whose rows are the channels. That needs no transposition.
func staysInFront(x *ops.Tensor) bool {
	batch, channels := x.Dim(0), x.Dim(2)
	return dim.Known(batch) && dim.Known(channels) && batch >= pooledSequences && channels <= pooledChannels //dim:known
}

// maxPool is ops.MaxPool, which computes in floats, with results of the input's type.
func maxPool(x *ops.Tensor, o ops.PoolOptions) *ops.Tensor {
	t := x.DType()
	if t.IsInteger() && t.Size() > 2 { // float32 has not all of its numbers
		x = ops.Cast(x, ir.Float64)
	}
	y := ops.MaxPool(x, o)
	if !t.IsFloat() {
		y = ops.Cast(y, t)
	}
	return y
}

// spatialAxes returns the n spatial axes of an input.
func spatialAxes(x *ops.Tensor, n int, format DataFormat) []int {
	first := isChannelsFirst(x.Graph(), format)
	needRank(x, n+2, spatialForm(n, first))
	axes := make([]int, n)
	for i := range axes {
		axes[i] = i + 1
		if first {
			axes[i]++
		}
	}
	return axes
}

// poolAll reduces all spatial axes of an input.
func poolAll(x *ops.Tensor, axes []int, keepDims bool, reduce func(*ops.Tensor, ...int) *ops.Tensor) []*ops.Tensor {
	y := reduce(x, axes...)
	if keepDims {
		y = ops.KeepDims(y, x, axes...)
	}
	return []*ops.Tensor{y}
}

// maxBins limits the number of bins, because each is reduced separately.
const maxBins = 1 << 16

// poolAdaptively reduces each spatial axis to the given number of bins, one axis after the other: bin i of m covers the
// elements from floor(i·n/m) to below ceil((i+1)·n/m).
func poolAdaptively(x *ops.Tensor, n int, outputSize []int, format DataFormat, pool func(*ops.Tensor, ...int) *ops.Tensor) []*ops.Tensor {
	first := isChannelsFirst(x.Graph(), format)
	spatialAxes(x, n, format)
	if len(outputSize) == 0 {
		ops.Failf(x.Graph(), "OutputSize is missing; set it to the lengths of the result's spatial axes, for example []int{4}")
	}
	size := tuple(x.Graph(), "OutputSize", outputSize, n, 1, 1)
	if slices.Max(size) > maxBins {
		ops.Failf(x.Graph(), "OutputSize is %v; at most %d along an axis are possible", outputSize, maxBins)
	}
	return []*ops.Tensor{fromLast(pool(toLast(x, first), size...), first)}
}

// averageAdaptively is poolAdaptively of averages. With the channels in front, axes with a single bin are averaged
// before the others are transposed.
func averageAdaptively(x *ops.Tensor, n int, outputSize []int, format DataFormat) []*ops.Tensor {
	if axes := spatialAxes(x, n, format); axes[0] == 2 && len(outputSize) > 0 && x.DType().IsFloat() && !x.DType().IsHalf() {
		size := tuple(x.Graph(), "OutputSize", outputSize, n, 1, 1)
		axes = slices.DeleteFunc(axes, func(axis int) bool { return size[axis-2] > 1 || x.Dim(axis) < 1 || !dim.Known(x.Dim(axis)) }) //dim:known
		if len(axes) > 0 {
			x = ops.KeepDims(ops.Mean(x, axes...), x, axes...)
		}
	}
	return poolAdaptively(x, n, outputSize, format, ops.AdaptiveAveragePool)
}
