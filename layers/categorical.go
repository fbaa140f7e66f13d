package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// OutputMode is the form of categories in the results of preprocessing layers. Each layer documents which modes it
// supports and what the zero value means.
type OutputMode string

const (
	IntMode      OutputMode = "int"       // the numbers themselves
	OneHotMode   OutputMode = "one_hot"   // each number as a row with a one at its index
	MultiHotMode OutputMode = "multi_hot" // each sample as one row, with ones at the indices of its numbers
	CountMode    OutputMode = "count"     // each sample as one row that counts its numbers
	TFIDFMode    OutputMode = "tf_idf"    // CountMode times the weight of each token
)

// encodeCategories writes the numbers x in the form that mode names, as rows of the given depth:
//
//	one_hot    (..., 1) becomes (..., depth), any other shape S becomes (S..., depth)
//	multi_hot  (batch, samples, ...) becomes (batch, ..., depth): one where a number occurs
//	count      the same with how often it occurs, or with the sum of its weights
//
// Numbers outside [0, depth) are left out. The last two modes reduce axis 1, or axis 0 of a vector, as Keras does.
func encodeCategories(x, weights *ops.Tensor, mode OutputMode, depth int, dtype ir.DType) *ops.Tensor {
	if x.Rank() == 0 {
		x = ops.ExpandDims(x, 0)
	}
	axis := min(x.Rank()-1, 1)
	switch mode {
	case OneHotMode:
		if x.Rank() > 1 && x.Dim(-1) == 1 {
			x = ops.Squeeze(x, -1)
		}
		return ops.OneHot(x, depth, dtype)
	case MultiHotMode:
		return ops.Cast(ops.Any(ops.OneHot(x, depth, ir.Bool), axis), dtype)
	case CountMode:
		hot := ops.OneHot(x, depth, dtype)
		if weights != nil {
			hot = ops.Multiply(hot, ops.ExpandDims(ops.Cast(weights, dtype), -1))
		}
		return ops.Sum(hot, axis)
	}
	ops.Failf(x.Graph(), "unknown OutputMode %q; use %q, %q or %q", mode, OneHotMode, MultiHotMode, CountMode)
	return nil
}

// outputMode reads an OutputMode field: its default for "", and Keras's older names.
func outputMode(mode, def OutputMode) OutputMode {
	switch mode {
	case "":
		return def
	case "binary":
		return MultiHotMode
	case "tf-idf":
		return TFIDFMode
	}
	return mode
}

// wholeNumbers casts floats and bools to integers, rounding towards zero.
func wholeNumbers(x *ops.Tensor) *ops.Tensor {
	if x.DType().IsInteger() {
		return x
	}
	return ops.Cast(x, ir.Int32)
}
