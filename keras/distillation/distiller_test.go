package distillation_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/distillation"
	"github.com/gokeras/gokeras/keras/ops"
	_ "github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/optimizers"
)

// recorded is testdata/distillation.json: the results of Keras's Distiller.
type recorded struct {
	X            [][]float32
	Y            []int32
	SampleWeight []float32 `json:"sample_weight"`
	Cases        map[string]struct {
		Teacher, Student, Weights []any
		History                   map[string][]float64
		Evaluate                  map[string]float64
		Predict                   [][]float32
	}
}

func flat(v any) (out []float32) {
	switch v := v.(type) {
	case float64:
		return []float32{float32(v)}
	case []any:
		for _, x := range v {
			out = append(out, flat(x)...)
		}
	}
	return out
}

// network is the network of testdata/generate.py.
func network(t *testing.T, prefix string, width, outputs int, norm bool, weights []any, options ...keras.Option) *keras.Model {
	t.Helper()
	in := keras.Input(keras.Shape(6), keras.InputName("x"))
	h := layers.Apply(&layers.Dense{Name: prefix + "hidden", Units: width, Activation: "tanh"}, in)
	if norm {
		h = layers.Apply(&layers.BatchNormalization{Name: prefix + "norm"}, h)
	}
	h = layers.Apply(&layers.Dense{Name: prefix + "feature", Units: 5}, h)
	var out []*layers.KerasTensor
	for i := range outputs {
		out = append(out, layers.Apply(&layers.Dense{Name: fmt.Sprint(prefix, "logits", i), Units: 3}, h))
	}
	m, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(out...), append(options, keras.Name(prefix+"net"))...)
	require.NoError(t, err)
	if weights != nil {
		setWeights(t, m, weights)
	}
	return m
}

func setWeights(t *testing.T, m *keras.Model, weights []any) {
	t.Helper()
	var arrays []data.Array
	for i, v := range m.Weights() {
		arrays = append(arrays, data.Must(data.ArrayOf(flat(weights[i]), v.Type().Shape...)))
	}
	require.NoError(t, m.SetWeights(arrays))
}

func weight(w float64) *float64 { return &w }

func cases() map[string]distillation.Distiller {
	features := &distillation.FeatureDistillation{TeacherLayerName: "t_feature", StudentLayerName: "s_feature"}
	logits := &distillation.LogitsDistillation{}
	return map[string]distillation.Distiller{
		"logits":      {Losses: []distillation.Loss{logits}},
		"temperature": {Losses: []distillation.Loss{&distillation.LogitsDistillation{Temperature: 5}}, StudentLossWeight: weight(0.3)},
		"logits_mse":  {Losses: []distillation.Loss{&distillation.LogitsDistillation{Temperature: 2, Loss: "mse"}}, LossWeights: []float64{0.7}},
		"logits_crossentropy": {Losses: []distillation.Loss{&distillation.LogitsDistillation{Temperature: 4,
			Loss: &losses.CategoricalCrossentropy{FromLogits: true}}}},
		"features": {Losses: []distillation.Loss{features}},
		"features_cosine": {Losses: []distillation.Loss{&distillation.FeatureDistillation{Loss: "cosine_similarity",
			TeacherLayerName: "t_feature", StudentLayerName: "s_feature"}}},
		"features_outputs": {Losses: []distillation.Loss{&distillation.FeatureDistillation{Loss: "mae"}}},
		"several": {Losses: []distillation.Loss{&distillation.LogitsDistillation{Temperature: 3}, features}, LossWeights: []float64{1, 0.5},
			StudentLossWeight: weight(0.4)},
		"student_alone": {Losses: []distillation.Loss{logits}, StudentLossWeight: weight(1)},
		"teacher_alone": {Losses: []distillation.Loss{logits}, StudentLossWeight: weight(0)},
		"norm":          {Losses: []distillation.Loss{logits, features}},
		"sample_weight": {Losses: []distillation.Loss{logits}},
		"two_outputs": {Losses: []distillation.Loss{&distillation.LogitsDistillation{Loss: []any{"kl_divergence", nil}}},
			StudentLossWeight: weight(0)},
	}
}

