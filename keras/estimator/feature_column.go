package estimator

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// FeatureColumn says how features of the input function become inputs of a ready-made model: tf.feature_column. Columns
// are computed on the host, where text is available; the model receives numbers and ids. A feature is (batch) or
// (batch, width).
type FeatureColumn interface {
	// ColumnName returns the name of the column, by which variables are named and columns are sorted.
	ColumnName() string
	// Validate reports what is wrong with the fields, in TensorFlow's words.
	Validate() error

	// base returns the column that is computed on the host: the column itself, or the categorical column inside it.
	base() hostColumn
}

// hostColumn is a column that is computed on the host.
type hostColumn interface {
	FeatureColumn
	// compute returns the input for the trace: floats (batch, width), or ids (batch, width), where negative ids are
	// ignored.
	compute(features rawFeatures) (kernels.Array, error)
}

// CategoricalColumn is a column of ids: one of a fixed number of categories for each value of a feature.
type CategoricalColumn interface {
	FeatureColumn
	// NumBuckets returns the number of categories.
	NumBuckets() int

	ids(features rawFeatures) (idTable, error)
}

// DenseColumn is a column of numbers, as a DNN needs.
type DenseColumn interface {
	FeatureColumn
	// Width returns the number of values per example.
	Width() int

	// dense returns the values (batch, Width) in a trace; in is what the host computed.
	dense(c *Context, in *ops.Tensor) *ops.Tensor
}

// rawFeatures are the features of a batch by name.
type rawFeatures struct{ tensors data.Tensors }

// get returns a feature.
func (f rawFeatures) get(key string) (data.Array, error) {
	if d := f.tensors.Get(key); !d.IsZero() {
		return d, nil
	}
	return data.Array{}, fmt.Errorf("Feature %s is not in features dictionary; it has %s", key, strings.Join(f.tensors.Names, ", "))
}

// Ids that are not categories. An unknown value has an id, which crossings hash like any other; a missing value gives
// no crossing.
const (
	unknown = -1
	nothing = -2
)

// idTable holds ids, row-major (rows, width); unknown and nothing stand for values without a category.
type idTable struct {
	rows, width int
	ids         []int64
}

func (t idTable) array() kernels.Array {
	a := kernels.NewArray(ir.Type{DType: ir.Int64, Shape: ir.Shape{t.rows, t.width}})
	for i, id := range t.ids {
		for j := range 8 {
			a.Data[8*i+j] = byte(uint64(id) >> (8 * j))
		}
	}
	return a
}

// table returns the shape of a feature as rows and width.
func table(shape []int) (rows, width int) {
	if len(shape) == 0 {
		return 1, 1
	}
	width = 1
	for _, n := range shape[1:] {
		width *= n
	}
	return shape[0], width
}

// words returns a feature of text.
func (f rawFeatures) words(key string) (values []string, rows, width int, err error) {
	d, err := f.get(key)
	if err != nil {
		return nil, 0, 0, err
	}
	values, shape, err := data.Strings(d)
	if err != nil {
		return nil, 0, 0, fmt.Errorf("feature %s: %w", key, err)
	}
	rows, width = table(shape)
	return values, rows, width, nil
}

// whole returns a feature of integers.
func (f rawFeatures) whole(key string) (values []int64, rows, width int, err error) {
	d, err := f.get(key)
	if err != nil {
		return nil, 0, 0, err
	}
	a, err := computed(d)
	if err == nil && a.Type.DType.IsFloat() {
		err = fmt.Errorf("it holds floats; expected whole numbers")
	}
	if err != nil {
		return nil, 0, 0, fmt.Errorf("feature %s: %w", key, err)
	}
	values = make([]int64, a.Type.Shape.Size())
	for i := range values {
		values[i] = integerAt(a, i)
	}
	rows, width = table(a.Type.Shape)
	return values, rows, width, nil
}

// integerAt returns an element of an integer array without converting it to float64, which rounds large integers.
func integerAt(a kernels.Array, i int) int64 {
	size := a.Type.Bytes() / a.Type.Shape.Size()
	if size != 8 {
		return int64(a.Element(i))
	}
	var v uint64
	for j := range 8 {
		v |= uint64(a.Data[8*i+j]) << (8 * j)
	}
	return int64(v)
}

// NumericColumn is a feature of numbers: tf.feature_column.numeric_column. Its name is Key; NormalizerFn is applied to
// each number.
type NumericColumn struct {
	Key string
	// Shape is the shape of one example; nil is [1].
	Shape []int
	// DefaultValue replaces the feature in batches that lack it: one number for all elements, or one for each element
	// of Shape. With nil a missing feature is an error.
	DefaultValue []float64
	// DType "" is "float32"; other types of numbers are accepted and computed with as float32.
	DType        string
	NormalizerFn func(x float64) float64
}

// ColumnName returns Key.
func (c NumericColumn) ColumnName() string { return c.Key }

// Width returns the product of Shape.
func (c NumericColumn) Width() int {
	n := 1
	for _, d := range c.Shape {
		n *= d
	}
	return n
}

// Validate implements [FeatureColumn].
func (c NumericColumn) Validate() error {
	if c.Key == "" {
		return fmt.Errorf("estimator: NumericColumn: key must be a string that is not empty")
	}
	for _, d := range c.Shape {
		if d <= 0 {
			return fmt.Errorf("estimator: NumericColumn: shape dimensions must be greater than 0. shape: %s, key: %s", tuple(c.Shape), c.Key)
		}
	}
	if c.DType != "" {
		if d, err := ir.ParseDType(c.DType); err != nil || d == ir.Bool {
			return fmt.Errorf("estimator: NumericColumn: dtype must be convertible to float. dtype: <dtype: '%s'>, key: %s", c.DType, c.Key)
		}
	}
	if n := len(c.DefaultValue); n > 1 && n != c.Width() {
		return fmt.Errorf("estimator: NumericColumn: The shape of default_value must be equal to given shape. default_value: %s, shape: %s, key: %s",
			floatList(c.DefaultValue), tuple(c.shape()), c.Key)
	}
	return nil
}

