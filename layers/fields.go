package layers

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/gokeras/gokeras/internal/ints"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// tuple returns a field with one entry for each of n axes. A single entry stands for n equal ones and nil for the
// default. Entries below least are an error.
func tuple(g *ops.Graph, name string, values []int, n, def, least int) []int {
	out := values
	switch len(values) {
	case 0:
		out = ints.Repeat(def, n)
	case 1:
		out = slices.Repeat(values, n)
	case n:
	default:
		ops.Failf(g, "%s must have 1 or %d entries, received %v", name, n, values)
	}
	for _, v := range out {
		if v < least {
			ops.Failf(g, "%s must have entries of at least %d, received %v", name, least, values)
		}
	}
	return out
}

// needRank reports inputs of the wrong number of axes.
func needRank(x *ops.Tensor, rank int, form string) {
	if x.Rank() != rank {
		ops.Failf(x.Graph(), "expected an input of %d axes %s, received shape %v; reshape it or add the missing axes", rank, form, x.Shape())
	}
}

// spatialForm names the axes of an input with n spatial axes, for messages.
//
//go:noinline
func spatialForm(n int, channelsFirst bool) string {
	axes := map[int]string{1: "steps", 2: "height, width", 3: "depth, height, width"}[n]
	if channelsFirst {
		return "(batch, channels, " + axes + ")"
	}
	return "(batch, " + axes + ", channels)"
}

// isChannelsFirst reads a DataFormat field.
func isChannelsFirst(g *ops.Graph, format DataFormat) bool {
	switch format {
	case "", ChannelsLast:
		return false
	case ChannelsFirst:
		return true
	}
	ops.Failf(g, "unknown DataFormat %q; use %q or %q", format, ChannelsLast, ChannelsFirst)
	return false
}

// isSame reads a Padding field.
func isSame(g *ops.Graph, padding Padding) bool {
	switch padding {
	case "", Valid:
		return false
	case Same:
		return true
	}
	ops.Failf(g, "unknown Padding %q; use %q or %q", padding, Valid, Same)
	return false
}

// toLast moves the channels of (batch, channels, spatial...) to the end. If first is false, they are there already.
func toLast(x *ops.Tensor, first bool) *ops.Tensor {
	if !first {
		return x
	}
	return ops.MoveAxis(x, 1, -1)
}

// fromLast undoes toLast.
func fromLast(x *ops.Tensor, first bool) *ops.Tensor {
	if !first {
		return x
	}
	return ops.MoveAxis(x, -1, 1)
}

// samePads returns the padding of each spatial axis of x (batch, spatial..., channels) for padding "same".
func samePads(x *ops.Tensor, window, strides, dilation []int) (low, high []int) {
	low, high = make([]int, len(window)), make([]int, len(window))
	for i := range window {
		low[i], high[i] = ir.SamePadding(x.Dim(i+1), window[i], strides[i], dilation[i])
	}
	return low, high
}

// number returns what p points to, or the default if p is nil.
func number(p *float64, def float64) float64 {
	if p == nil {
		return def
	}
	return *p
}

// seedOf returns the seed of a random layer. nil is 0, because the layer's path already makes its numbers different
// from those of others.
func seedOf(p *int) uint64 {
	if p == nil {
		return 0
	}
	return uint64(*p)
}

// unlimited is the MaxValue of a rectifier that has none.
var unlimited = math.Inf(1)

// atLeastFloat32 casts half precision to float32, in which statistics are computed.
func atLeastFloat32(x *ops.Tensor) *ops.Tensor {
	if d := x.DType(); d == ir.Float32 || d == ir.Float64 {
		return x
	}
	return ops.Cast(x, ir.Float32)
}

// epsilonOfNone replaces an epsilon of null by Keras's default.
func epsilonOfNone(keys map[string]json.RawMessage) {
	if string(keys["epsilon"]) == "null" {
		keys["epsilon"] = json.RawMessage("1e-07")
	}
}

// fieldAxes is sortedAxes of the field Axis of a layer, where nil is the last axis and an empty list is an error.
func fieldAxes(x *ops.Tensor, axes []int) []int {
	if axes != nil && len(axes) == 0 {
		ops.Failf(x.Graph(), "Axis is empty; expected an axis, or nil for the last one")
	}
	return sortedAxes(x, axes)
}

// sortedAxes turns axes into sorted ones counted from the front; nil stands for the last axis.
func sortedAxes(x *ops.Tensor, axes []int) []int {
	if axes == nil {
		axes = []int{-1}
	}
	out := make([]int, len(axes))
	for i, a := range axes {
		out[i] = x.Axis(a)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
