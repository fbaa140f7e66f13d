package keras_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/activations"
	"github.com/gokeras/gokeras/layers/constraints"
	"github.com/gokeras/gokeras/layers/initializers"
	"github.com/gokeras/gokeras/layers/regularizers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/metrics"
	"github.com/gokeras/gokeras/optimizers"
	"github.com/gokeras/gokeras/optimizers/schedules"
)

// One type of each kind that can be registered, with a setting that files must keep.

type ownInitializer struct {
	Value float64 `keras:"value"`
}

func (i *ownInitializer) Initialize(into kernels.Array, _ uint64) error {
	values := make([]float64, into.Len())
	for k := range values {
		values[k] = i.Value
	}
	return into.SetFloat64s(0, values)
}

type ownRegularizer struct {
	Rate float64 `keras:"rate"`
}

func (r *ownRegularizer) Penalty(w *ops.Tensor) *ops.Tensor {
	return ops.MultiplyScalar(ops.Sum(ops.Square(w)), r.Rate)
}

type ownConstraint struct {
	Limit float64 `keras:"limit"`
}

func (c *ownConstraint) Apply(w *ops.Tensor) *ops.Tensor { return ops.MinimumScalar(w, c.Limit) }

type ownLoss struct {
	Factor float64 `keras:"factor"`
}

func (l *ownLoss) PerExample(yTrue, yPred *ops.Tensor) *ops.Tensor {
	return ops.MultiplyScalar(ops.Mean(ops.Square(ops.Subtract(yTrue, yPred)), -1), l.Factor)
}
func (l *ownLoss) ReductionKind() losses.Reduction { return losses.SumOverBatchSize }
func (l *ownLoss) LossName() string                { return "own" }

type ownMetric struct {
	metrics.Base
	Above float64 `keras:"above"`
	Name  string  `keras:"name"`
	DType string  `keras:"dtype"`
	count *distribute.Variable
}

func (m *ownMetric) Build(d ir.DType, _, _ ir.Type) error {
	fresh, err := m.Begin(m, "", d)
	if fresh {
		m.count = m.Add("count")
	}
	return err
}
func (m *ownMetric) Update(_, yPred, _ *ops.Tensor) {
	above := ops.Cast(ops.CompareScalar(ir.Gt, yPred, m.Above), m.DTypeOf())
	distribute.ReplicaOf(yPred.Graph()).AssignAdd(m.count, ops.Sum(above))
}
func (m *ownMetric) Result(r *distribute.Replica) *ops.Tensor { return r.ReadSynchronized(m.count) }
func (m *ownMetric) MetricName() string                       { return m.NameOr("own_count") }
func (m *ownMetric) Direction() string                        { return "max" }

type ownSchedule struct {
	Start float64 `keras:"start"`
}

func (s *ownSchedule) Rate(step *ops.Tensor) *ops.Tensor {
	return ops.Divide(ops.Full(step, ir.Float32, s.Start), ops.AddScalar(ops.Cast(step, ir.Float32), 1))
}
func (s *ownSchedule) At(step int64) float64 { return s.Start / float64(step+1) }

type ownOptimizer struct {
	optimizers.Base
	LearningRate any     `keras:"learning_rate,default=1"`
	Part         float64 `keras:"part"`
}

func (o *ownOptimizer) Settings() optimizers.Settings {
	return optimizers.Settings{Name: "own", LearningRate: o.LearningRate, DefaultRate: 1}
}
func (o *ownOptimizer) Build(w distribute.Variables) error           { return o.BuildRule(o, w) }
func (o *ownOptimizer) Apply(r *distribute.Replica, g ops.Gradients) { o.ApplyRule(o, r, g) }
func (o *ownOptimizer) Slots(*distribute.Variable) []optimizers.Slot { return nil }
func (o *ownOptimizer) Update(s *optimizers.Step, _ *distribute.Variable, w, g *ops.Tensor, slots []*ops.Tensor) (*ops.Tensor, []*ops.Tensor) {
	return ops.Subtract(w, ops.Multiply(s.Rate(w), ops.MultiplyScalar(g, o.Part))), slots
}

func ownActivation(x *ops.Tensor) *ops.Tensor { return ops.MultiplyScalar(x, 3) }

func init() {
	layers.RegisterLambda("own_function", func(_ *layers.Context, in []*ops.Tensor) *ops.Tensor { return ops.AddScalar(in[0], 2) }, "mine")
	activations.Register("own_activation", ownActivation, "mine")
	initializers.Register[ownInitializer]("mine")
	regularizers.Register[ownRegularizer]("mine")
	constraints.Register[ownConstraint]() // in the default package
	losses.Register[ownLoss]("mine")
	metrics.Register[ownMetric]("mine")
	schedules.Register[ownSchedule]("mine")
	optimizers.Register[ownOptimizer]("mine")
}

