package estimator

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/recorded"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
)

// ramp is 0, 0.1, 0.2, ...
type ramp struct{}

func (ramp) Initialize(into kernels.Array, _ uint64) error {
	for i := range into.Type.Shape.Size() {
		if err := into.SetFloat64s(i, []float64{float64(float32(i) * 0.1)}); err != nil {
			return err
		}
	}
	return nil
}

type recordedColumns struct {
	Features struct {
		X, Age             [][]float32
		City, Long, Gender [][]string
		Code               [][]int64
	}
	Dense map[string][][]float64
}

func loadColumns(t testing.TB) recordedColumns {
	t.Helper()
	c := recorded.JSON[recordedColumns](t, "testdata/feature_columns.json.gz")
	return c
}

func (c recordedColumns) input(distribute.InputContext) (data.Dataset, error) {
	f := c.Features
	return data.Arrays(map[string]any{"x": f.X, "age": f.Age, "city": f.City, "long": f.Long, "gender": f.Gender, "code": f.Code}, nil), nil
}

// The values of columns are those of TensorFlow.
func TestColumns(t *testing.T) {
	recorded := loadColumns(t)
	age := BucketizedColumn{NumericColumn{Key: "age"}, []float64{18, 25, 65}}
	two := NumericColumn{Key: "x", Shape: []int{2}}
	normalized := two
	normalized.NormalizerFn = func(x float64) float64 { return (x - 1) / 2 }
	vocabulary := CategoricalColumnWithVocabularyList{Key: "city", Vocabulary: []string{"Rome", "Oslo"}}
	oov, fallback := vocabulary, vocabulary
	oov.NumOOVBuckets, fallback.DefaultValue = 3, new(1)
	identity := CategoricalColumnWithIdentity{Key: "code", Buckets: 8}
	columns := map[string]DenseColumn{
		"numeric": two, "normalized": normalized, "bucketized": age, "bucketized_wide": BucketizedColumn{two, []float64{0, 1, 2}},
	}
	for name, c := range map[string]CategoricalColumn{
		"vocabulary": vocabulary, "oov": oov, "default": fallback,
		"numbers":    CategoricalColumnWithVocabularyList{Key: "code", IntVocabulary: []int64{7, 0, 3}},
		"number_oov": CategoricalColumnWithVocabularyList{Key: "code", IntVocabulary: []int64{7, 0}, NumOOVBuckets: 4},
		"identity":   identity, "identity_default": CategoricalColumnWithIdentity{"code", 3, new(1)},
		"hashed":          CategoricalColumnWithHashBucket{Key: "city", HashBucketSize: 10},
		"hashed_long":     CategoricalColumnWithHashBucket{Key: "long", HashBucketSize: 1000},
		"hashed_code":     CategoricalColumnWithHashBucket{Key: "code", HashBucketSize: 10, Integers: true},
		"crossed":         CrossedColumn{[]any{"city", "gender"}, 50},
		"crossed_columns": CrossedColumn{[]any{age, vocabulary}, 40},
		"crossed_mixed":   CrossedColumn{[]any{age, "code", "city"}, 60},
	} {
		columns[name] = IndicatorColumn{c}
	}
	for _, combiner := range []string{"mean", "sum", "sqrtn"} {
		columns["embedding_"+combiner] = EmbeddingColumn{Categorical: identity, Dimension: 3, Combiner: combiner, Initializer: ramp{}}
	}
	require.Len(t, columns, len(recorded.Dense))
	for name, column := range columns {
		require.NoError(t, column.Validate(), name)
		got := denseValues(t, recorded, column)
		want := recorded.Dense[name]
		require.Len(t, got, len(want), name)
		for i := range want {
			require.Len(t, got[i], column.Width(), name)
			require.Len(t, got[i], len(want[i]), name)
			for j := range want[i] {
				require.True(t, math.Abs(got[i][j]-want[i][j]) <= 1e-6, "%s: row %d: %v, recorded is %v", name, i, got[i], want[i])
			}
		}
	}
}

