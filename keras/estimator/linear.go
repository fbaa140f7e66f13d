package estimator

import (
	"fmt"
	"math"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// LinearRegressor configures [NewLinearRegressor]: tf.estimator.LinearRegressor. Except for FeatureColumns, the zero
// value of each field is TensorFlow's default.
type LinearRegressor struct {
	FeatureColumns []FeatureColumn
	// LabelDimension is the number of targets per example; 0 means 1.
	LabelDimension int
	// WeightColumn is the feature that weights the examples; "" is none.
	WeightColumn string
	// Optimizer is "Adagrad", "Adam", "Ftrl", "RMSProp" or "SGD", with the learning rate min(0.2, 1/√(number of
	// columns)), or an optimizers.Optimizer; nil is "Ftrl".
	Optimizer any
	Config    RunConfig
	// LossReduction is SumOverBatchSize or Sum.
	LossReduction LossReduction
	// SparseCombiner combines the weights of a categorical column with several values: "sum", "mean" or "sqrtn"; "" is
	// sum.
	SparseCombiner string
}

// NewLinearRegressor makes an estimator from a linear function of its features x, with the squared error as loss:
//
//	ŷ = Σ over columns (x·W) + b;   loss = Σ w·(ŷ - y)² / (batch·dimension)
//
// A categorical column adds the weights of its ids. W and b are initialized with zeros; in a checkpoint they are
// linear/linear_model/<column>/weights and linear/linear_model/bias_weights. Labels are (batch) or (batch,
// LabelDimension). Evaluate returns "loss", "average_loss", "prediction/mean", "label/mean" and "global_step"; Predict
// yields "predictions" (LabelDimension).
func NewLinearRegressor(o LinearRegressor) (*Estimator, error) {
	l := linearModel{o.FeatureColumns, o.Optimizer, o.SparseCombiner}
	return l.estimator("LinearRegressor", regressionHead(o.LabelDimension, o.LossReduction), o.WeightColumn, o.Config)
}

// LinearClassifier configures [NewLinearClassifier]: tf.estimator.LinearClassifier; see [LinearRegressor].
type LinearClassifier struct {
	FeatureColumns []FeatureColumn
	// NClasses is the number of classes; 0 means 2.
	NClasses int
	// WeightColumn is the feature that weights the examples; "" is none.
	WeightColumn string
	// LabelVocabulary lists the classes if labels are words; nil: labels are integers from 0 on.
	LabelVocabulary []string
	// Optimizer is as for [LinearRegressor].
	Optimizer      any
	Config         RunConfig
	LossReduction  LossReduction
	SparseCombiner string
}

// NewLinearClassifier makes an estimator that classifies examples by logits z, which are linear in the features as in
// [NewLinearRegressor]:
//
//	two classes:  z (batch, 1), p = 1/(1+e^-z),  loss = mean of -[y·ln p + (1-y)·ln(1-p)]
//	more:         z (batch, NClasses), p = softmax(z),  loss = mean of -ln p_y
//
// Labels are (batch) or (batch, 1). Evaluate returns "loss", "average_loss", "accuracy" and "global_step", and for two
// classes also "accuracy_baseline", "auc", "auc_precision_recall", "label/mean", "precision", "prediction/mean" and
// "recall". Predict yields "logits", "probabilities", "class_ids" (1), "classes" (text, see data.Strings),
// "all_class_ids", "all_classes", and for two classes "logistic".
func NewLinearClassifier(o LinearClassifier) (*Estimator, error) {
	l := linearModel{o.FeatureColumns, o.Optimizer, o.SparseCombiner}
	return l.estimator("LinearClassifier", classHead(o.NClasses, o.LabelVocabulary, o.LossReduction), o.WeightColumn, o.Config)
}

type linearModel struct {
	columns   []FeatureColumn
	optimizer any
	combiner  string
}

func (l linearModel) estimator(name string, h head, weightColumn string, config RunConfig) (*Estimator, error) {
	if err := checkCombiner(l.combiner); err != nil {
		return nil, fmt.Errorf("estimator: %s: sparse_combiner: %w", name, err)
	}
	if l.combiner == "" {
		l.combiner = "sum"
	}
	if l.optimizer == nil {
		l.optimizer = "Ftrl"
	}
	m := canned{
		name: name, columns: l.columns, head: h, optimizer: l.optimizer, weightColumn: weightColumn, config: config,
		rate: min(0.2, 1/math.Sqrt(float64(max(len(l.columns), 1)))),
	}
	m.logits = func(c *Context, columns []FeatureColumn, in Features) *ops.Tensor {
		return l.logits(c, columns, in, h.dimension)
	}
	return m.estimator()
}

const linearScope = "linear/linear_model"

// logits adds the contributions of the columns.
func (l linearModel) logits(c *Context, columns []FeatureColumn, inputs Features, units int) *ops.Tensor {
	c.scope = linearScope
	var sum *ops.Tensor
	for _, column := range columns {
		x := inputs.Get(column.base().ColumnName())
		var part *ops.Tensor
		if categorical, ok := column.(CategoricalColumn); ok {
			part = combine(c.Read(linearWeights(c, column, categorical.NumBuckets(), units)), x, l.combiner)
		} else {
			dense := column.(DenseColumn)
			part = ops.Matmul(dense.dense(c, x), c.Read(linearWeights(c, column, dense.Width(), units)))
		}
		if sum != nil {
			part = ops.Add(sum, part)
		}
		sum = part
	}
	bias := c.GetVariable(distribute.VariableSpec{Name: linearScope + "/bias_weights", Shape: ir.Shape{units}, DType: ir.Float32})
	return ops.Add(sum, c.Read(bias))
}

func linearWeights(c *Context, column FeatureColumn, rows, units int) *distribute.Variable {
	return c.GetVariable(distribute.VariableSpec{
		Name: linearScope + "/" + column.ColumnName() + "/weights", Shape: ir.Shape{rows, units}, DType: ir.Float32,
	})
}