// TestRegisteredTypes: a model made of custom types of every kind is restored from its file, in which they are written
// as Keras writes types registered with register_keras_serializable(package="mine").
func TestRegisteredTypes(t *testing.T) {
	m, err := keras.NewSequential([]layers.Layer{
		&layers.Dense{Units: 2, Activation: ownActivation, KernelInitializer: &ownInitializer{Value: 0.25},
			KernelRegularizer: &ownRegularizer{Rate: 0.5}, KernelConstraint: &ownConstraint{Limit: 0.75}},
		&layers.Lambda{Function: "own_function"},
	}, keras.InputShape(2))
	require.NoError(t, err)
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: &ownOptimizer{LearningRate: &ownSchedule{Start: 0.125}, Part: 0.5},
		Loss: &ownLoss{Factor: 3}, Metrics: []metrics.Metric{&ownMetric{Above: 1}}}))
	path := filepath.Join(t.TempDir(), "own.keras")
	require.NoError(t, m.Save(path))
	for _, want := range []string{ // as Keras 3.15 writes registered classes and functions
		`"activation":{"class_name":"function","config":"mine>own_activation","module":"builtins","registered_name":"function"}`,
		`"function":{"class_name":"function","config":"mine>own_function","module":"builtins","registered_name":"function"}`,
		`{"class_name":"ownInitializer","config":{"value":0.25},"module":null,"registered_name":"mine>ownInitializer"}`,
		`{"class_name":"ownRegularizer","config":{"rate":0.5},"module":null,"registered_name":"mine>ownRegularizer"}`,
		`{"class_name":"ownConstraint","config":{"limit":0.75},"module":null,"registered_name":"Custom>ownConstraint"}`,
		`{"class_name":"ownLoss","config":{"factor":3.0},"module":null,"registered_name":"mine>ownLoss"}`,
		`"registered_name":"mine>ownMetric"`,
		`{"class_name":"ownSchedule","config":{"start":0.125},"module":null,"registered_name":"mine>ownSchedule"}`,
		`"registered_name":"mine>ownOptimizer"`,
	} {
		require.Contains(t, strings.ReplaceAll(document(t, m), `\u003e`, ">"), want)
	}
	again, err := keras.LoadModel(path)
	require.NoError(t, err)
	require.Equal(t, document(t, m), document(t, again))
	x, y := data.Arrays([][]float32{{1, 2}, {3, 4}}, [][]float32{{1, 2}, {3, 4}}), map[string]float64{}
	for i, model := range []*keras.Model{m, again} {
		logs, err := model.TrainOnBatch(t.Context(), x)
		require.NoError(t, err)
		if i == 0 {
			y = logs
		}
		require.Equal(t, y, logs)
	}
	require.Contains(t, y, "own_count")
	require.Equal(t, allArrays(t, m), allArrays(t, again))
	for own, call := range map[string]string{"ownInitializer": "initializers.Register[ownInitializer]", "ownRegularizer": "regularizers.Register[ownRegularizer]",
		"ownLoss": "losses.Register[ownLoss]", "ownMetric": "metrics.Register[ownMetric]", "ownSchedule": "schedules.Register[ownSchedule]",
		"ownOptimizer": "optimizers.Register[ownOptimizer]"} {
		changed := edit(t, path, "config.json", `mine\u003e`+own, `other\u003e`+own)
		_, err = keras.LoadModel(changed)
		require.ErrorContains(t, err, call+`("other")`, own)
	}
	for name, get := range map[string]func(string) error{ // by name, with the package and without
		"own_activation": func(s string) error { _, err := activations.Get(s); return err },
		"ownInitializer": func(s string) error { _, err := initializers.Get(s); return err },
		"ownRegularizer": func(s string) error { _, err := regularizers.Get(s); return err },
		"ownLoss":        func(s string) error { _, err := losses.Get(s); return err },
		"ownMetric":      func(s string) error { _, err := metrics.Get(s); return err },
		"ownOptimizer":   func(s string) error { _, err := optimizers.Get(s); return err },
		"ownSchedule":    func(s string) error { _, err := schedules.New(s); return err },
	} {
		require.NoError(t, get(name))
		require.NoError(t, get("mine>"+name))
		require.Error(t, get("other>"+name), name)
	}
}
