package metrics

import (
	"fmt"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/objectives"
	"github.com/gokeras/gokeras/kernels/ir"
)

// overlap is the state of the intersection-over-union metrics: a confusion matrix, label by prediction. It counts in
// int64, which no number of pixels overflows, unless the metric's DType is a float type.
type overlap struct {
	Base
	matrix  *distribute.Variable
	targets []int
	float   ir.DType // of the result
}

// overlapOptions are the fields of the metrics.
type overlapOptions struct {
	classes   int
	targets   []int // nil: all
	ignore    *int
	denseTrue bool
	densePred bool
	axis      *int
	policy    string
}

// maxClasses limits the number of classes, because the confusion matrix has as many rows and columns.
const maxClasses = 1 << 16

func (o *overlap) build(m Metric, d ir.DType, c overlapOptions) error {
	if c.classes <= 0 || c.classes > maxClasses {
		return fmt.Errorf("metric %q: NumClasses must be positive and at most %d, received %d", m.MetricName(), maxClasses, c.classes)
	}
	for _, id := range c.targets {
		if id < 0 || id >= c.classes {
			return fmt.Errorf("metric %q: target class %d is outside [0, %d)", m.MetricName(), id, c.classes)
		}
	}
	state := ir.Int64
	if c.policy != "" && c.policy != "int" {
		p, err := ops.ParseDTypePolicy(c.policy)
		if err != nil {
			return fmt.Errorf("metric %q: %w", m.MetricName(), err)
		}
		state = p.Compute
	}
	fresh, err := o.Begin(m, "", state)
	if fresh {
		o.targets = c.targets
		if o.targets == nil {
			for i := range c.classes {
				o.targets = append(o.targets, i)
			}
		}
		o.float = d
		if !d.IsFloat() {
			o.float = ir.Float32
		}
		o.matrix = o.Add("total_confusion_matrix", c.classes, c.classes)
	}
	return err
}

//go:noinline
func (o *overlap) update(m Metric, yTrue, yPred, weight *ops.Tensor, c overlapOptions) {
	inMetric(m, yPred, func() {
		r := o.ready(m, yTrue, yPred)
		t, p := numbers(yTrue, c.denseTrue, or(c.axis, -1)), numbers(yPred, c.densePred, or(c.axis, -1))
		t, p = objectives.Match(t, p)
		if t.Shape().Size() != p.Shape().Size() || t.Dim(0) != p.Dim(0) {
			ops.Failf(p.Graph(), "labels have shape %v and predictions %v; they must name as many classes", yTrue.Shape(), yPred.Shape())
		}
		size := t.Shape().Size()
		w := ops.Ones(r, o.dtype, size)
		if weight = castWeights(weight, o.dtype); weight != nil {
			w = o.spread(t, weight)
		}
		t, p = ops.Reshape(t, size), ops.Reshape(p, size)
		inside := func(x *ops.Tensor) *ops.Tensor {
			return ops.LogicalAnd(ops.CompareScalar(ir.Ge, x, 0), ops.CompareScalar(ir.Lt, x, float64(c.classes)))
		}
		valid := ops.LogicalAnd(inside(t), inside(p))
		if c.ignore != nil {
			valid = ops.LogicalAnd(valid, ops.CompareScalar(ir.Ne, t, float64(*c.ignore)))
		}
		place := ops.Add(ops.MultiplyScalar(t, float64(c.classes)), p)
		place = ops.Where(valid, place, ops.FullLike(place, -1))
		r.AssignAdd(o.matrix, ops.Reshape(ops.SegmentSum(w, place, c.classes*c.classes), c.classes, c.classes))
	})
}

// numbers returns class numbers as int64: those given, or the indices of the largest elements along axis.
func numbers(x *ops.Tensor, dense bool, axis int) *ops.Tensor {
	x = x.WithMask(nil)
	if dense {
		x = ops.Argmax(x, axis)
	}
	if x.Rank() == 0 {
		ops.Failf(x.Graph(), "labels and predictions must be (batch, ...), received a scalar")
	}
	return ops.Cast(x, ir.Int64)
}

// spread returns a vector with a weight for each element of t: the weight of its example or position.
func (o *overlap) spread(t, weight *ops.Tensor) *ops.Tensor {
	t, weight = objectives.Match(t, weight)
	alignWeights(t, weight)
	for weight.Rank() < t.Rank() {
		weight = ops.ExpandDims(weight, -1)
	}
	return ops.Reshape(ops.BroadcastTo(weight, t.Shape()...), t.Shape().Size())
}

