package layers

import (
	"fmt"
	"iter"
	"math"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Discretization replaces each number by the index of its bin:
//
//	y = number of boundaries b with b <= x
//
// Boundaries b1 < b2 < ... < bn define the n+1 bins (-inf, b1), [b1, b2), ..., [bn, inf); NaN belongs to the last one.
// They are given in BinBoundaries, or [Discretization.Adapt] chooses them so that each of NumBins bins holds an equal
// share of some data. OutputMode "one_hot", "multi_hot" and "count" write the bins as rows like [CategoryEncoding].
//
// Input shape: any. Output shape: that of the input, int32; with the other modes that of CategoryEncoding, in the
// compute type.
type Discretization struct {
	Base

	Name  string `keras:"name"`
	DType string `keras:"dtype,plain"` // policy name; "" is the model's

	BinBoundaries []float64  `keras:"bin_boundaries,null"`       // increasing; nil: see Adapt, which writes them here
	NumBins       int        `keras:"num_bins,null"`             // bins for Adapt; 0 if BinBoundaries are given
	Epsilon       float64    `keras:"epsilon,null,default=0.01"` // error of Adapt, as a share of the data; 0 is 0.01
	OutputMode    OutputMode `keras:"output_mode,default=int"`   // "int", "one_hot", "multi_hot" or "count"; "" is "int"
}

// Forward computes the layer.
func (l *Discretization) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := one(c, in)
	if !x.DType().IsFloat() {
		x = ops.Cast(x, ir.Float32)
	}
	if l.NumBins < 0 {
		ops.Failf(c.Graph(), "NumBins must not be negative, received %d", l.NumBins)
	}
	boundaries := l.BinBoundaries
	if boundaries == nil {
		switch {
		case l.NumBins < 1:
			ops.Failf(c.Graph(), "has neither BinBoundaries nor NumBins; set one of them")
		case !c.Probing: // shapes do not depend on the boundaries
			ops.Failf(c.Graph(), "has no boundaries yet; call Adapt with data before the model runs, or set BinBoundaries")
		}
		ops.CheckTable(x, "NumBins", l.NumBins)
		boundaries = make([]float64, l.NumBins-1)
	}
	for i, b := range boundaries {
		if math.IsNaN(b) || i > 0 && b < boundaries[i-1] {
			ops.Failf(c.Graph(), "BinBoundaries must be increasing, received %v", boundaries)
		}
	}
	bins := countBelow(x, boundaries)
	mode := outputMode(l.OutputMode, IntMode)
	if mode == IntMode {
		return []*ops.Tensor{bins}
	}
	return []*ops.Tensor{encodeCategories(bins, nil, mode, len(boundaries)+1, c.ComputeDType())}
}

// fewBoundaries is the largest number of boundaries for which each element is compared with all of them.
const fewBoundaries = 32

// countBelow returns, as int32, how many of the sorted numbers are at most each element of x. NaN counts as above all
// numbers.
func countBelow(x *ops.Tensor, sorted []float64) *ops.Tensor {
	n := len(sorted)
	if n == 0 {
		return ops.Zeros(x, ir.Int32, x.Shape()...)
	}
	if n <= fewBoundaries {
		count := ops.Full(x, ir.Int32, float64(n), x.Shape()...)
		for _, b := range sorted {
			count = ops.Subtract(count, ops.Cast(ops.CompareScalar(ir.Lt, x, b), ir.Int32))
		}
		return count
	}
	above := ops.Where(ops.Isnan(x), ops.FullLike(x, math.Inf(1)), x)
	return ops.Digitize(above, ops.Constant(x, x.DType(), ir.Shape{n}, sorted))
}

// Adapt finds the boundaries of NumBins bins with equal shares of the data, given as one array or as several batches,
// replacing those of an earlier call. Memory does not grow with the data: a summary of about 1/Epsilon numbers is kept,
// whose ranks are accurate to within a fraction Epsilon of the data. A model that has run keeps the bins that it was
// compiled with, until it is compiled again.
//
// The summary is that of Keras's layer. Every max(Epsilon·n, 1)-th number of each sorted batch is taken with that
// weight, merged with the summary so far, and compressed to 1/Epsilon numbers by linear interpolation of the cumulative
// weights. At the end it is compressed with 1/NumBins instead of Epsilon.
func (l *Discretization) Adapt(batches ...kernels.Array) error { return l.AdaptBatches(each(batches)) }

// AdaptBatches is Adapt for data in several batches.
func (l *Discretization) AdaptBatches(batches iter.Seq2[kernels.Array, error]) error {
	switch {
	case l.NumBins < 1 && l.BinBoundaries != nil:
		return fmt.Errorf("layers: %s: Adapt: the boundaries are fixed by the field BinBoundaries; set NumBins instead to adapt", Name(l))
	case l.NumBins < 1:
		return fmt.Errorf("layers: %s: Adapt: NumBins is %d; set it to the number of bins to find", Name(l), l.NumBins)
	case l.NumBins > 1<<20:
		return fmt.Errorf("layers: %s: Adapt: NumBins is %d; expected at most %d", Name(l), l.NumBins, 1<<20)
	}
	epsilon := l.Epsilon
	if epsilon == 0 {
		epsilon = 0.01
	}
	if !(epsilon >= 1e-7 && epsilon < 1) {
		return fmt.Errorf("layers: %s: Adapt: Epsilon must be at least 1e-7 and below 1, received %v", Name(l), l.Epsilon)
	}
	sketch := quantileSketch{epsilon: epsilon}
	i := -1
	for b, err := range batches {
		if i++; err != nil {
			return fmt.Errorf("layers: %s: Adapt: batch %d: %w", Name(l), i, err)
		}
		values := narrow(b)
		for j, v := range values {
			if v != v {
				return fmt.Errorf("layers: %s: Adapt: element %d of batch %d is NaN, which has no rank; leave such examples out", Name(l), j, i)
			}
		}
		if len(values) > 0 {
			sketch.add(values)
		}
	}
	if len(sketch.values) == 0 {
		return fmt.Errorf("layers: %s: Adapt: received no data; expected at least one array with at least one number", Name(l))
	}
	l.BinBoundaries = sketch.boundaries(l.NumBins)
	return nil
}

// narrow returns the elements in float32, without a copy if the array has that type.
func narrow(b kernels.Array) []float32 {
	if own, err := kernels.View[float32](b); err == nil {
		return own
	}
	values := make([]float32, b.Type.Shape.Size()) //dim:known data
	for j := range values {
		values[j] = float32(b.Element(j))
	}
	return values
}

// AmendConfig writes a missing NumBins as null.
func (l *Discretization) AmendConfig(keys map[string]any) error {
	if l.NumBins == 0 {
		keys["num_bins"] = nil
	}
	keys["sparse"] = false
	return nil
}

// IgnoredConfig adds the option for sparse results, which do not exist here.
func (l *Discretization) IgnoredConfig() []string {
	return append(l.Base.IgnoredConfig(), "sparse", "trainable")
}

func init() { Register[Discretization]() }
