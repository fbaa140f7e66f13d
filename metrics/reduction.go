package metrics

import (
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/objectives"
	"github.com/gokeras/gokeras/kernels/ir"
)

// average is the state of metrics that are a weighted mean over examples: total / count.
type average struct {
	Base
	total, count *distribute.Variable
}

func (a *average) build(m Metric, policy string, d ir.DType) error {
	fresh, err := a.Begin(m, policy, d)
	if fresh {
		a.total, a.count = a.Add("total"), a.Add("count")
	}
	return err
}

// Result returns Σ w·value / Σ w, or 0 if nothing was seen yet.
func (a *average) Result(r *distribute.Replica) *ops.Tensor {
	if a.total == nil {
		return ops.Zeros(r, ir.Float32)
	}
	sums := readAll(r, a.total, a.count)
	return ops.DivideNoNan(sums[0], sums[1])
}

// readAll reads variables with one all-reduce.
func readAll(r *distribute.Replica, vars ...*distribute.Variable) []*ops.Tensor {
	return r.ReadSynchronizedSums(vars...)
}

// values is what a mean-type metric averages: one value for each example, or several.
type values struct {
	x *ops.Tensor
	// shared says that all replicas hold the same values, those of the global batch.
	shared bool
}

// wrap updates the mean with f(labels, predictions). A mask on the predictions excludes examples or steps.
//
//go:noinline
func (a *average) wrap(m Metric, yTrue, yPred, sampleWeight *ops.Tensor, f func(r *distribute.Replica, t, p *ops.Tensor) values) {
	inMetric(m, yPred, func() {
		r := a.ready(m, yTrue, yPred)
		mask := yPred.Mask()
		d := a.dtype
		if d.IsHalf() { // the sums have that type; 1-ε is 1 in it, and the logarithm of what is left infinite
			d = ir.Float32
		}
		v := f(r, asFloat(yTrue, d), asFloat(yPred, d))
		weight := weightsWithMask(sampleWeight, mask, a.dtype)
		if mask != nil || sampleWeight != r.RowWeights() {
			weight = withOwnMask(weight, v.x, a.dtype)
		}
		a.add(r, v, weight)
	})
}

// withOwnMask multiplies weights with the mask of the values themselves (ignored classes). As in Keras, the mask counts
// only if there are weights.
func withOwnMask(weight, x *ops.Tensor, d ir.DType) *ops.Tensor {
	if own := x.Mask(); own != nil && weight != nil {
		return weightsWithMask(weight, own, d)
	}
	return weight
}

// asFloat converts floats to the type of the metric's numbers. Other types stay as they are.
func asFloat(x *ops.Tensor, d ir.DType) *ops.Tensor {
	if x.DType().IsFloat() {
		return ops.Cast(x, d).WithMask(nil)
	}
	return x.WithMask(nil)
}

// weightsWithMask returns the product of the weights and the mask. Both may be nil.
func weightsWithMask(sampleWeight, mask *ops.Tensor, d ir.DType) *ops.Tensor {
	if sampleWeight != nil {
		sampleWeight = ops.Cast(sampleWeight, d)
	}
	if mask == nil {
		return sampleWeight
	}
	weight := ops.Cast(mask, d)
	if sampleWeight == nil {
		return weight
	}
	weight, sampleWeight = objectives.Match(weight, sampleWeight)
	alignWeights(weight, sampleWeight)
	return ops.Multiply(weight, sampleWeight)
}

// alignWeights makes sure that weights have the leading axes of the values they belong to.
func alignWeights(values, weights *ops.Tensor) {
	v, w := values.Shape(), weights.Shape()
	ok := len(w) <= len(v)
	for i := 0; ok && i < len(w); i++ {
		ok = w[i] == v[i] || w[i] == 1
	}
	if !ok {
		ops.Failf(values.Graph(), "sample weights have shape %v and the values %v; expected one weight for each example or the leading axes of the values", w, v)
	}
}

// add adds weighted values to total and their weights to count. Each example is reduced to the mean of its values and
// weights.
func (a *average) add(r *distribute.Replica, v values, weight *ops.Tensor) {
	x, weight := samples(ops.Cast(v.x, a.dtype).WithMask(nil), weight, ops.Mean)
	total := ops.Sum(x)
	var count *ops.Tensor
	switch {
	case weight != nil:
		count = ops.Sum(weight)
	case x.Rank() > 0:
		count = ops.Length(r, a.dtype, x.Dim(0))
	default:
		count = ops.Ones(r, a.dtype)
	}
	if v.shared {
		objectives.NoFilling(r, x, "a metric of the whole batch")
		total, count = once(r, total), once(r, count)
	}
	r.AssignAdd(a.total, ops.StopGradient(total))
	r.AssignAdd(a.count, count)
}

// samples reduces weighted values, and the weights, to one for each example.
func samples(x, weight *ops.Tensor, reduce func(*ops.Tensor, ...int) *ops.Tensor) (*ops.Tensor, *ops.Tensor) {
	if weight != nil {
		x, weight = objectives.Match(x, weight)
		alignWeights(x, weight)
		if x.Rank() > weight.Rank() {
			x = reduceOver(reduce, x, after(weight.Rank(), x.Rank()))
		}
		weight = ops.BroadcastTo(weight, x.Shape()...)
		x = ops.Multiply(x, weight)
		weight = reduceOver(reduce, weight, after(1, weight.Rank()))
	}
	return reduceOver(reduce, x, after(1, x.Rank())), weight
}