// Result implements [Metric]: the mean over the target classes that have been seen.
func (o *overlap) Result(r *distribute.Replica) *ops.Tensor {
	if o.matrix == nil {
		return ops.Zeros(r, ir.Float32)
	}
	matrix := read(r, o.matrix)
	hit := ops.Diagonal(matrix, 0, 1)
	union := ops.Subtract(ops.Add(ops.Sum(matrix, 0), ops.Sum(matrix, 1)), hit)
	index := make([]float64, len(o.targets))
	for i, id := range o.targets {
		index[i] = float64(id)
	}
	pick := func(x *ops.Tensor) *ops.Tensor {
		return ops.Cast(ops.Take(x, ops.Constant(r, ir.Int32, ir.Shape{len(index)}, index), 0), o.float)
	}
	hit, union = pick(hit), pick(union)
	seen := ops.CompareScalar(ir.Gt, union, 1e-9)
	share := ops.Divide(hit, ops.AddScalar(union, objectives.Epsilon))
	return ops.Divide(ops.Sum(share), ops.AddScalar(ops.Sum(ops.Cast(seen, o.float)), objectives.Epsilon))
}

// Direction implements [Metric].
func (o *overlap) Direction() string { return better }

// IoU is the intersection over union TP/(TP+FP+FN) of classes, averaged over TargetClassIDs; classes that occur neither
// in the labels nor in the predictions are skipped. Class numbers outside [0, NumClasses), and labels equal to
// IgnoreClass, do not count. Name: "io_u". Behaviour of keras.metrics.IoU.
//
// It counts in int64, unless DType says otherwise, and truncates float sample weights to integers, as Keras does: an
// example of weight 0.5 does not count at all. With DType "float32" it does. Fit, Evaluate, TrainOnBatch and
// TestOnBatch print a warning once if a weight is not an integer.
//
// Shapes: class numbers (batch, ...); with DenseYTrue or DenseYPred scores (batch, ..., classes), of which the largest
// along Axis counts.
type IoU struct {
	overlap
	NumClasses     int    `keras:"num_classes"`
	TargetClassIDs []int  `keras:"target_class_ids"`
	IgnoreClass    *int   `keras:"ignore_class"`      // nil: none
	DenseYTrue     bool   `keras:"sparse_y_true,not"` // labels are scores or one-hot
	DenseYPred     bool   `keras:"sparse_y_pred,not"` // predictions are scores
	Axis           *int   `keras:"axis,default=-1"`   // of the classes; nil is -1
	Name           string `keras:"name,default=io_u"`
	DType          string `keras:"dtype,plain,default=int"` // "" is int64
}

func (m *IoU) options() overlapOptions {
	return overlapOptions{classes: m.NumClasses, targets: m.TargetClassIDs, ignore: m.IgnoreClass, denseTrue: m.DenseYTrue, densePred: m.DenseYPred, axis: m.Axis, policy: m.DType}
}

// Build implements [Metric].
func (m *IoU) Build(d ir.DType, _, _ ir.Type) error {
	if len(m.TargetClassIDs) == 0 {
		return fmt.Errorf("metric %q: TargetClassIDs is empty; for all classes use MeanIoU", m.MetricName())
	}
	return m.build(m, d, m.options())
}

// Update implements [Metric].
func (m *IoU) Update(yTrue, yPred, sampleWeight *ops.Tensor) {
	m.update(m, yTrue, yPred, sampleWeight, m.options())
}

// MetricName implements [Metric].
func (m *IoU) MetricName() string { return m.NameOr(m.Name, "io_u") }

// MeanIoU is [IoU] averaged over all classes. Name: "mean_io_u". Behaviour of keras.metrics.MeanIoU.
//
// Shapes: class numbers (batch, ...); with DenseYTrue or DenseYPred scores (batch, ..., classes), of which the largest
// along Axis counts.
//
// Sample weights that are not integers need DType "float32", see [IoU].
type MeanIoU struct {
	overlap
	NumClasses  int    `keras:"num_classes"`
	IgnoreClass *int   `keras:"ignore_class"`      // nil: none
	DenseYTrue  bool   `keras:"sparse_y_true,not"` // labels are scores or one-hot
	DenseYPred  bool   `keras:"sparse_y_pred,not"` // predictions are scores
	Axis        *int   `keras:"axis,default=-1"`   // of the classes; nil is -1
	Name        string `keras:"name,default=mean_io_u"`
	DType       string `keras:"dtype,plain,default=int"` // "" is int64
}

func (m *MeanIoU) options() overlapOptions {
	return overlapOptions{classes: m.NumClasses, ignore: m.IgnoreClass, denseTrue: m.DenseYTrue, densePred: m.DenseYPred, axis: m.Axis, policy: m.DType}
}

// Build implements [Metric].
func (m *MeanIoU) Build(d ir.DType, _, _ ir.Type) error { return m.build(m, d, m.options()) }

// Update implements [Metric].
func (m *MeanIoU) Update(yTrue, yPred, sampleWeight *ops.Tensor) {
	m.update(m, yTrue, yPred, sampleWeight, m.options())
}

// MetricName implements [Metric].
func (m *MeanIoU) MetricName() string { return m.NameOr(m.Name, "mean_io_u") }

