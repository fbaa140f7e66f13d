package metrics_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/metrics"
)

func TestErrors(t *testing.T) {
	f := func(shape ...int) kernels.Array { return kernels.NewArray(ir.Type{DType: ir.Float32, Shape: shape}) }
	i := func(shape ...int) kernels.Array { return kernels.NewArray(ir.Type{DType: ir.Int32, Shape: shape}) }
	for _, c := range []struct {
		name   string
		m      metrics.Metric
		inputs []kernels.Array
		want   string
	}{
		{"examples", &metrics.Mean{}, []kernels.Array{f(3, 2), f(4, 2)}, "labels have shape [3 2], predictions [4 2] and sample weights none; all need the same number of examples"},
		{"shapes", &metrics.MeanSquaredError{}, []kernels.Array{f(4, 2), f(4, 3)}, "mean_squared_error: labels have shape [4 2] and predictions [4 3]"},
		{"accuracy", &metrics.BinaryAccuracy{Name: "acc"}, []kernels.Array{f(4, 2), f(4, 3)}, "acc: labels have shape [4 2] and predictions [4 3]; they must be equal"},
		{"categorical", &metrics.CategoricalAccuracy{}, []kernels.Array{i(4), f(4, 3)}, "for integer class numbers use the sparse variant"},
		{"sparse", &metrics.SparseCategoricalAccuracy{}, []kernels.Array{f(4, 3), f(4, 3)}, "expected integer class numbers of shape [4] (for one-hot labels use the categorical variant)"},
		{"sparse without classes", &metrics.SparseCategoricalAccuracy{}, []kernels.Array{i(4), f(4)}, "predictions have shape [4]; expected (batch, ..., classes)"},
		{"one sparse without classes", &metrics.SparseCategoricalAccuracy{}, []kernels.Array{i(1), f(1)}, "predictions have shape [1]; expected (batch, ..., classes)"},
		{"sparse without examples", &metrics.SparseCategoricalAccuracy{}, []kernels.Array{i(), f(3)}, "need the same number of examples"},
		{"top k", &metrics.TopKCategoricalAccuracy{K: -1}, []kernels.Array{f(4, 3), f(4, 3)}, "K must be positive, received -1"},
		{"weights", &metrics.MeanSquaredError{}, []kernels.Array{f(4, 3, 2), f(4, 3, 2), f(4, 2)}, "sample weights have shape [4 2] and the values [4 3]"},
		{"thresholds", &metrics.Precision{Thresholds: []float64{.5, 1.5}}, []kernels.Array{f(4), f(4)}, `metric "precision": thresholds must be in [0, 1], received [0.5 1.5]`},
		{"no threshold", &metrics.Recall{Thresholds: []float64{}}, []kernels.Array{f(4), f(4)}, `metric "recall": thresholds are empty; expected at least one, or nil for 0.5`},
		{"no threshold to count at", &metrics.FalsePositives{Thresholds: []float64{}}, []kernels.Array{f(4), f(4)}, "thresholds are empty"},
		{"no axis", &metrics.PearsonCorrelation{Axis: []int{}}, []kernels.Array{f(4, 2), f(4, 2)}, "Axis is empty; expected an axis, or nil for the last one"},
		{"precision weights", &metrics.Precision{}, []kernels.Array{f(4, 3), f(4, 3), f(4, 2)}, "sample weights have shape [4 2] and the values [4 3]"},
		{"precision top k", &metrics.Precision{TopK: 4}, []kernels.Array{f(4, 3), f(4, 3)}, "TopK is 4, but predictions [4 3] have 3 classes"},
		{"class", &metrics.Recall{ClassID: new(3)}, []kernels.Array{f(4, 3), f(4, 3)}, "class 3 cannot be picked from predictions [4 3]"},
		{"curve", &metrics.AUC{Curve: "DET"}, []kernels.Array{f(4), f(4)}, `unknown curve "DET"; known: ROC, PR, PRGAIN`},
		{"method", &metrics.AUC{SummationMethod: "simpson"}, []kernels.Array{f(4), f(4)}, `unknown summation method "simpson"; known: interpolation, minoring, majoring`},
		{"auc thresholds", &metrics.AUC{NumThresholds: 1}, []kernels.Array{f(4), f(4)}, "NumThresholds must be between 2 and 1048576, received 1"},
		{"auc labels", &metrics.AUC{NumLabels: 2}, []kernels.Array{f(4), f(4)}, "NumLabels is of use only with MultiLabel"},
		{"auc shape", &metrics.AUC{MultiLabel: true, NumLabels: 2}, []kernels.Array{f(4, 3), f(4, 3)}, "predictions have shape [4 3]; several labels need (batch, labels) with as many labels as NumLabels (2) says"},
		{"at", &metrics.PrecisionAtRecall{Recall: 2}, []kernels.Array{f(4), f(4)}, `metric "precision_at_recall": Recall must be in [0, 1], received 2`},
		{"average", &metrics.F1Score{Average: "mean"}, []kernels.Array{f(4, 3), f(4, 3)}, `unknown average "mean"; known: "" (one value for each class), micro, macro, weighted`},
		{"threshold", &metrics.F1Score{Threshold: new(0.0)}, []kernels.Array{f(4, 3), f(4, 3)}, "the threshold must be in (0, 1], received 0"},
		{"f1 shape", &metrics.F1Score{}, []kernels.Array{i(4), f(4, 3)}, `metric "f1_score": labels have shape [4] and predictions [4 3]; both must be (batch, classes)`},
		{"beta", &metrics.FBetaScore{Beta: -1}, []kernels.Array{f(4, 3), f(4, 3)}, "Beta must be positive, received -1"},
		{"r2", &metrics.R2Score{}, []kernels.Array{f(4), f(4)}, "labels have shape [4] and predictions [4]; both must be (batch, outputs)"},
		{"r2 aggregation", &metrics.R2Score{ClassAggregation: "sum"}, []kernels.Array{f(4, 1), f(4, 1)}, "unknown class aggregation sum; known: uniform_average, variance_weighted_average, none"},
		{"iou classes", &metrics.MeanIoU{}, []kernels.Array{i(4), i(4)}, "NumClasses must be positive and at most 65536, received 0"},
		{"iou target", &metrics.IoU{NumClasses: 2, TargetClassIDs: []int{2}}, []kernels.Array{i(4), i(4)}, "target class 2 is outside [0, 2)"},
		{"iou targets", &metrics.IoU{NumClasses: 2}, []kernels.Array{i(4), i(4)}, "TargetClassIDs is empty; for all classes use MeanIoU"},
		{"dtype", &metrics.Mean{DType: "half"}, []kernels.Array{f(4), f(4)}, `metric "mean": unknown dtype policy "half"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var w *kernels.Array
			if len(c.inputs) == 3 {
				w = &c.inputs[2]
			}
			require.ErrorContains(t, metrics.UpdateState(c.m, c.inputs[0], c.inputs[1], w), c.want)
		})
	}
	for _, m := range []metrics.Metric{&metrics.F1Score{}, &metrics.R2Score{}} {
		_, err := metrics.ResultOf(m)
		require.ErrorContains(t, err, "has no result before its first batch; update it first")
	}
	require.ErrorContains(t, (&metrics.Mean{}).Build(ir.Invalid, ir.Type{}, ir.Type{}), "needs the type of its numbers")
}

func TestGet(t *testing.T) {
	for name, want := range map[string]metrics.Metric{
		"mse": &metrics.MeanSquaredError{}, "AUC": &metrics.AUC{}, "auc": &metrics.AUC{}, "mean_io_u": &metrics.MeanIoU{}, "f_beta_score": &metrics.FBetaScore{},
		"precision": &metrics.Precision{}, "bce": &metrics.BinaryCrossentropy{}, "SparseCategoricalAccuracy": &metrics.SparseCategoricalAccuracy{},
	} {
		got, err := metrics.Get(name)
		require.NoError(t, err)
		require.IsType(t, want, got)
		require.Equal(t, name, got.MetricName(), "the name is what the user wrote")
	}
	got, err := metrics.Get(&losses.Huber{Delta: 2})
	require.NoError(t, err)
	require.Equal(t, "huber_loss", got.MetricName())
	require.Equal(t, "min", got.Direction())
	got, err = metrics.Get(func(a, b *ops.Tensor) *ops.Tensor { return ops.Subtract(b, a) })
	require.NoError(t, err)
	require.Equal(t, "", got.Direction())
	got, err = metrics.Get(config.Object{ClassName: "Precision", Config: json.RawMessage(`{"name":"p","thresholds":0.3,"top_k":null,"class_id":2,"dtype":"float32"}`)})
	require.NoError(t, err)
	require.Equal(t, &metrics.Precision{Name: "p", Thresholds: []float64{.3}, ClassID: new(2), DType: "float32"}, got)
	got, err = metrics.Get(nil)
	require.NoError(t, err)
	require.Nil(t, got)
	_, err = metrics.Get("KLD")
	require.ErrorContains(t, err, `unknown metric "KLD"; known: BCE, MAE, MAPE, MSE, MSLE, accuracy, auc, `)
	_, err = metrics.Get(1.5)
	require.ErrorContains(t, err, "metrics: received the number 1.5; expected a metrics.Metric")
	_, err = metrics.New("Auc")
	require.ErrorContains(t, err, `unknown class "Auc"; did you mean "AUC"? known: AUC, Accuracy, `)
}

func TestResolve(t *testing.T) {
	for _, c := range []struct {
		name         string
		yTrue, yPred ir.Shape
		want         metrics.Metric
	}{
		{"accuracy", ir.Shape{8, 1}, ir.Shape{8, 1}, &metrics.BinaryAccuracy{Name: "accuracy"}},
		{"acc", ir.Shape{8}, ir.Shape{8, 5}, &metrics.SparseCategoricalAccuracy{Name: "acc"}},
		{"ACC", ir.Shape{8, 1}, ir.Shape{8, 5}, &metrics.SparseCategoricalAccuracy{Name: "ACC"}},
		{"accuracy", ir.Shape{8, 3, 5}, ir.Shape{8, 3, 5}, &metrics.CategoricalAccuracy{Name: "accuracy"}},
	} {
		got, err := metrics.Resolve(c.name, c.yTrue, c.yPred)
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
	_, err := metrics.Resolve("acc", nil, ir.Shape{8, 5})
	require.ErrorContains(t, err, `"acc" needs labels and predictions (batch, ...), received shapes [] and [8 5]`)
}

// TestDirections: what callbacks go by.
func TestDirections(t *testing.T) {
	for class, want := range map[string]string{"MeanSquaredError": "min", "KLDivergence": "min", "Hinge": "min", "AUC": "max", "MeanIoU": "max", "R2Score": "max",
		"CosineSimilarity": "max", "BinaryAccuracy": "max", "Mean": "", "Sum": "", "TruePositives": ""} {
		m, err := metrics.New(class)
		require.NoError(t, err)
		require.Equal(t, want, m.Direction(), class)
	}
}

// hits is a metric of a user: it counts the predictions above 1/2.
type hits struct {
	metrics.Base
	count *distribute.Variable
}

func (m *hits) Build(d ir.DType, _, _ ir.Type) error {
	fresh, err := m.Begin(m, "", d)
	if fresh {
		m.count = m.Add("count")
	}
	return err
}

func (m *hits) Update(_, yPred, _ *ops.Tensor) {
	above := ops.Cast(ops.CompareScalar(ir.Gt, yPred, 0.5), m.DTypeOf())
	distribute.ReplicaOf(yPred.Graph()).AssignAdd(m.count, ops.Sum(above))
}

func (m *hits) Result(r *distribute.Replica) *ops.Tensor { return r.ReadSynchronized(m.count) }
func (m *hits) MetricName() string                       { return m.NameOr("hits") }
func (m *hits) Direction() string                        { return "max" }

func TestOwnMetric(t *testing.T) {
	m := &hits{}
	p := array(t, ir.Float32, []int{3}, .9, .4, .6)
	require.NoError(t, metrics.UpdateState(m, p, p, nil))
	require.NoError(t, metrics.UpdateState(m, p, p, nil))
	require.Equal(t, 4.0, scalarOf(t, m))
	require.Equal(t, "hits/count", m.Variables()[0].Path())
	metrics.Register[hits]()
	_, err := metrics.New("hits")
	require.NoError(t, err)
	require.PanicsWithValue(t, "metrics: Register called twice for Custom>hits", func() { metrics.Register[hits]() })
}
