//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/parameterserver"
	"github.com/gokeras/gokeras/keras/estimator"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/optimizers"
)

// stepsBesideEvaluator is how long trainBesideEvaluator trains.
const stepsBesideEvaluator = 20

// trainBesideEvaluator is a task of a job that trains an Estimator on parameter servers, with an evaluator beside it.
func trainBesideEvaluator(dir string) int {
	if err := trainAndEvaluate(context.Background(), dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func trainAndEvaluate(ctx context.Context, dir string) (err error) {
	task, err := (&cluster.TFConfig{}).TaskType()
	if err != nil {
		return err
	}
	var strategy distribute.Strategy
	switch task {
	case cluster.ParameterServer:
		return parameterserver.Serve(ctx, parameterserver.Options{})
	case cluster.Evaluator:
	default:
		s, err := parameterserver.NewStrategy(ctx, parameterserver.Options{})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		strategy = s
	}
	e, err := estimator.New(slope, estimator.RunConfig{TrainDistribute: strategy, ModelDir: dir, Cluster: &cluster.TFConfig{}, SaveCheckpointsSteps: 10}, nil)
	if err != nil {
		return err
	}
	input := func(repeat int) estimator.InputFn {
		return func(distribute.InputContext) (data.Dataset, error) {
			return data.FromTensorSlices([][]float32{{1}, {2}}, [][]float32{{3}, {6}}).Repeat(repeat).Batch(2, false), nil
		}
	}
	results, err := estimator.TrainAndEvaluate(ctx, e, estimator.TrainSpec{InputFn: input(-1), MaxSteps: new(stepsBesideEvaluator)},
		estimator.EvalSpec{InputFn: input(1), AllData: true, StartDelaySecs: new(0), ThrottleSecs: new(0)})
	if err == nil && results != nil {
		fmt.Printf("evaluated at step %v: loss %.3f\n", results["global_step"], results["loss"])
	}
	return err
}

// slope is a line through the origin.
func slope(c *estimator.Context, features estimator.Features, labels *ops.Tensor, mode estimator.ModeKey, _ estimator.Params) (estimator.EstimatorSpec, error) {
	w := c.Read(c.GetVariable(distribute.VariableSpec{Name: "w", Shape: ir.Shape{1, 1}, DType: ir.Float32}))
	spec := estimator.EstimatorSpec{Mode: mode, Loss: ops.Mean(ops.Square(ops.Subtract(ops.Matmul(features.First(), w), labels)))}
	if mode == estimator.TRAIN {
		spec.TrainOp = c.Minimize(&optimizers.SGD{LearningRate: 0.02}, spec.Loss)
	}
	return spec, nil
}

// TestLaunchEvaluator: keras launch with parameter servers and an evaluator trains an Estimator, which the evaluator
// follows to the last step. What trains with Fit has nothing for an evaluator to do: that is said, and the others train
// to the end.
func TestLaunchEvaluator(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes: not with -short")
	}
	dir := t.TempDir()
	t.Setenv(role, "evaluator")
	status, stdout, stderr := execute(t, "launch", "--ps", "2", "--workers", "2", "--evaluator", "--", os.Args[0], dir)
	require.Zero(t, status, "%s\n%s", stdout, stderr)
	require.Contains(t, stdout, fmt.Sprintf("[evaluator] evaluated at step %d: loss", stepsBesideEvaluator))
	require.NotContains(t, stdout, "[coordinator] evaluated")
	for _, pattern := range []string{fmt.Sprintf("model.ckpt-%d.*", stepsBesideEvaluator), "eval/events*"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		require.NoError(t, err)
		require.NotEmpty(t, files, pattern)
	}

	model := smallModel(t)
	path := func(name string) string { return filepath.Join(model, name) }
	t.Setenv(role, "keras")
	status, _, stderr = execute(t, "launch", "--ps", "1", "--workers", "1", "--evaluator", "--restarts", "0", "--", os.Args[0], "fit", path("model.keras"), "--x", path("both.npz"), "--y", path("both.npz"),
		"--batch-size", "3", "--epochs", "2", "--steps-per-epoch", "5", "--verbose", "0", "--output", path("two.keras"), "--strategy", "parameterserver")
	require.NotZero(t, status)
	require.Contains(t, stderr, "takes no part in training")
	require.Contains(t, stderr, "without --evaluator")
	require.FileExists(t, path("two.keras"))
}
