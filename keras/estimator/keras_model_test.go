package estimator_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/tfvectors"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/estimator"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/initializers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/optimizers"
)

// tutorialModel is the tutorial's network, small, with the recorded initial weights.
func tutorialModel(s distribute.Strategy) (*keras.Model, error) {
	linspace := make(fixed, 40)
	for i := range linspace {
		linspace[i] = -.3 + .6*float64(i)/39
	}
	return keras.NewSequential([]layers.Layer{
		&layers.Conv2D{Filters: 2, KernelSize: []int{3}, Activation: "relu", KernelInitializer: &initializers.Constant{Value: .05}},
		&layers.MaxPooling2D{},
		&layers.Flatten{},
		&layers.Dense{Units: 4, Activation: "relu", KernelInitializer: &initializers.Constant{Value: .02}},
		&layers.Dense{Units: 10, KernelInitializer: linspace},
	}, distribute.Scope(s), keras.InputShape(8, 8, 1))
}

// tutorialModelFn is the tutorial's model_fn: a Keras model inside, and the sum of the losses over the batch size of a
// replica.
func tutorialModelFn(batch int) estimator.ModelFn {
	return func(c *estimator.Context, features estimator.Features, labels *ops.Tensor, mode estimator.ModeKey, _ estimator.Params) (estimator.EstimatorSpec, error) {
		spec := estimator.EstimatorSpec{Mode: mode}
		model, err := estimator.Once(c, "model", func() (*keras.Model, error) { return tutorialModel(c.Strategy()) })
		if err != nil {
			return spec, err
		}
		logits := model.Call(c.Layers(), features.First())
		spec.Predictions = map[string]*ops.Tensor{"logits": logits}
		if mode == estimator.PREDICT {
			return spec, nil
		}
		loss := &losses.SparseCategoricalCrossentropy{FromLogits: true}
		spec.Loss = ops.DivideScalar(ops.Sum(loss.PerExample(labels, logits)), float64(batch))
		if mode == estimator.TRAIN {
			spec.TrainOp = c.Minimize(&optimizers.SGD{LearningRate: 0.1}, spec.Loss, model.TrainableVariables()...)
		}
		return spec, nil
	}
}

func kerasCaseInput(t *testing.T, c *tfvectors.Case) estimator.InputFn {
	var labels []int64
	for _, y := range tfvectors.Values(t, c.Inputs["y"]) {
		labels = append(labels, int64(y))
	}
	return rows(float32s(t, c.Inputs["x"]), labels, 4)
}

func checkKerasCase(t *testing.T, c *tfvectors.Case, e *estimator.Estimator, got map[string]float64) {
	want := c.Map(t)
	for name, v := range want["evaluate"].(map[string]any) {
		c.Close(t, name, v, []float64{got[name]})
	}
	names, err := e.VariableNames()
	require.NoError(t, err)
	found := 0
	for name, v := range want["variables"].(map[string]any) {
		for _, own := range names {
			if own == name || strings.HasSuffix(own, "/"+name) && !strings.Contains(own, "sgd") {
				c.Close(t, name, flattened(v), value(t, e, own))
				found++
			}
		}
	}
	require.Equal(t, 6, found, "%v", names)
}

// flattened returns a nested list as one list.
func flattened(v any) any {
	l, ok := v.([]any)
	if !ok {
		return []any{v}
	}
	out := []any{}
	for _, e := range l {
		out = append(out, flattened(e).([]any)...)
	}
	return out
}

func kerasModelFnCase(t *testing.T, c *tfvectors.Case) {
	e, err := estimator.New(tutorialModelFn(4), config(t, c.Replicas()), nil)
	require.NoError(t, err)
	require.NoError(t, e.Train(ctx, kerasCaseInput(t, c), estimator.Steps(2)))
	got, err := e.Evaluate(ctx, kerasCaseInput(t, c))
	require.NoError(t, err)
	checkKerasCase(t, c, e, got)
}

// ModelToEstimator trains the same model to the same numbers.
func TestModelToEstimator(t *testing.T) {
	for _, c := range tfvectors.Load(t, vectorFile) {
		if !strings.HasPrefix(c.ID, "estimator.keras_model_fn.") {
			continue
		}
		m, err := tutorialModel(distribute.Default())
		require.NoError(t, err)
		require.NoError(t, m.Compile(keras.CompileConfig{
			Optimizer: &optimizers.SGD{LearningRate: 0.1}, Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}, Metrics: []string{"accuracy"},
		}))
		weights, err := m.GetWeights()
		require.NoError(t, err)
		// The document cannot hold the test's own initializer.
		m, err = keras.NewSequential([]layers.Layer{
			&layers.Conv2D{Filters: 2, KernelSize: []int{3}, Activation: "relu"}, &layers.MaxPooling2D{}, &layers.Flatten{},
			&layers.Dense{Units: 4, Activation: "relu"}, &layers.Dense{Units: 10},
		}, keras.InputShape(8, 8, 1))
		require.NoError(t, err)
		require.NoError(t, m.SetWeights(weights))
		_, err = estimator.ModelToEstimator(m, config(t, 1))
		require.ErrorContains(t, err, "compile it first")
		require.NoError(t, m.Compile(keras.CompileConfig{
			Optimizer: &optimizers.SGD{LearningRate: 0.1}, Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}, Metrics: []string{"accuracy"},
		}))
		e, err := estimator.ModelToEstimator(m, config(t, c.Replicas()))
		require.NoError(t, err)
		require.NoError(t, e.Train(ctx, kerasCaseInput(t, &c), estimator.Steps(2)))
		got, err := e.Evaluate(ctx, kerasCaseInput(t, &c))
		require.NoError(t, err)
		require.Contains(t, got, "accuracy")
		require.Len(t, got, 3)
		checkKerasCase(t, &c, e, got)
		n := 0
		for p, err := range e.Predict(ctx, kerasCaseInput(t, &c)) {
			require.NoError(t, err)
			require.Len(t, p, 1)
			for _, d := range p {
				require.Equal(t, []int{10}, []int(d.Shape()))
			}
			n++
		}
		require.Equal(t, 16, n)
		after, err := m.GetWeights()
		require.NoError(t, err)
		require.Equal(t, weights[0].Elements(), after[0].Elements(), "the model itself is not trained")
	}
}

// The tutorial's program: a Keras model inside a ModelFn, trained and evaluated in turn.
func TestKerasModelTrainAndEvaluate(t *testing.T) {
	conf := config(t, 2)
	conf.SaveCheckpointsSteps = 5
	e, err := estimator.New(tutorialModelFn(4), conf, nil)
	require.NoError(t, err)
	x := make([][8][8][1]float32, 16)
	y := make([]int64, 16)
	for i := range x {
		y[i] = int64(i % 2)
		for j := range 8 {
			for k := range 8 {
				x[i][j][k][0] = float32(i % 2)
			}
		}
	}
	got, err := estimator.TrainAndEvaluate(ctx, e,
		estimator.TrainSpec{MaxSteps: new(60), InputFn: func(distribute.InputContext) (data.Dataset, error) {
			return data.FromTensorSlices(x, y).Repeat(-1).Batch(4, false), nil
		}}, estimator.EvalSpec{InputFn: rows(x, y, 4)})
	require.NoError(t, err)
	require.Equal(t, 60.0, got["global_step"])
	require.Less(t, got["loss"], 1.2)
}