// reduceOver reduces over axes, of which there may be none.
func reduceOver(reduce func(*ops.Tensor, ...int) *ops.Tensor, x *ops.Tensor, axes []int) *ops.Tensor {
	if len(axes) == 0 {
		return x
	}
	return reduce(x, axes...)
}

// Mean is the weighted mean of its values: Σ w·value / Σ w, where the value of an example with several values is their
// mean. Name: "mean". Behaviour of keras.metrics.Mean.
//
// It averages values, not differences to labels: use UpdateValues. As one of a model's metrics it averages the
// predictions.
type Mean struct {
	average
	Name  string `keras:"name,default=mean"`
	DType string `keras:"dtype,plain,default=float32"` // type of the sums; "" is the model's float type
}

// NewMean returns a Mean of the given name.
func NewMean(name string) *Mean { return &Mean{Name: name} }

// Build implements [Metric].
func (m *Mean) Build(d ir.DType, _, _ ir.Type) error { return m.build(m, m.DType, d) }

// Update implements [Metric] with the predictions as values.
func (m *Mean) Update(_, yPred, sampleWeight *ops.Tensor) { m.UpdateValues(yPred, sampleWeight) }

// UpdateValues takes in values, a scalar or (batch, ...), and their weights, nil for 1.
func (m *Mean) UpdateValues(x, sampleWeight *ops.Tensor) {
	m.wrap(m, x, x.WithMask(nil), sampleWeight, func(_ *distribute.Replica, _, p *ops.Tensor) values {
		return values{x: p.WithMask(x.Mask())}
	})
}

// MetricName implements [Metric].
func (m *Mean) MetricName() string { return m.NameOr(m.Name, "mean") }

// Direction implements [Metric]: it is not known.
func (m *Mean) Direction() string { return "" }

// Sum is the weighted sum of what it is given, Σ w·value over all values. Name: "sum". Behaviour of keras.metrics.Sum.
// As one of a model's metrics it sums the predictions.
type Sum struct {
	Base
	Name  string `keras:"name,default=sum"`
	DType string `keras:"dtype,plain,default=float32"`
	total *distribute.Variable
}

// Build implements [Metric].
func (m *Sum) Build(d ir.DType, _, _ ir.Type) error {
	fresh, err := m.Begin(m, m.DType, d)
	if fresh {
		m.total = m.Add("total")
	}
	return err
}

// Update implements [Metric] with the predictions as values.
func (m *Sum) Update(_, yPred, sampleWeight *ops.Tensor) { m.UpdateValues(yPred, sampleWeight) }

// UpdateValues takes in values, a scalar or (batch, ...), and their weights, nil for 1.
func (m *Sum) UpdateValues(x, sampleWeight *ops.Tensor) {
	inMetric(m, x, func() {
		r := m.ready(m, x, x)
		weight := castWeights(sampleWeight, m.dtype)
		if sampleWeight != r.RowWeights() {
			weight = withOwnMask(weight, x, m.dtype)
		}
		total, _ := samples(ops.Cast(x, m.dtype).WithMask(nil), weight, ops.Sum)
		r.AssignAdd(m.total, ops.StopGradient(ops.Sum(total)))
	})
}

// Result implements [Metric].
func (m *Sum) Result(r *distribute.Replica) *ops.Tensor {
	if m.total == nil {
		return ops.Zeros(r, ir.Float32)
	}
	return read(r, m.total)
}

// MetricName implements [Metric].
func (m *Sum) MetricName() string { return m.NameOr(m.Name, "sum") }

// Direction implements [Metric]: it is not known.
func (m *Sum) Direction() string { return "" }

// Func makes a metric from a function that returns one value for each example, or for each step of an example: the mean
// of the values. Which direction is better is not known; set Better to "max" or "min" for callbacks that need it.
func Func(name string, f func(yTrue, yPred *ops.Tensor) *ops.Tensor) *FuncMetric {
	return &FuncMetric{Name: name, F: f}
}

// FuncMetric is the weighted mean of a function of labels and predictions; see [Func]. It is Keras's MeanMetricWrapper.
type FuncMetric struct {
	average
	F      func(yTrue, yPred *ops.Tensor) *ops.Tensor
	Better string // "max", "min" or "" for not known
	Name   string `keras:"name"`
	DType  string `keras:"dtype,plain,default=float32"`
}

// Build implements [Metric].
func (m *FuncMetric) Build(d ir.DType, _, _ ir.Type) error { return m.build(m, m.DType, d) }

// Update implements [Metric].
func (m *FuncMetric) Update(yTrue, yPred, sampleWeight *ops.Tensor) {
	m.wrap(m, yTrue, yPred, sampleWeight, func(_ *distribute.Replica, t, p *ops.Tensor) values {
		if m.F == nil {
			ops.Failf(p.Graph(), "FuncMetric %q has no function; make it with metrics.Func", m.Name)
		}
		return values{x: m.F(t, p)}
	})
}

// MetricName implements [Metric].
func (m *FuncMetric) MetricName() string { return m.NameOr(m.Name, "metric") }

// Direction implements [Metric].
func (m *FuncMetric) Direction() string { return m.Better }

// ConfigObject is what files have for the function, see [RegisterFunc].
func (m *FuncMetric) ConfigObject() (map[string]any, error) {
	return own.Object(m.F, m.MetricName())
}