func read(t *testing.T) (keras recorded) {
	t.Helper()
	text, err := os.ReadFile("testdata/distillation.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &keras))
	return keras
}

// TestDistillerIsThatOfKeras: six steps with every kind of loss, in batches the last of which is shorter.
func TestDistillerIsThatOfKeras(t *testing.T) {
	want := read(t)
	require.Len(t, want.Cases, len(cases()))
	for name, d := range cases() {
		for _, replicas := range []int{1, 3} {
			if name == "norm" && replicas > 1 {
				continue // the statistics of a part of a batch are not those of the batch
			}
			t.Run(fmt.Sprintf("%s on %d", name, replicas), func(t *testing.T) {
				w := want.Cases[name]
				outputs := 1
				if name == "two_outputs" {
					outputs = 2
				}
				scope := distribute.Scope(replicated(t, replicas))
				d.Teacher = network(t, "t_", 5, outputs, name == "norm", w.Teacher, scope)
				d.Student = network(t, "s_", 3, outputs, name == "norm", w.Student, scope)
				if outputs == 2 { // Keras warns of weights that nothing trains
					l, err := d.Student.GetLayer("s_logits1")
					require.NoError(t, err)
					layers.SetTrainable(l, false)
				}
				m, err := distillation.New(d, scope)
				require.NoError(t, err)
				require.Equal(t, "distiller", m.Name())
				config := keras.CompileConfig{Optimizer: &optimizers.SGD{LearningRate: 0.1, Momentum: 0.9}, Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true},
					Metrics: []string{"accuracy"}}
				var y any = want.Y
				if outputs == 2 {
					config.Loss, config.Metrics, y = []any{config.Loss, config.Loss}, nil, []any{want.Y, want.Y}
				}
				var examples data.Dataset = data.Arrays(want.X, y)
				if name == "sample_weight" {
					config.WeightedMetrics = []string{"accuracy"}
					examples = data.Arrays(want.X, want.Y, data.SampleWeight(want.SampleWeight))
				}
				require.NoError(t, m.Compile(config))
				h, err := m.Fit(context.Background(), examples, keras.Epochs(2), keras.BatchSize(4), keras.Shuffle(false))
				require.NoError(t, err)
				requireLogs(t, w.History, h.Logs)
				requireWeights(t, w.Weights, d.Student)
				requireWeights(t, w.Teacher, d.Teacher)
				if name == "norm" {
					return // Keras changes moving statistics while it evaluates
				}
				got, err := m.Evaluate(context.Background(), examples, keras.BatchSize(4))
				require.NoError(t, err)
				requireLogs(t, one(w.Evaluate), one(got))
				p, err := m.PredictRows(context.Background(), data.Arrays(want.X, nil), keras.BatchSize(4))
				if outputs == 2 {
					return
				}
				require.NoError(t, err)
				for i, row := range w.Predict {
					assert.InDeltaSlice(t, row, p[i], 2e-5)
				}
			})
		}
	}
}

func replicated(t *testing.T, n int) distribute.Strategy {
	t.Helper()
	if n == 1 {
		return distribute.Default()
	}
	s, err := distribute.NewMirroredStrategy([]string{"cpu:0", "cpu:1", "cpu:2"}[:n]...)
	require.NoError(t, err)
	return s
}

func one(logs map[string]float64) map[string][]float64 {
	out := map[string][]float64{}
	for name, v := range logs {
		out[name] = []float64{v}
	}
	return out
}

func requireLogs(t *testing.T, want, got map[string][]float64) {
	t.Helper()
	require.Len(t, got, len(want), "%v", got)
	for name, w := range want {
		require.Len(t, got[name], len(w), name)
		for i, v := range w {
			require.False(t, math.IsNaN(got[name][i]), name)
			require.InDelta(t, v, got[name][i], 1e-5*(1+math.Abs(v)), "%s %d", name, i)
		}
	}
}

func requireWeights(t *testing.T, want []any, m *keras.Model) {
	t.Helper()
	arrays, err := m.GetWeights()
	require.NoError(t, err)
	require.Len(t, arrays, len(want))
	for i, a := range arrays {
		for k, v := range flat(want[i]) {
			require.InDelta(t, v, a.Element(k), 1e-5*(1+math.Abs(float64(v))), "weight %d", i)
		}
	}
}

// TestWeightsFilesOfKeras: Keras's file of a distiller, and ours read again.
func TestWeightsFilesOfKeras(t *testing.T) {
	want := read(t).Cases["several"]
	make := func() (*keras.Model, distillation.Distiller) {
		d := cases()["several"]
		d.Teacher, d.Student = network(t, "t_", 5, 1, false, nil), network(t, "s_", 3, 1, false, nil)
		m, err := distillation.New(d)
		require.NoError(t, err)
		require.NoError(t, m.Build([]int{layers.Unknown, 6}))
		return m, d
	}
	m, d := make()
	require.NoError(t, m.LoadWeights("testdata/weights.weights.h5"))
	requireWeights(t, want.Weights, d.Student)
	requireWeights(t, want.Teacher, d.Teacher)
	path := filepath.Join(t.TempDir(), "ours.weights.h5")
	require.NoError(t, m.SaveWeights(path))
	again, d := make()
	require.NoError(t, again.LoadWeights(path))
	requireWeights(t, want.Weights, d.Student)
	assert.ErrorContains(t, m.Save(filepath.Join(t.TempDir(), "m.keras")), "Distiller")
}

