package estimator

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers/activations"
	"github.com/gokeras/gokeras/layers/initializers"
)

// DNNRegressor configures [NewDNNRegressor]: tf.estimator.DNNRegressor. Except for HiddenUnits and FeatureColumns, the
// zero value of each field is TensorFlow's default.
type DNNRegressor struct {
	// HiddenUnits are the widths of the hidden layers.
	HiddenUnits []int
	// FeatureColumns are dense: numeric, bucketized, indicator or embedding columns.
	FeatureColumns []FeatureColumn
	// LabelDimension is the number of targets per example; 0 means 1.
	LabelDimension int
	// WeightColumn is the feature that weights the examples; "" is none.
	WeightColumn string
	// Optimizer is "Adagrad", "Adam", "Ftrl", "RMSProp" or "SGD" with the optimizer's own learning rate, or an
	// optimizers.Optimizer. nil is Adagrad with the learning rate 0.05, as TensorFlow documents and TensorFlow 1
	// implements; the DNN estimators of TensorFlow 2 pass no learning rate and so get Keras's 0.001.
	Optimizer any
	// Activation is the activation of the hidden layers, by name or as a function; nil is "relu".
	Activation any
	// Dropout is the fraction of each hidden layer's outputs that is dropped in training; 0 is none.
	Dropout       float64
	Config        RunConfig
	LossReduction LossReduction
}

// NewDNNRegressor makes an estimator from a deep neural network with the squared error as loss:
//
//	h0 = columns side by side, in the order of their names;  h(i+1) = dropout(activation(h(i)·K(i) + b(i)));  ŷ = h·K + b
//
// Kernels are initialized from the uniform distribution of Glorot and Bengio, biases with zeros. In a checkpoint they
// are dnn/hiddenlayer_<i>/kernel and bias, dnn/logits/kernel and bias. Labels, predictions and results are those of
// [NewLinearRegressor].
func NewDNNRegressor(o DNNRegressor) (*Estimator, error) {
	d := dnnModel{o.HiddenUnits, o.FeatureColumns, o.Optimizer, o.Activation, o.Dropout}
	return d.estimator("DNNRegressor", regressionHead(o.LabelDimension, o.LossReduction), o.WeightColumn, o.Config)
}

// DNNClassifier configures [NewDNNClassifier]: tf.estimator.DNNClassifier; see [DNNRegressor].
type DNNClassifier struct {
	HiddenUnits    []int
	FeatureColumns []FeatureColumn
	// NClasses is the number of classes; 0 means 2.
	NClasses     int
	WeightColumn string
	// LabelVocabulary lists the classes if labels are words; nil: labels are integers from 0 on.
	LabelVocabulary []string
	// Optimizer, Activation and Dropout are as for [DNNRegressor].
	Optimizer     any
	Activation    any
	Dropout       float64
	Config        RunConfig
	LossReduction LossReduction
}

// NewDNNClassifier makes an estimator that classifies examples with a deep neural network as in [NewDNNRegressor],
// whose outputs are the logits. Loss, labels, predictions and results are those of [NewLinearClassifier].
func NewDNNClassifier(o DNNClassifier) (*Estimator, error) {
	d := dnnModel{o.HiddenUnits, o.FeatureColumns, o.Optimizer, o.Activation, o.Dropout}
	return d.estimator("DNNClassifier", classHead(o.NClasses, o.LabelVocabulary, o.LossReduction), o.WeightColumn, o.Config)
}

type dnnModel struct {
	hidden     []int
	columns    []FeatureColumn
	optimizer  any
	activation any
	dropout    float64
}

// dnnRate is the learning rate of the default optimizer.
const dnnRate = 0.05

func (d dnnModel) estimator(name string, h head, weightColumn string, config RunConfig) (*Estimator, error) {
	fail := func(format string, args ...any) (*Estimator, error) {
		return nil, fmt.Errorf("estimator: "+name+": "+format, args...)
	}
	for _, n := range d.hidden {
		if n < 1 {
			return fail("hidden_units must be positive, received %v", d.hidden)
		}
	}
	if !(d.dropout >= 0 && d.dropout < 1) {
		return fail("dropout must be in [0, 1), received %v", d.dropout)
	}
	for _, c := range d.columns {
		if _, ok := c.(DenseColumn); !ok && c != nil {
			return fail("Items of feature_columns must be a DenseColumn. You can wrap a categorical column with an embedding_column or indicator_column. Given: %T %s", c, c.ColumnName())
		}
	}
	if d.activation == nil {
		d.activation = "relu"
	}
	activation, err := activations.Get(d.activation)
	if err != nil {
		return fail("%w", err)
	}
	rate := 0.0
	if d.optimizer == nil {
		d.optimizer, rate = "Adagrad", dnnRate
	}
	d.hidden = slices.Clone(d.hidden)
	m := canned{name: name, columns: d.columns, head: h, optimizer: d.optimizer, rate: rate, weightColumn: weightColumn, config: config}
	m.logits = func(c *Context, columns []FeatureColumn, in Features) *ops.Tensor {
		return d.logits(c, columns, in, activation, h.dimension)
	}
	return m.estimator()
}

func (d dnnModel) logits(c *Context, columns []FeatureColumn, inputs Features, activation activations.Func, units int) *ops.Tensor {
	c.scope = "dnn/input_from_feature_columns/input_layer"
	parts := make([]*ops.Tensor, len(columns))
	for i, column := range columns {
		parts[i] = column.(DenseColumn).dense(c, inputs.Get(column.base().ColumnName()))
	}
	x := ops.Concatenate(1, parts...)
	for i, n := range d.hidden {
		x = activation(affine(c, fmt.Sprint("dnn/hiddenlayer_", i), x, n))
		if c.mode == TRAIN && d.dropout > 0 {
			x = ops.Dropout(x, d.dropout, uint64(i))
		}
	}
	return affine(c, "dnn/logits", x, units)
}

// affine returns x·kernel + bias.
func affine(c *Context, name string, x *ops.Tensor, units int) *ops.Tensor {
	kernel := c.GetVariable(distribute.VariableSpec{
		Name: name + "/kernel", Shape: ir.Shape{x.Dim(1), units}, DType: ir.Float32, Initializer: &initializers.GlorotUniform{},
	})
	bias := c.GetVariable(distribute.VariableSpec{Name: name + "/bias", Shape: ir.Shape{units}, DType: ir.Float32})
	return ops.Add(ops.Matmul(x, c.Read(kernel)), c.Read(bias))
}
