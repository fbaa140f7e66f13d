package estimator

import (
	"fmt"
	"slices"
	"sort"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/optimizers"
)

// canned is what the ready-made models have in common.
type canned struct {
	name         string
	columns      []FeatureColumn // sorted by name
	head         head
	optimizer    any
	rate         float64 // of an optimizer given by name; 0 is the optimizer's own
	weightColumn string
	config       RunConfig
	// logits builds the model; inputs are the values computed on the host, by the name of the base column.
	logits func(c *Context, columns []FeatureColumn, inputs Features) *ops.Tensor
}

// weightsName is the input that holds the weights of the examples.
const weightsName = "\x00weights"

// estimator creates the estimator of the model.
func (m canned) estimator() (*Estimator, error) {
	fail := func(err error) (*Estimator, error) { return nil, fmt.Errorf("estimator: %s: %w", m.name, err) }
	if len(m.columns) == 0 {
		return fail(fmt.Errorf("feature_columns must be given; list at least one column in FeatureColumns"))
	}
	m.columns = slices.Clone(m.columns)
	for _, c := range m.columns {
		if c == nil {
			return fail(fmt.Errorf("a feature column is nil"))
		}
		if err := c.Validate(); err != nil {
			return fail(err)
		}
	}
	sort.SliceStable(m.columns, func(i, j int) bool { return m.columns[i].ColumnName() < m.columns[j].ColumnName() })
	for i, c := range m.columns[1:] {
		if c.ColumnName() == m.columns[i].ColumnName() {
			return fail(fmt.Errorf("Duplicate feature column name found for columns: %s", c.ColumnName()))
		}
	}
	if err := m.head.check(); err != nil {
		return fail(err)
	}
	optimizer, err := optimizerOf(m.optimizer, m.rate)
	if err != nil {
		return fail(err)
	}
	e, err := New(func(c *Context, features Features, labels *ops.Tensor, mode ModeKey, _ Params) (EstimatorSpec, error) {
		return m.head.spec(c, mode, m.logits(c, m.columns, features), labels, features.Get(weightsName), optimizer)
	}, m.config, nil)
	if err != nil {
		return fail(err)
	}
	e.transform, e.predicted = m.transform, m.head.predicted
	return e, nil
}

// transform computes the columns.
func (m canned) transform(features, labels data.Tensors) (x, y named, err error) {
	if features.Names == nil {
		return x, y, fmt.Errorf("features should be a dictionary of tensors by name; hand the data set's inputs over as a map, received %d without names", features.Len())
	}
	raw := rawFeatures{features}
	for _, c := range m.columns {
		base := c.base()
		if slices.Contains(x.names, base.ColumnName()) {
			continue
		}
		a, err := base.compute(raw)
		if err != nil {
			return x, y, err
		}
		x.names, x.arrays = append(x.names, base.ColumnName()), append(x.arrays, a)
	}
	if m.weightColumn != "" && labels.Len() > 0 {
		a, err := NumericColumn{Key: m.weightColumn}.compute(raw)
		if err != nil {
			return x, y, fmt.Errorf("weight column: %w", err)
		}
		x.names, x.arrays = append(x.names, weightsName), append(x.arrays, a)
	}
	labels, err = m.head.hostLabels(labels)
	if err == nil {
		y, err = namedArrays(labels)
	}
	return x, y, err
}

// optimizerNames are the names of optimizers that TensorFlow's estimators accept.
var optimizerNames = []string{"Adagrad", "Adam", "Ftrl", "RMSProp", "SGD"}

// optimizerOf returns the optimizer that v specifies: one of the names, with the given learning rate, or an optimizer.
func optimizerOf(v any, rate float64) (optimizers.Optimizer, error) {
	var learningRate any
	if rate != 0 {
		learningRate = rate
	}
	switch v := v.(type) {
	case optimizers.Optimizer:
		return v, nil
	case string:
		switch v {
		case "Adagrad":
			return &optimizers.Adagrad{LearningRate: learningRate}, nil
		case "Adam":
			return &optimizers.Adam{LearningRate: learningRate}, nil
		case "Ftrl":
			return &optimizers.Ftrl{LearningRate: learningRate}, nil
		case "RMSProp":
			return &optimizers.RMSprop{LearningRate: learningRate}, nil
		case "SGD":
			return &optimizers.SGD{LearningRate: learningRate}, nil
		}
		return nil, fmt.Errorf("Unsupported optimizer name: %s. Supported names are: %q", v, optimizerNames)
	}
	return nil, fmt.Errorf("The given object is not an Optimizer instance. Given: %T; use an optimizers.Optimizer or one of the names %q", v, optimizerNames)
}
