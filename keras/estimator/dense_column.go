package estimator

import (
	"fmt"
	"math"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers/initializers"
)

// IndicatorColumn represents a categorical column by the number of occurrences of each category:
// tf.feature_column.indicator_column. Its name is "<column>_indicator".
type IndicatorColumn struct{ Categorical CategoricalColumn }

// ColumnName implements [FeatureColumn].
func (c IndicatorColumn) ColumnName() string { return nameOf(c.Categorical) + "_indicator" }

// Validate implements [FeatureColumn].
func (c IndicatorColumn) Validate() error {
	return validateCategorical("IndicatorColumn", c.Categorical)
}

// Width returns the number of categories.
func (c IndicatorColumn) Width() int { return c.Categorical.NumBuckets() }

func (c IndicatorColumn) base() hostColumn { return c.Categorical.base() }

func (c IndicatorColumn) dense(_ *Context, in *ops.Tensor) *ops.Tensor { return counts(in, c.Width()) }

func nameOf(c FeatureColumn) string {
	if c == nil {
		return ""
	}
	return c.ColumnName()
}

func validateCategorical(what string, c CategoricalColumn) error {
	if c == nil {
		return fmt.Errorf("estimator: %s: the categorical column is nil", what)
	}
	return c.Validate()
}

// EmbeddingColumn learns a vector for each category and combines the vectors of those that occur:
// tf.feature_column.embedding_column. An example without any category gives zeros. Its name is "<column>_embedding".
type EmbeddingColumn struct {
	Categorical CategoricalColumn
	// Dimension is the length of the vectors.
	Dimension int
	// Combiner is "mean", "sum" or "sqrtn" (the sum divided by the square root of the number of vectors); "" is mean.
	Combiner string
	// Initializer initializes the vectors; nil is a normal distribution with standard deviation 1/√Dimension, truncated
	// at two standard deviations.
	Initializer distribute.Initializer
	// Frozen says that the vectors are not trained.
	Frozen bool
}

// ColumnName implements [FeatureColumn].
func (c EmbeddingColumn) ColumnName() string { return nameOf(c.Categorical) + "_embedding" }

// Validate implements [FeatureColumn].
func (c EmbeddingColumn) Validate() error {
	if c.Dimension < 1 {
		return fmt.Errorf("estimator: EmbeddingColumn: Invalid dimension %d; expected at least 1", c.Dimension)
	}
	if err := checkCombiner(c.Combiner); err != nil {
		return fmt.Errorf("estimator: EmbeddingColumn: %w", err)
	}
	return validateCategorical("EmbeddingColumn", c.Categorical)
}

// Width returns Dimension.
func (c EmbeddingColumn) Width() int { return c.Dimension }

func (c EmbeddingColumn) base() hostColumn { return c.Categorical.base() }

func (c EmbeddingColumn) dense(ctx *Context, in *ops.Tensor) *ops.Tensor {
	init := c.Initializer
	if init == nil {
		init = &initializers.TruncatedNormal{Stddev: new(1 / math.Sqrt(float64(c.Dimension)))}
	}
	table := ctx.GetVariable(distribute.VariableSpec{
		Name: ctx.scope + "/" + c.ColumnName() + "/embedding_weights", Shape: ir.Shape{c.Categorical.NumBuckets(), c.Dimension}, DType: ir.Float32,
		Initializer: init, Frozen: c.Frozen,
	})
	combiner := c.Combiner
	if combiner == "" {
		combiner = "mean"
	}
	return combine(ctx.Read(table), in, combiner)
}

func checkCombiner(name string) error {
	switch name {
	case "", "mean", "sum", "sqrtn":
		return nil
	}
	return fmt.Errorf("combiner %q is unknown; use \"mean\", \"sum\" or \"sqrtn\"", name)
}

// combine adds the rows of a table (buckets, dimension) selected by ids (batch, width), where -1 selects none, and
// divides the sum by their number n (mean), by √n (sqrtn) or not at all (sum). The result is (batch, dimension).
func combine(table, ids *ops.Tensor, combiner string) *ops.Tensor {
	present := ops.Cast(ops.CompareScalar(ir.Ge, ids, 0), table.DType())
	rows := ops.Embedding(table, ops.MaximumScalar(ids, 0))
	sum := ops.Sum(ops.Multiply(rows, ops.ExpandDims(present, -1)), 1)
	n := ops.MaximumScalar(ops.ExpandDims(ops.Sum(present, 1), -1), 1)
	switch combiner {
	case "mean":
		return ops.Divide(sum, n)
	case "sqrtn":
		return ops.Divide(sum, ops.Sqrt(n))
	}
	return sum
}