func (c NumericColumn) shape() []int {
	if c.Shape == nil {
		return []int{1}
	}
	return c.Shape
}

// tuple prints a shape as Python does.
func tuple(shape []int) string {
	parts := make([]string, len(shape))
	for i, n := range shape {
		parts[i] = strconv.Itoa(n)
	}
	if len(parts) == 1 {
		return "(" + parts[0] + ",)"
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

func floatList(list []float64) string {
	parts := make([]string, len(list))
	for i, x := range list {
		parts[i] = strconv.FormatFloat(x, 'f', -1, 64)
		if x == math.Trunc(x) && !math.IsInf(x, 0) {
			parts[i] = strconv.FormatFloat(x, 'f', 1, 64)
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func (c NumericColumn) base() hostColumn { return c }

// values returns the numbers (rows, Width).
func (c NumericColumn) values(features rawFeatures) (rows int, values []float64, err error) {
	d, err := features.get(c.Key)
	if err != nil {
		if c.DefaultValue == nil || features.tensors.Len() == 0 {
			return 0, nil, err
		}
		rows, _ = table(features.tensors.Arrays[0].Shape())
		for i := range rows * c.Width() {
			values = append(values, c.DefaultValue[i%c.Width()%len(c.DefaultValue)])
		}
		return rows, c.normalized(values), nil
	}
	a, err := computed(d)
	if err != nil {
		return 0, nil, fmt.Errorf("feature %s: %w", c.Key, err)
	}
	rows, width := table(a.Type.Shape)
	if width != c.Width() {
		return 0, nil, fmt.Errorf("feature %s has shape %v; expected (batch, %s) for a numeric column of shape %s", c.Key, a.Type.Shape,
			strings.Trim(tuple(c.shape()), "(,)"), tuple(c.shape()))
	}
	return rows, c.normalized(a.Float64s()), nil
}

func (c NumericColumn) normalized(values []float64) []float64 {
	if c.NormalizerFn != nil {
		for i, x := range values {
			values[i] = c.NormalizerFn(x)
		}
	}
	return values
}

func (c NumericColumn) compute(features rawFeatures) (kernels.Array, error) {
	rows, values, err := c.values(features)
	if err != nil {
		return kernels.Array{}, err
	}
	return kernels.FromFloat64s(ir.Float32, ir.Shape{rows, c.Width()}, values)
}

func (c NumericColumn) dense(_ *Context, in *ops.Tensor) *ops.Tensor { return in }

// BucketizedColumn sorts the numbers of a column into buckets: tf.feature_column.bucketized_column. Boundaries b1 < ...
// < bn give the buckets (-∞, b1), [b1, b2), ..., [bn, ∞). It is a dense column (one-hot for each number) and a
// categorical one. Its name is "<key>_bucketized".
type BucketizedColumn struct {
	Source     NumericColumn
	Boundaries []float64
}

// ColumnName implements [FeatureColumn].
func (c BucketizedColumn) ColumnName() string { return c.Source.Key + "_bucketized" }

// Validate implements [FeatureColumn].
func (c BucketizedColumn) Validate() error {
	if len(c.Boundaries) == 0 || !sort.Float64sAreSorted(c.Boundaries) || len(slices.Compact(slices.Clone(c.Boundaries))) != len(c.Boundaries) {
		return fmt.Errorf("estimator: BucketizedColumn: boundaries must be a sorted list, received %v; expected at least one number, in increasing order", c.Boundaries)
	}
	if len(c.Source.shape()) > 1 {
		return fmt.Errorf("estimator: BucketizedColumn: source_column must be one-dimensional column. Given: %s of shape %s", c.Source.Key, tuple(c.Source.shape()))
	}
	return c.Source.Validate()
}

// NumBuckets returns the number of buckets times the width of the source.
func (c BucketizedColumn) NumBuckets() int { return (len(c.Boundaries) + 1) * c.Source.Width() }

// Width returns NumBuckets: the one-hot vectors are concatenated.
func (c BucketizedColumn) Width() int { return c.NumBuckets() }

func (c BucketizedColumn) base() hostColumn { return c }

func (c BucketizedColumn) ids(features rawFeatures) (idTable, error) {
	rows, values, err := c.Source.values(features)
	width, buckets := c.Source.Width(), len(c.Boundaries)+1
	t := idTable{rows, width, make([]int64, len(values))}
	for i, x := range values {
		// The first boundary above x. Numbers are float32 as in the program; NaN is above all boundaries.
		at := sort.Search(len(c.Boundaries), func(j int) bool { return float32(c.Boundaries[j]) > float32(x) })
		t.ids[i] = int64(at + i%max(width, 1)*buckets)
	}
	return t, err
}

func (c BucketizedColumn) compute(features rawFeatures) (kernels.Array, error) {
	t, err := c.ids(features)
	return t.array(), err
}

func (c BucketizedColumn) dense(_ *Context, in *ops.Tensor) *ops.Tensor {
	return counts(in, c.NumBuckets())
}

// counts returns how often each id occurs in a row: (batch, width) to (batch, n).
func counts(ids *ops.Tensor, n int) *ops.Tensor { return ops.Sum(ops.OneHot(ids, n, ir.Float32), 1) }