// denseValues runs a column.
func denseValues(t *testing.T, recorded recordedColumns, column DenseColumn) [][]float64 {
	t.Helper()
	e, err := New(func(c *Context, f Features, _ *ops.Tensor, mode ModeKey, _ Params) (EstimatorSpec, error) {
		c.scope = "scope"
		return EstimatorSpec{Mode: mode, Predictions: map[string]*ops.Tensor{"y": column.dense(c, f.First())}}, nil
	}, RunConfig{ModelDir: t.TempDir()}, nil)
	require.NoError(t, err)
	e.transform = canned{columns: []FeatureColumn{column}}.transform
	var out [][]float64
	for p, err := range e.Predict(context.Background(), recorded.input) {
		require.NoError(t, err)
		var row []float64
		for _, x := range p["y"].Elements().([]float32) {
			row = append(row, float64(x))
		}
		out = append(out, row)
	}
	return out
}

// The example in the documentation of TensorFlow's BinaryClassHead: logits 45 and -41, labels 1.
func TestBinaryHead(t *testing.T) {
	h := classHead(2, nil, SumOverBatchSize)
	e, err := New(func(c *Context, f Features, labels *ops.Tensor, mode ModeKey, _ Params) (EstimatorSpec, error) {
		return h.spec(c, mode, f.First(), labels, nil, nil)
	}, RunConfig{ModelDir: t.TempDir()}, nil)
	require.NoError(t, err)
	got, err := e.Evaluate(context.Background(), func(distribute.InputContext) (data.Dataset, error) {
		return data.Arrays([][]float32{{45}, {-41}}, []int64{1, 1}), nil
	})
	require.NoError(t, err)
	want := map[string]float64{
		"loss": 20.5, "accuracy": .5, "accuracy_baseline": 1, "auc": 0, "auc_precision_recall": 1, "average_loss": 20.5, "label/mean": 1,
		"precision": 1, "prediction/mean": .5, "recall": .5, "global_step": 0,
	}
	require.Len(t, got, len(want), "%v", got)
	for name, w := range want {
		require.True(t, math.Abs(got[name]-w) <= 1e-5, "%s is %v, want %v", name, got[name], w)
	}
}

// Wrong columns are errors.
func TestColumnErrors(t *testing.T) {
	number := NumericColumn{Key: "n"}
	words := CategoricalColumnWithVocabularyList{Key: "w", Vocabulary: []string{"a"}}
	both := CategoricalColumnWithVocabularyList{Key: "w", Vocabulary: []string{"a"}, NumOOVBuckets: 1, DefaultValue: new(0)}
	for want, c := range map[string]FeatureColumn{
		"key must be a string":           NumericColumn{},
		"boundaries must be a sorted":    BucketizedColumn{number, []float64{2, 1}},
		"at least one number":            BucketizedColumn{number, nil},
		"must be one-dimensional":        BucketizedColumn{NumericColumn{Key: "n", Shape: []int{2, 2}}, []float64{1}},
		"must be non-empty":              CategoricalColumnWithVocabularyList{Key: "w"},
		"Duplicate keys":                 CategoricalColumnWithVocabularyList{Key: "w", Vocabulary: []string{"a", "a"}},
		"Can't specify both":             both,
		"num_buckets 0 < 1":              CategoricalColumnWithIdentity{Key: "i"},
		"not in range":                   CategoricalColumnWithIdentity{"i", 2, new(2)},
		"hash_bucket_size must be at":    CategoricalColumnWithHashBucket{Key: "h"},
		"hash_bucket_size must be > 1":   CrossedColumn{[]any{"a", "b"}, 0},
		"length > 1":                     CrossedColumn{[]any{"a"}, 5},
		"Unsupported key type":           CrossedColumn{[]any{"a", number}, 5},
		"is not supported for crossing":  CrossedColumn{[]any{"a", CategoricalColumnWithHashBucket{Key: "h", HashBucketSize: 5}}, 5},
		"the categorical column is nil":  IndicatorColumn{},
		"Invalid dimension 0":            EmbeddingColumn{Categorical: words},
		"combiner \"max\" is unknown":    EmbeddingColumn{Categorical: words, Dimension: 2, Combiner: "max"},
		"dtype must be convertible to f": NumericColumn{Key: "n", DType: "string"},
	} {
		require.ErrorContains(t, c.Validate(), want)
	}
}
