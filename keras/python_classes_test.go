package keras_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/metrics"
	"github.com/gokeras/gokeras/optimizers"
)

// Types as on the page about custom layers: their fields are only their own settings.

type scaledLoss struct {
	Factor float64 `keras:"factor"`
}

func (l *scaledLoss) PerExample(yTrue, yPred *ops.Tensor) *ops.Tensor {
	return ops.MultiplyScalar(ops.Mean(ops.Square(ops.Subtract(yTrue, yPred)), -1), l.Factor)
}
func (l *scaledLoss) ReductionKind() losses.Reduction { return losses.SumOverBatchSize }
func (l *scaledLoss) LossName() string                { return "scaled" }

type nearMetric struct {
	metrics.Base
	Room float64 `keras:"room"`
	hits *distribute.Variable
}

func (m *nearMetric) Build(d ir.DType, _, _ ir.Type) error {
	fresh, err := m.Begin(m, "", d)
	if fresh {
		m.hits = m.Add("hits")
	}
	return err
}

func (m *nearMetric) Update(yTrue, yPred, _ *ops.Tensor) {
	d := ops.Abs(ops.Subtract(yTrue, yPred))
	hit := ops.Cast(ops.Less(d, ops.FullLike(d, m.Room)), m.DTypeOf())
	distribute.ReplicaOf(yPred.Graph()).AssignAdd(m.hits, ops.Sum(hit))
}
func (m *nearMetric) Result(r *distribute.Replica) *ops.Tensor { return r.ReadSynchronized(m.hits) }
func (m *nearMetric) MetricName() string                       { return m.NameOr("near") }
func (m *nearMetric) Direction() string                        { return "max" }

type halvingSGD struct {
	optimizers.Base
	optimizers.Options
	LearningRate any     `keras:"learning_rate"`
	Part         float64 `keras:"part"`
}

func (o *halvingSGD) Settings() optimizers.Settings {
	return optimizers.Settings{Name: "halving", LearningRate: o.LearningRate, DefaultRate: 0.01, Options: o.Options}
}
func (o *halvingSGD) Slots(*distribute.Variable) []optimizers.Slot { return nil }
func (o *halvingSGD) Update(s *optimizers.Step, _ *distribute.Variable, w, g *ops.Tensor, _ []*ops.Tensor) (*ops.Tensor, []*ops.Tensor) {
	return ops.Subtract(w, ops.MultiplyScalar(ops.Multiply(s.Rate(w), g), o.Part)), nil
}
func (o *halvingSGD) Build(w distribute.Variables) error           { return o.BuildRule(o, w) }
func (o *halvingSGD) Apply(r *distribute.Replica, g ops.Gradients) { o.ApplyRule(o, r, g) }

// distance is a layer that in Python defines only the method call.
type distance struct{ layers.Base }

func (*distance) Forward(_ *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	return []*ops.Tensor{ops.Abs(ops.Subtract(in[0], in[1]))}
}

func init() {
	layers.Register[distance]("python")
	losses.Register[scaledLoss]("python")
	metrics.Register[nearMetric]("python")
	optimizers.Register[halvingSGD]("python")
}

// compiledByPython is a model whose compile_config contains the configurations that Keras's Loss, Metric and Optimizer
// write for classes derived from them.
func compiledByPython(t *testing.T, reduction any) ([]byte, error) {
	t.Helper()
	m := sequential(t, []keras.Option{keras.InputShape(2)}, &layers.Dense{Units: 1})
	text, err := m.ToJSON()
	require.NoError(t, err)
	var document map[string]any
	require.NoError(t, json.Unmarshal(text, &document))
	object := func(class string, config map[string]any) map[string]any {
		return map[string]any{"module": nil, "class_name": class, "config": config, "registered_name": "python>" + class}
	}
	near := func(name string, room float64) map[string]any {
		return object("nearMetric", map[string]any{"name": name, "dtype": "float32", "room": room})
	}
	document["compile_config"] = map[string]any{
		"loss":    object("scaledLoss", map[string]any{"name": "scaled", "reduction": reduction, "factor": 2}),
		"metrics": []any{near("near", 0.5), near("nearer", 0.1)},
		"optimizer": object("halvingSGD", map[string]any{"name": "halving", "learning_rate": 0.1, "weight_decay": nil, "clipnorm": 0.5, "global_clipnorm": nil, "clipvalue": nil,
			"use_ema": false, "ema_momentum": 0.99, "ema_overwrite_frequency": nil, "loss_scale_factor": nil, "gradient_accumulation_steps": nil, "part": 0.5}),
	}
	return json.Marshal(document)
}

func TestClassesOfPython(t *testing.T) {
	document, err := compiledByPython(t, "sum_over_batch_size")
	require.NoError(t, err)
	for range 2 { // as Python wrote it, and as it is written here
		m, err := keras.ModelFromJSON(document)
		require.NoError(t, err)
		x, y := line(8)
		h, err := m.Fit(context.Background(), data.Arrays(x, y))
		require.NoError(t, err)
		assert.Contains(t, h.Logs, "near")
		assert.Contains(t, h.Logs, "nearer")
		document, err = m.ToJSON()
		require.NoError(t, err)
	}
	for _, reduction := range []any{"sum", nil} {
		document, err := compiledByPython(t, reduction)
		require.NoError(t, err)
		_, err = keras.ModelFromJSON(document)
		require.ErrorContains(t, err, `and the Go type, which has no field for it, means "sum_over_batch_size"; give it one with the tag`)
	}
}

// TestClassWithoutConstructor: the configuration of a class that defines only call, as Keras 3.15.1 writes it.
func TestClassWithoutConstructor(t *testing.T) {
	l, err := layers.FromObject(json.RawMessage(`{"module": null, "class_name": "distance", "registered_name": "python>distance", "config": {
		"name": "distance_4", "activity_regularizer": null, "trainable": true, "autocast": true,
		"dtype": {"module": "keras", "class_name": "DTypePolicy", "config": {"name": "float32"}, "registered_name": null}}}`))
	require.NoError(t, err)
	assert.Equal(t, "distance_4", layers.Name(l))
}
