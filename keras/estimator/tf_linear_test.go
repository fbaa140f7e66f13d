package estimator_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/tfvectors"
	"github.com/gokeras/gokeras/keras/estimator"
)

// guideInput is the input function of the guide: feature [1.] and label [1.], 1,000 times, in batches of 10.
func guideInput(distribute.InputContext) (data.Dataset, error) {
	return data.FromTensorSlices(map[string]any{"feats": [][]float32{{1}}}, [][]float32{{1}}).Repeat(1000).Batch(10, false), nil
}

func guideRegressor(t *testing.T, replicas int, optimizer any) (*estimator.Estimator, error) {
	return estimator.NewLinearRegressor(estimator.LinearRegressor{
		FeatureColumns: []estimator.FeatureColumn{estimator.NumericColumn{Key: "feats"}}, Optimizer: optimizer, Config: config(t, replicas),
	})
}

func linearRegressorCase(t *testing.T, c *tfvectors.Case) {
	optimizer, steps := c.ID[strings.LastIndex(c.ID, ".")+1:], 5
	if n := regexp.MustCompile(`steps(\d+)$`).FindStringSubmatch(c.ID); n != nil {
		optimizer = "SGD"
		steps, _ = strconv.Atoi(n[1])
	}
	e, err := guideRegressor(t, c.Replicas(), optimizer)
	if tfvectors.IsError(c.Expected) {
		require.ErrorContains(t, err, "Unsupported optimizer name: "+optimizer)
		require.ErrorContains(t, err, `"RMSProp"`)
		return
	}
	require.NoError(t, err)
	require.NoError(t, e.Train(ctx, guideInput, estimator.Steps(steps)))
	got, err := e.Evaluate(ctx, guideInput, estimator.Steps(steps))
	require.NoError(t, err)
	want := c.Map(t)
	checkResults(t, c, want["evaluate"], got)
	for _, name := range []string{"linear/linear_model/bias_weights", "linear/linear_model/feats/weights"} {
		c.Close(t, name, tfvectors.Get(want, "variables", name), value(t, e, name))
	}
	var predictions []float64
	for p, err := range e.Predict(ctx, guideInput) {
		require.NoError(t, err)
		if predictions = append(predictions, numbers(t, p["predictions"])...); len(predictions) == 2 {
			break
		}
	}
	c.Close(t, "predict", want["predict"], predictions)
}

// TensorFlow's default cross-device operations hang on CPUs; here they are what all other cases use.
func noHangCase(t *testing.T, c *tfvectors.Case) {
	e, err := guideRegressor(t, c.Replicas(), "SGD")
	require.NoError(t, err)
	require.NoError(t, e.Train(ctx, guideInput, estimator.Steps(10)))
	c.Close(t, "global step", tfvectors.Get(c.Right(), "global_step"), value(t, e, "global_step"))
}

func featureColumnCase(t *testing.T, c *tfvectors.Case) {
	want := c.Map(t)
	wantError(t, want["shape_0"], estimator.NumericColumn{Key: "a", Shape: []int{0}}.Validate())
	wantError(t, want["string_dtype"], estimator.NumericColumn{Key: "a", DType: "string"}.Validate())
	wantError(t, want["default_shape_mismatch"], estimator.NumericColumn{Key: "a", Shape: []int{2}, DefaultValue: []float64{1, 2, 3}}.Validate())
	require.NoError(t, estimator.NumericColumn{Key: "a"}.Validate())
	require.Equal(t, 1, estimator.NumericColumn{Key: "a"}.Width())
	require.Equal(t, 12, estimator.NumericColumn{Key: "a", Shape: []int{3, 4}}.Width())
}
