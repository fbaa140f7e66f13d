package estimator

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/metrics"
	"github.com/gokeras/gokeras/optimizers"
)

// LossReduction says how a ready-made model reduces the losses of a batch to one number.
type LossReduction string

// The reductions. With SumOverBatchSize gradients are averaged over the replicas, with Sum they are added.
const (
	SumOverBatchSize LossReduction = "" // Σ w·l / number of losses; the default
	Sum              LossReduction = "sum"
)

// head is the final part of a ready-made model: loss, predictions and metrics computed from logits (batch, dimension).
type head struct {
	kind       headKind
	dimension  int      // number of logits
	classes    int      // number of classes of a classifier
	vocabulary []string // labels of a classifier, if they are words
	reduction  LossReduction
}

type headKind int

const (
	regression headKind = iota
	binaryClass
	multiClass
)

func (h head) check() error {
	if h.reduction != SumOverBatchSize && h.reduction != Sum {
		return fmt.Errorf("loss_reduction %q is unknown; use SumOverBatchSize or Sum", h.reduction)
	}
	if h.kind == regression && h.dimension < 1 {
		return fmt.Errorf("label_dimension must be at least 1, given: %d", h.dimension)
	}
	if h.kind != regression && h.classes < 2 {
		return fmt.Errorf("n_classes must be > 1: %d", h.classes)
	}
	if n := len(h.vocabulary); n > 0 && (n != h.classes || repeats(h.vocabulary)) {
		return fmt.Errorf("Length of label_vocabulary must equal to n_classes, and its words must differ. Given label_vocabulary: %q, n_classes: %d", h.vocabulary, h.classes)
	}
	return nil
}

// regressionHead returns the head of a regressor.
func regressionHead(dimension int, r LossReduction) head {
	if dimension == 0 {
		dimension = 1
	}
	return head{kind: regression, dimension: dimension, reduction: r}
}

// classHead returns the head of a classifier; 0 classes means 2.
func classHead(classes int, vocabulary []string, r LossReduction) head {
	if classes == 0 {
		classes = 2
	}
	if classes == 2 {
		return head{kind: binaryClass, dimension: 1, classes: 2, vocabulary: slices.Clone(vocabulary), reduction: r}
	}
	return head{kind: multiClass, dimension: classes, classes: classes, vocabulary: slices.Clone(vocabulary), reduction: r}
}

// spec makes the result of a ModelFn from logits. optimizer is not nil in TRAIN.
func (h head) spec(c *Context, mode ModeKey, logits, labels, weights *ops.Tensor, optimizer optimizers.Optimizer) (EstimatorSpec, error) {
	s := EstimatorSpec{Mode: mode, Predictions: h.predictions(logits)}
	if mode == PREDICT {
		return s, nil
	}
	labels, err := h.labels(labels, logits)
	if err != nil {
		return s, err
	}
	if weights != nil {
		if weights = ops.Reshape(weights, -1, 1); weights.Dim(0) != logits.Dim(0) {
			return s, fmt.Errorf("the weights have %d rows and the logits %d; expected one weight for each example", weights.Dim(0), logits.Dim(0))
		}
	}
	values := h.values(logits, labels) // (batch, dimension), or (batch, 1) for a classifier
	total := values
	if weights != nil {
		total = ops.Multiply(values, weights)
	}
	s.Loss = ops.Sum(total)
	if n := values.Shape().Size(); h.reduction == SumOverBatchSize && n > 0 {
		s.Loss = ops.DivideScalar(s.Loss, float64(n))
	}
	switch {
	case mode == EVAL:
		h.measure(&s, logits, labels, values, weights)
	case h.reduction == Sum:
		s.TrainOp = c.minimizeShare(optimizer, s.Loss, nil)
	default:
		s.TrainOp = c.Minimize(optimizer, s.Loss)
	}
	return s, nil
}

// labels converts labels to the form for the loss: floats (batch, dimension) or ids (batch, 1).
func (h head) labels(labels, logits *ops.Tensor) (*ops.Tensor, error) {
	if labels == nil {
		return nil, fmt.Errorf("You must provide a labels Tensor; the input function gave none")
	}
	width := h.dimension
	if h.kind == multiClass {
		width = 1
	}
	if labels.Rank() == 1 {
		labels = ops.ExpandDims(labels, -1)
	}
	if want := (ir.Shape{logits.Dim(0), width}); !labels.Shape().Equal(want) {
		return nil, fmt.Errorf("the labels have shape %v; expected %v for logits of shape %v", labels.Shape(), want, logits.Shape())
	}
	if h.kind == multiClass {
		if labels.DType().IsFloat() {
			return nil, fmt.Errorf("Labels dtype should be integer. Instead got %v", labels.DType())
		}
		return labels, nil
	}
	return ops.Cast(labels, logits.DType()), nil
}

