package layers

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// Normalization shifts and scales features by a mean and variance that are known beforehand:
//
//	y = (x - mean) / max(sqrt(variance), 1e-7)
//
// Mean and variance are those of the data that [Normalization.Adapt] was given, one for each position on Axis, or those
// of the fields Mean and Variance. Invert computes the inverse: y = mean + x · max(sqrt(variance), 1e-7).
//
// Input shape: any, also integers. Output shape: that of the input, in the layer's compute type. A mask passes through.
// Weights: mean, variance (lengths of Axis) and count (), not trained. There are none if the fields are given.
type Normalization struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Axis     []int     `keras:"axis,default=[-1]"`    // axes with a mean for each position; nil is {-1}, an empty list one mean for all
	Mean     []float64 `keras:"mean,null,scalar"`     // one for each position on Axis, row-major, or one for all; nil: see Adapt
	Variance []float64 `keras:"variance,null,scalar"` // as many as Mean
	Invert   bool      `keras:"invert"`

	mean, variance *distribute.Variable
	kept           ir.Shape // lengths of Axis
}

// keptAxes returns the axes with a mean for each position, sorted.
func (l *Normalization) keptAxes(g *ops.Graph, shape ir.Shape) []int {
	axes := l.Axis
	if axes == nil {
		axes = []int{-1}
	}
	out := make([]int, len(axes))
	for i, a := range axes {
		if a >= len(shape) || a < -len(shape) {
			ops.Failf(g, "Axis %v has no place in an input of shape %v", axes, shape)
		}
		out[i] = (a + len(shape)) % len(shape)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Build creates the weights.
func (l *Normalization) Build(b *Builder, in []ir.Shape) {
	if (l.Mean == nil) != (l.Variance == nil) || len(l.Mean) != len(l.Variance) {
		b.Fail("Mean and Variance must be given together and with equal lengths, received %d and %d numbers", len(l.Mean), len(l.Variance))
	}
	l.mean, l.variance, l.kept = nil, nil, ir.Shape{}
	axes := l.keptAxes(b.context.Graph(), in[0])
	for _, a := range axes {
		l.kept = append(l.kept, in[0][a])
	}
	if l.Mean != nil {
		return
	}
	if len(axes) > 0 && axes[0] == 0 && dim.Open(l.kept[0]) {
		b.Fail("Axis %v keeps the batch axis of an input of shape %v, a mean for each example; batches have any length, so leave that axis out", l.Axis, in[0])
	}
	l.mean = b.AddWeight("mean", l.kept, WeightOptions{Initializer: "zeros", Frozen: true})
	l.variance = b.AddWeight("variance", l.kept, WeightOptions{Initializer: "ones", Frozen: true})
	b.AddWeight("count", ir.Shape{}, WeightOptions{Initializer: "zeros", DType: ir.Int32, Frozen: true})
}

// Forward computes the layer.
func (l *Normalization) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := ops.Cast(one(c, in), c.ComputeDType())
	axes := l.keptAxes(c.Graph(), x.Shape())
	var mean, variance *ops.Tensor
	if l.mean != nil {
		mean, variance = alongAxes(c.Weight(l.mean), x, axes), alongAxes(c.Weight(l.variance), x, axes)
	} else {
		mean, variance = l.given(x, "Mean", l.Mean, axes), l.given(x, "Variance", l.Variance, axes)
	}
	deviation := ops.MaximumScalar(ops.Sqrt(variance), 1e-7)
	if l.Invert {
		return []*ops.Tensor{ops.Add(mean, ops.Multiply(x, deviation))}
	}
	return []*ops.Tensor{ops.Divide(ops.Subtract(x, mean), deviation)}
}

// given returns the numbers of a field, spread along the axes of x.
func (l *Normalization) given(x *ops.Tensor, name string, values []float64, axes []int) *ops.Tensor {
	if len(values) == 1 {
		return ops.Scalar(x, values[0])
	}
	size := 1
	for _, a := range axes {
		size = dim.Mul(size, x.Dim(a))
	}
	ops.Fixed(x, "normalization", size)
	if len(values) != size {
		ops.Failf(x.Graph(), "%s must have 1 or %d numbers for Axis %v of an input of shape %v, received %d", name, size, axes, x.Shape(), len(values))
	}
	return alongAxes(ops.Constant(x, x.DType(), ir.Shape{size}, values), x, axes)
}

// Adapt computes mean and variance of the data, given as one array or as several batches, and keeps them in the layer's
// weights, replacing what was there. Axis 0 of the data is the batch, which Axis must not contain. Keras refuses that
// too for a dataset, but for an array it learns a mean for each example, and the layer then accepts only batches of
// that length.
func (l *Normalization) Adapt(batches ...kernels.Array) error { return l.AdaptBatches(each(batches)) }

// AdaptBatches is Adapt for data in several batches.
func (l *Normalization) AdaptBatches(batches iter.Seq2[kernels.Array, error]) error {
	if l.Mean != nil {
		return fmt.Errorf("layers: %s: Adapt: mean and variance are fixed by the fields Mean and Variance; leave those out to adapt", Name(l))
	}
	var shape ir.Shape
	var m runningMoments
	i := 0
	for b, err := range batches {
		switch s := b.Type.Shape; {
		case err != nil:
			return fmt.Errorf("layers: %s: Adapt: batch %d: %w", Name(l), i, err)
		case i == 0:
			if len(s) == 0 || s.Size() == 0 {
				return l.errNoData()
			}
			open := s.Clone()
			open[0] = Unknown
			if _, err := InferTypes(l, []ir.Type{{DType: b.Type.DType, Shape: open}}); err != nil {
				return err
			}
			shape = s
			m = runningMoments{l.keptAxes(nil, s), 0, make([]float64, l.mean.Size()), make([]float64, l.mean.Size())}
		case len(s) != len(shape) || !s[1:].Equal(shape[1:]):
			return fmt.Errorf("layers: %s: Adapt: batch %d has shape %v, the first one %v; only the batch size may differ", Name(l), i, s, shape)
		}
		m.add(b)
		i++
	}
	if i == 0 {
		return l.errNoData()
	}
	for i := range m.square {
		m.square[i] /= m.n
	}
	for v, values := range map[*distribute.Variable][]float64{l.mean: m.mean, l.variance: m.square} {
		a, err := kernels.FromFloat64s(v.Spec().DType, v.Spec().Shape, values)
		if err != nil {
			return err
		}
		if err := v.SetValue(a); err != nil {
			return err
		}
	}
	return nil
}

func (l *Normalization) errNoData() error {
	return fmt.Errorf("layers: %s: Adapt: received no data; expected at least one array with at least one example", Name(l))
}

// SupportsMasking reports that a mask passes through.
func (l *Normalization) SupportsMasking() bool { return true }

// MigrateConfig reads an axis of null, which stands for one mean for all, and nested lists of means.
func (l *Normalization) MigrateConfig(keys map[string]json.RawMessage) error {
	if axis, ok := keys["axis"]; ok && (string(axis) == "null" || string(axis) == "[]") {
		l.Axis = []int{}
		delete(keys, "axis")
	}
	for _, key := range []string{"mean", "variance"} {
		var nested any
		if err := json.Unmarshal(keys[key], &nested); keys[key] == nil || err != nil {
			continue
		}
		list, ok := nested.([]any)
		if !ok {
			continue
		}
		flat, err := json.Marshal(flatten(list))
		if err != nil {
			return err
		}
		keys[key] = flat
	}
	return nil
}

// flatten lists the elements of nested lists.
func flatten(list []any) []any {
	out := []any{}
	for _, v := range list {
		if inner, ok := v.([]any); ok {
			out = append(out, flatten(inner)...)
		} else {
			out = append(out, v)
		}
	}
	return out
}

// AmendConfig nests the numbers of several axes, as Keras expects them.
func (l *Normalization) AmendConfig(keys map[string]any) error {
	if len(l.Axis) < 2 || len(l.Mean) < 2 {
		return nil
	}
	if l.kept.Size() != len(l.Mean) {
		return fmt.Errorf("the numbers of Mean and Variance for Axis %v cannot be written before the layer is used, when the lengths of these axes become known", l.Axis)
	}
	for _, key := range []string{"mean", "variance"} {
		list := keys[key].([]any)
		for i := len(l.kept) - 1; i > 0; i-- {
			list = nest(list, l.kept[i])
		}
		keys[key] = list
	}
	return nil
}

// nest cuts a list into lists of n.
func nest(list []any, n int) []any {
	var out []any
	for part := range slices.Chunk(list, n) {
		out = append(out, append([]any{}, part...))
	}
	return out
}

func init() { Register[Normalization]() }