func TestNewRejects(t *testing.T) {
	logits := []distillation.Loss{&distillation.LogitsDistillation{}}
	teacher, student := network(t, "t_", 5, 1, false, nil), network(t, "s_", 3, 1, false, nil)
	two := network(t, "u_", 3, 2, false, nil)
	features := func(loss any, t, s string) []distillation.Loss {
		return []distillation.Loss{&distillation.FeatureDistillation{Loss: loss, TeacherLayerName: t, StudentLayerName: s}}
	}
	for want, d := range map[string]distillation.Distiller{
		"Teacher or Student is nil":               {Student: student, Losses: logits},
		"are one model":                           {Teacher: student, Student: student, Losses: logits},
		"there are no Losses":                     {Teacher: teacher, Student: student},
		"2 LossWeights for 1 Losses":              {Teacher: teacher, Student: student, Losses: logits, LossWeights: []float64{1, 2}},
		"StudentLossWeight 2; expected 0":         {Teacher: teacher, Student: student, Losses: logits, StudentLossWeight: weight(2)},
		"StudentLossWeight NaN":                   {Teacher: teacher, Student: student, Losses: logits, StudentLossWeight: weight(math.NaN())},
		"Losses[0] is nil":                        {Teacher: teacher, Student: student, Losses: []distillation.Loss{nil}},
		"Temperature -1; expected a positive":     {Teacher: teacher, Student: student, Losses: []distillation.Loss{&distillation.LogitsDistillation{Temperature: -1}}},
		"all losses are nil":                      {Teacher: teacher, Student: student, Losses: []distillation.Loss{&distillation.LogitsDistillation{Loss: []any{nil}}}},
		"the teacher: keras: model \"t_net\" has": {Teacher: teacher, Student: student, Losses: features(nil, "nothing", "s_feature")},
		"the student: keras: model \"s_net\" has": {Teacher: teacher, Student: student, Losses: features(nil, "t_feature", "nothing")},
		"without a TeacherLayerName":              {Teacher: teacher, Student: student, Losses: features(nil, "", "s_feature")},
		"unknown loss":                            {Teacher: teacher, Student: student, Losses: features("nothing", "", "")},
		"has 1 outputs and the student 2":         {Teacher: teacher, Student: two, Losses: logits},
	} {
		_, err := distillation.New(d)
		assert.ErrorContains(t, err, want)
	}
	m, err := distillation.New(distillation.Distiller{Teacher: teacher, Student: student, Losses: logits})
	require.NoError(t, err)
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "sgd"}))
	_, err = m.Fit(context.Background(), data.Arrays(make([][6]float32, 4), []int32{0, 1, 2, 0}))
	assert.ErrorContains(t, err, "Compile was given no loss for the student")
}

// attention is a custom loss.
type attention struct{}

func (attention) ComputeLoss(s *keras.Step, teacher, student []*ops.Tensor) *ops.Tensor {
	return s.Mean(ops.Square(ops.Subtract(teacher[0], student[0])))
}

func (attention) LayerNames() (teacher, student string) { return "t_feature", "s_feature" }

// TestOwnLoss: a custom loss equals FeatureDistillation.
func TestOwnLoss(t *testing.T) {
	want := read(t)
	w := want.Cases["features"]
	d := distillation.Distiller{Losses: []distillation.Loss{attention{}}, Teacher: network(t, "t_", 5, 1, false, w.Teacher), Student: network(t, "s_", 3, 1, false, w.Student)}
	m, err := distillation.New(d)
	require.NoError(t, err)
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: &optimizers.SGD{LearningRate: 0.1, Momentum: 0.9},
		Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}, Metrics: []string{"accuracy"}}))
	h, err := m.Fit(context.Background(), data.Arrays(want.X, want.Y), keras.Epochs(2), keras.BatchSize(4), keras.Shuffle(false))
	require.NoError(t, err)
	requireLogs(t, w.History, h.Logs)
	requireWeights(t, w.Weights, d.Student)
}

func Example() {
	network := func(units int) *keras.Model {
		m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: units, Activation: "relu"}, &layers.Dense{Units: 2}}, keras.InputShape(3))
		if err != nil {
			panic(err)
		}
		return m
	}
	teacher, student := network(32), network(4) // the teacher would be trained before
	model, err := distillation.New(distillation.Distiller{
		Teacher: teacher, Student: student,
		Losses: []distillation.Loss{&distillation.LogitsDistillation{Temperature: 4}},
	})
	if err != nil {
		panic(err)
	}
	err = model.Compile(keras.CompileConfig{Optimizer: "adam", Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}})
	if err != nil {
		panic(err)
	}
	h, err := model.Fit(context.Background(), data.Arrays([][]float32{{1, 2, 3}, {3, 2, 1}}, []int32{0, 1}), keras.Epochs(3))
	if err != nil {
		panic(err)
	}
	fmt.Println(len(h.Logs["distillation_loss"]), len(h.Logs["student_loss"]), len(teacher.TrainableVariables()))
	// Output: 3 3 0
}