// values returns the losses before weighting.
func (h head) values(logits, labels *ops.Tensor) *ops.Tensor {
	switch h.kind {
	case binaryClass: // ln(1 + e^x) - x·z, whose derivative is σ(x) - z also at 0
		return ops.Subtract(ops.Softplus(logits), ops.Multiply(logits, labels))
	case multiClass:
		return ops.ExpandDims(ops.SparseSoftmaxCrossEntropy(logits, ops.Squeeze(labels, 1)), -1)
	}
	return ops.Square(ops.Subtract(logits, labels))
}

func (h head) predictions(logits *ops.Tensor) map[string]*ops.Tensor {
	if h.kind == regression {
		return map[string]*ops.Tensor{"predictions": logits}
	}
	out := map[string]*ops.Tensor{"logits": logits}
	two := logits
	if h.kind == binaryClass {
		out["logistic"] = ops.Sigmoid(logits)
		two = ops.Concatenate(1, ops.ZerosLike(logits), logits)
	}
	out["probabilities"] = ops.Softmax(two, -1)
	out["class_ids"] = classIDs(two)
	return out
}

func classIDs(logits *ops.Tensor) *ops.Tensor {
	return ops.Cast(ops.ExpandDims(ops.Argmax(logits, -1), -1), ir.Int64)
}

// measure adds the metrics of evaluation.
func (h head) measure(s *EstimatorSpec, logits, labels, values, weights *ops.Tensor) {
	s.EvalMetricOps = map[string]MetricOp{"average_loss": MeanOp(values, weights)}
	add := func(name string, op MetricOp) {
		op.Weights = weights
		s.EvalMetricOps[name] = op
	}
	compare := func(name string, m metrics.Metric, predictions *ops.Tensor) {
		add(name, MetricOp{Metric: m, Labels: labels, Predictions: predictions})
	}
	switch h.kind {
	case regression:
		add("prediction/mean", MeanOp(logits, nil))
		add("label/mean", MeanOp(labels, nil))
	case multiClass:
		labels = ops.Cast(labels, ir.Int64)
		compare("accuracy", &metrics.Accuracy{}, s.Predictions["class_ids"])
	case binaryClass:
		logistic, classes := s.Predictions["logistic"], ops.Cast(s.Predictions["class_ids"], logits.DType())
		add("prediction/mean", MeanOp(logistic, nil))
		add("label/mean", MeanOp(labels, nil))
		compare("accuracy", &metrics.Accuracy{}, classes)
		compare("precision", &metrics.Precision{}, classes)
		compare("recall", &metrics.Recall{}, classes)
		compare("auc", &metrics.AUC{}, logistic)
		compare("auc_precision_recall", &metrics.AUC{Curve: "PR"}, logistic)
		s.finish = func(results map[string]float64) {
			mean := results["label/mean"]
			results["accuracy_baseline"] = max(mean, 1-mean)
		}
	}
}

// hostLabels turns words into ids, and checks labels that are ids.
func (h head) hostLabels(labels data.Tensors) (data.Tensors, error) {
	if h.kind == regression || labels.Len() == 0 {
		return labels, nil
	}
	f := rawFeatures{data.Tensors{Names: []string{"labels"}, Arrays: labels.Arrays[:1]}}
	if len(h.vocabulary) == 0 {
		if a, err := computed(labels.Arrays[0]); err == nil && !a.Type.DType.IsFloat() {
			for i := range a.Type.Shape.Size() {
				if id := integerAt(a, i); id < 0 || id >= int64(h.classes) {
					return labels, fmt.Errorf("Labels must be in [0, %d), received %d", h.classes, id)
				}
			}
		}
		return labels, nil
	}
	words, rows, width, err := f.words("labels")
	if err != nil {
		return labels, fmt.Errorf("the labels: %w; the model has a LabelVocabulary and wants words", err)
	}
	ids := make([]int64, len(words))
	for i, w := range words {
		at := slices.Index(h.vocabulary, w)
		if at < 0 {
			return labels, fmt.Errorf("the label %q is not in the LabelVocabulary %q", w, h.vocabulary)
		}
		ids[i] = int64(at)
	}
	return data.List(data.Must(data.ArrayOf(ids, rows, width))), nil
}

// predicted adds the text of a prediction: the name of the class, and all ids and names.
func (h head) predicted(p map[string]data.Array) error {
	if h.kind == regression {
		return nil
	}
	ids, ok := p["class_ids"].Elements().([]int64)
	if !ok || len(ids) != 1 {
		return fmt.Errorf("estimator: class_ids are a %T; expected one id", p["class_ids"].Elements())
	}
	names, all := h.vocabulary, make([]int32, h.classes)
	for i := range all {
		all[i] = int32(i)
		if len(names) < len(all) {
			names = append(slices.Clone(names), strconv.Itoa(i))
		}
	}
	var err error
	if p["classes"], err = data.Text(names[ids[0] : ids[0]+1]); err != nil {
		return err
	}
	p["all_class_ids"] = data.Must(data.ArrayOf(all, len(all)))
	p["all_classes"], err = data.Text(names)
	return err
}