// BinaryIoU is [IoU] for two classes: predictions count as 1 where they are at least Threshold. Name: "binary_io_u".
// Behaviour of keras.metrics.BinaryIoU.
//
// Shapes: labels, 0 or 1, and predictions (batch, ...).
//
// Sample weights that are not integers need DType "float32", see [IoU].
type BinaryIoU struct {
	overlap
	TargetClassIDs []int    `keras:"target_class_ids,default=[0,1]"` // nil is 0 and 1
	Threshold      *float64 `keras:"threshold,default=0.5"`          // nil is 0.5
	Name           string   `keras:"name,default=binary_io_u"`
	DType          string   `keras:"dtype,plain,default=int"` // "" is int64
}

func (m *BinaryIoU) options() overlapOptions {
	return overlapOptions{classes: 2, targets: m.TargetClassIDs, policy: m.DType}
}

// Build implements [Metric].
func (m *BinaryIoU) Build(d ir.DType, _, _ ir.Type) error { return m.build(m, d, m.options()) }

// Update implements [Metric].
func (m *BinaryIoU) Update(yTrue, yPred, sampleWeight *ops.Tensor) {
	positive := ops.CompareScalar(ir.Ge, ops.Cast(yPred, floatOf(yPred)), or(m.Threshold, 0.5))
	m.update(m, yTrue, ops.Cast(positive, ir.Int32).WithMask(yPred.Mask()), sampleWeight, m.options())
}

// MetricName implements [Metric].
func (m *BinaryIoU) MetricName() string { return m.NameOr(m.Name, "binary_io_u") }

// OneHotIoU is [IoU] for labels and predictions that are one-hot or scores. Name: "one_hot_io_u". Behaviour of
// keras.metrics.OneHotIoU.
//
// Shapes: labels and predictions (batch, ..., classes), of which the largest along Axis counts; with SparseYPred
// predictions are class numbers (batch, ...).
//
// Sample weights that are not integers need DType "float32", see [IoU].
type OneHotIoU struct {
	overlap
	NumClasses     int    `keras:"num_classes"`
	TargetClassIDs []int  `keras:"target_class_ids"`
	IgnoreClass    *int   `keras:"ignore_class"` // nil: none
	SparseYPred    bool   `keras:"sparse_y_pred"`
	Axis           *int   `keras:"axis,default=-1"` // of the classes; nil is -1
	Name           string `keras:"name,default=one_hot_io_u"`
	DType          string `keras:"dtype,plain,default=int"` // "" is int64
}

func (m *OneHotIoU) options() overlapOptions {
	return overlapOptions{classes: m.NumClasses, targets: m.TargetClassIDs, ignore: m.IgnoreClass, denseTrue: true, densePred: !m.SparseYPred, axis: m.Axis, policy: m.DType}
}

// Build implements [Metric].
func (m *OneHotIoU) Build(d ir.DType, _, _ ir.Type) error {
	if len(m.TargetClassIDs) == 0 {
		return fmt.Errorf("metric %q: TargetClassIDs is empty; for all classes use OneHotMeanIoU", m.MetricName())
	}
	return m.build(m, d, m.options())
}

// Update implements [Metric].
func (m *OneHotIoU) Update(yTrue, yPred, sampleWeight *ops.Tensor) {
	m.update(m, yTrue, yPred, sampleWeight, m.options())
}

// MetricName implements [Metric].
func (m *OneHotIoU) MetricName() string { return m.NameOr(m.Name, "one_hot_io_u") }

// OneHotMeanIoU is [OneHotIoU] averaged over all classes. Name: "one_hot_mean_io_u". Behaviour of
// keras.metrics.OneHotMeanIoU.
//
// Shapes: labels and predictions (batch, ..., classes), of which the largest along Axis counts; with SparseYPred
// predictions are class numbers (batch, ...).
//
// Sample weights that are not integers need DType "float32", see [IoU].
type OneHotMeanIoU struct {
	overlap
	NumClasses  int    `keras:"num_classes"`
	IgnoreClass *int   `keras:"ignore_class"` // nil: none
	SparseYPred bool   `keras:"sparse_y_pred"`
	Axis        *int   `keras:"axis,default=-1"` // of the classes; nil is -1
	Name        string `keras:"name,default=one_hot_mean_io_u"`
	DType       string `keras:"dtype,plain,default=int"` // "" is int64
}

func (m *OneHotMeanIoU) options() overlapOptions {
	return overlapOptions{classes: m.NumClasses, ignore: m.IgnoreClass, denseTrue: true, densePred: !m.SparseYPred, axis: m.Axis, policy: m.DType}
}

// Build implements [Metric].
func (m *OneHotMeanIoU) Build(d ir.DType, _, _ ir.Type) error { return m.build(m, d, m.options()) }

// Update implements [Metric].
func (m *OneHotMeanIoU) Update(yTrue, yPred, sampleWeight *ops.Tensor) {
	m.update(m, yTrue, yPred, sampleWeight, m.options())
}

// MetricName implements [Metric].
func (m *OneHotMeanIoU) MetricName() string { return m.NameOr(m.Name, "one_hot_mean_io_u") }
