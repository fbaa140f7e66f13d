package estimator_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/internal/tfvectors"
	"github.com/gokeras/gokeras/keras/estimator"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// handlers run recorded cases, chosen by the beginning of their ids.
var handlers = []struct {
	prefix string
	run    func(t *testing.T, c *tfvectors.Case)
}{
	{"estimator.default_cross_device_ops_hang", noHangCase},
	{"estimator.feature_column", featureColumnCase},
	{"estimator.keras_model_fn.", kerasModelFnCase},
	{"estimator.linear_regressor.", linearRegressorCase},
	{"estimator.model_fn.", modelFnCase},
	{"estimator.multi_worker.", multiWorkerCase},
	{"estimator.run_config", runConfigCase},
	{"estimator.specs", specsCase},
	{"estimator.steps", stepsCase},
	{"estimator.train_and_evaluate.", trainAndEvaluateCase},
}

// Every recorded case of one machine passes.
func TestVectors(t *testing.T) {
	for _, c := range tfvectors.Load(t, vectorFile) {
		t.Run(c.ID, func(t *testing.T) {
			for _, h := range handlers {
				if strings.HasPrefix(c.ID, h.prefix) {
					h.run(t, &c)
					return
				}
			}
			t.Errorf("there is no test for the case")
		})
	}
}

func modelFnCase(t *testing.T, c *tfvectors.Case) {
	want := c.Map(t)
	batch := int(tfvectors.Number(t, c.Inputs["batch_per_replica"]))
	steps := 0
	for _, n := range []int{1, 2, 3, 10} {
		if strings.HasSuffix(c.ID, map[int]string{1: "steps1", 2: "steps2", 3: "steps3", 10: "steps10"}[n]) {
			steps = n
		}
	}
	reduce := meanLoss
	if strings.Contains(c.ID, "sum_over_batch") {
		reduce = func(x *ops.Tensor) *ops.Tensor { return ops.DivideScalar(ops.Sum(x), float64(batch)) }
	}
	x, y := float32s(t, c.Inputs["x"]), float32s(t, c.Inputs["y"])
	e, err := estimator.New(linear(reduce), config(t, c.Replicas()), nil)
	require.NoError(t, err)
	var seen []distribute.InputContext
	input := func(ic distribute.InputContext) (data.Dataset, error) {
		seen = append(seen, ic)
		return rows(x, y, batch)(ic)
	}
	require.NoError(t, e.Train(ctx, input, estimator.Steps(steps)))
	require.Equal(t, []distribute.InputContext{{NumInputPipelines: 1, NumReplicasInSync: c.Replicas()}}, seen)
	c.Close(t, "w", tfvectors.Get(want, "variables", "w"), value(t, e, "w"))
	c.Close(t, "b", tfvectors.Get(want, "variables", "b"), value(t, e, "b"))
	if exact, ok := c.Exact.(map[string]any); ok {
		c.Close(t, "exact w", tfvectors.Get(exact, "variables", "w"), value(t, e, "w"))
	}
	var options []estimator.EvaluateOption
	if strings.HasSuffix(c.ID, "replicas2.batch8.steps1") {
		// Three batches for two replicas: TensorFlow ended the recorded evaluation before the third, that of the next
		// case (five batches) after the fifth, as the threads of its replicas happened to run. Here all batches count;
		// the first step alone is what was recorded.
		options = append(options, estimator.Steps(1))
	}
	got, err := e.Evaluate(ctx, rows(x, y, batch), options...)
	require.NoError(t, err)
	checkResults(t, c, want["evaluate"], got)
	var predictions []float64
	for p, err := range e.Predict(ctx, rows(x, nil, 8)) {
		require.NoError(t, err)
		predictions = append(predictions, numbers(t, p["y"])...)
		if len(predictions) == 3 {
			break
		}
	}
	c.Close(t, "predict", want["predict"], predictions)
}

// wantError expects an error with the recorded message.
func wantError(t *testing.T, want any, err error) {
	t.Helper()
	message := tfvectors.Get(want, "message").(string)
	message, _, _ = strings.Cut(message, ", given: Tensor") // how TensorFlow prints a tensor
	require.ErrorContains(t, err, strings.TrimSuffix(message, "."))
}

func runConfigCase(t *testing.T, c *tfvectors.Case) {
	want := c.Map(t)
	wantError(t, want["both_secs_and_steps"], estimator.RunConfig{SaveCheckpointsSteps: 5, SaveCheckpointsSecs: 5}.Validate())
	wantError(t, want["negative_keep"], estimator.RunConfig{KeepCheckpointMax: new(-1)}.Validate())
	require.NoError(t, estimator.RunConfig{}.Validate())
	const jobs = `"chief": ["h0:1"], "worker": ["h1:1", "h2:1"], "ps": ["h3:1"]`
	for name, text := range map[string]string{
		"tf_config_chief":         `{"cluster": {` + jobs + `}, "task": {"type": "worker", "index": 1}}`,
		"tf_config_no_chief":      `{"cluster": {"worker": ["h1:1"]}, "task": {"type": "worker", "index": 0}}`,
		"tf_config_no_task":       `{"cluster": {"chief": ["h0:1"]}}`,
		"tf_config_evaluator":     `{"cluster": {` + jobs + `}, "task": {"type": "evaluator", "index": 0}}`,
		"tf_config_negative":      `{"cluster": {"chief": ["h0:1"], "worker": ["h1:1"]}, "task": {"type": "worker", "index": -1}}`,
		"tf_config_two_chiefs":    `{"cluster": {"chief": ["h0:1", "h1:1"]}, "task": {"type": "chief", "index": 0}}`,
		"tf_config_unknown_type":  `{"cluster": {"chief": ["h0:1"]}, "task": {"type": "boss", "index": 0}}`,
		"tf_config_local":         `{}`,
		"tf_config_index_too_big": `{"cluster": {"chief": ["h0:1"], "worker": ["h1:1"]}, "task": {"type": "worker", "index": 4}}`,
	} {
		conf := estimator.RunConfig{Cluster: &cluster.TFConfig{Lookup: func(string) (string, bool) { return text, true }}}
		role, err := conf.Role()
		if tfvectors.IsError(want[name]) {
			recorded, _, _ := strings.Cut(want[name].(map[string]any)["message"].(string), " in the cluster_spec: ") // which Go writes differently
			require.ErrorContains(t, err, strings.TrimSuffix(recorded, "."), name)
			require.Error(t, conf.Validate(), name)
			continue
		}
		require.NoError(t, err, name)
		recorded := want[name].(map[string]any)
		id := -1.0
		if v, ok := recorded["global_id_in_cluster"].(float64); ok {
			id = v
		}
		require.Equal(t, estimator.Role{TaskType: recorded["task_type"].(string), TaskID: int(recorded["task_id"].(float64)), IsChief: recorded["is_chief"].(bool),
			NumWorkerReplicas: int(recorded["workers"].(float64)), NumPSReplicas: int(recorded["ps"].(float64)), GlobalIDInCluster: int(id),
			Master: recorded["master"].(string)}, role, name)
	}
}

func specsCase(t *testing.T, c *tfvectors.Case) {
	want := c.Map(t)
	one := func(shape ...int) func(*estimator.Context) *ops.Tensor {
		return func(c *estimator.Context) *ops.Tensor { return ops.Ones(c, ir.Float32, shape...) }
	}
	x := rows([][]float32{{1}, {2}}, []float32{1, 2}, 2)
	call := func(mode estimator.ModeKey, fill func(c *estimator.Context, s *estimator.EstimatorSpec)) error {
		e, err := estimator.New(func(c *estimator.Context, _ estimator.Features, _ *ops.Tensor, mode estimator.ModeKey, _ estimator.Params) (estimator.EstimatorSpec, error) {
			s := estimator.EstimatorSpec{Mode: mode}
			fill(c, &s)
			return s, nil
		}, config(t, 1), nil)
		require.NoError(t, err)
		switch mode {
		case estimator.TRAIN:
			return e.Train(ctx, x, estimator.Steps(1))
		case estimator.EVAL:
			_, err = e.Evaluate(ctx, x)
			return err
		}
		for _, err := range e.Predict(ctx, x) {
			return err
		}
		return nil
	}
	loss := func(shape ...int) func(c *estimator.Context, s *estimator.EstimatorSpec) {
		return func(c *estimator.Context, s *estimator.EstimatorSpec) { s.Loss = one(shape...)(c) }
	}
	nothing := func(*estimator.Context, *estimator.EstimatorSpec) {}
	wantError(t, want["train_without_loss"], call(estimator.TRAIN, nothing))
	wantError(t, want["train_without_train_op"], call(estimator.TRAIN, loss()))
	wantError(t, want["eval_without_loss"], call(estimator.EVAL, nothing))
	wantError(t, want["predict_without_predictions"], call(estimator.PREDICT, nothing))
	wantError(t, want["vector_loss"], call(estimator.EVAL, loss(2)))
	require.NoError(t, call(estimator.EVAL, loss(1)), "a loss of one element")
	require.ErrorContains(t, call(estimator.EVAL, func(c *estimator.Context, s *estimator.EstimatorSpec) { s.Mode = "" }), "mode is missing")
	wantError(t, want["train_spec_max_steps_0"], estimator.TrainSpec{InputFn: x, MaxSteps: new(0)}.Validate())
	wantError(t, want["eval_spec_steps_0"], estimator.EvalSpec{InputFn: x, Steps: new(0)}.Validate())
	wantError(t, want["throttle_negative"], estimator.EvalSpec{InputFn: x, ThrottleSecs: new(-1)}.Validate())
	require.Equal(t, want["mode_names"], []any{string(estimator.TRAIN), string(estimator.EVAL), string(estimator.PREDICT)})
}

// linearData are the rows that the recorded cases of the linear model share.
func linearData(t *testing.T) (x, y any) {
	for _, c := range tfvectors.Load(t, vectorFile) {
		if c.ID == "estimator.train_and_evaluate.replicas1" {
			return float32s(t, c.Inputs["x"]), float32s(t, c.Inputs["y"])
		}
	}
	t.Fatal("no case has the rows")
	return nil, nil
}

func stepsCase(t *testing.T, c *tfvectors.Case) {
	want := c.Map(t)
	x, y := linearData(t)
	input := func(distribute.InputContext) (data.Dataset, error) {
		return data.FromTensorSlices(x, y).Repeat(-1).Batch(4, false), nil
	}
	conf := config(t, 1)
	e, err := estimator.New(linear(meanLoss), conf, nil)
	require.NoError(t, err)
	step := func(what string, options ...estimator.TrainOption) {
		t.Helper()
		require.NoError(t, e.Train(ctx, input, options...))
		c.Close(t, what, want[what], value(t, e, "global_step"))
	}
	got, err := e.Evaluate(ctx, rows(x, y, 4), estimator.Steps(1))
	require.NoError(t, err)
	c.Tolerance.Absolute = 1e-6
	checkResults(t, c, want["evaluate_without_checkpoint"], got)
	step("steps=3", estimator.Steps(3))
	step("then steps=2", estimator.Steps(2))
	step("then max_steps=4", estimator.MaxSteps(4))
	step("then max_steps=7", estimator.MaxSteps(7))
	wantError(t, want["both"], e.Train(ctx, input, estimator.Steps(1), estimator.MaxSteps(1)))
	wantError(t, want["steps_0"], e.Train(ctx, input, estimator.Steps(0)))
	latest, err := e.LatestCheckpoint()
	require.NoError(t, err)
	require.Equal(t, want["latest_checkpoint"], filepath.Base(latest))
	names, err := e.VariableNames()
	require.NoError(t, err)
	for _, name := range want["names"].([]any) {
		require.Contains(t, names, name)
	}
	e, err = estimator.New(linear(meanLoss), conf, nil)
	require.NoError(t, err)
	step("resumed_in_new_object", estimator.Steps(1))
	var kept []any
	for _, name := range files(t, conf.ModelDir, "model.ckpt-") {
		kept = append(kept, strings.Replace(name, ".safetensors", ".index", 1))
	}
	require.Equal(t, want["checkpoints_kept"], kept)
}

// files lists the files of a folder that begin with a prefix, in alphabetical order.
func files(t *testing.T, dir, prefix string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			names = append(names, e.Name())
		}
	}
	return names
}

func trainAndEvaluateCase(t *testing.T, c *tfvectors.Case) {
	want := c.Map(t)
	x, y := float32s(t, c.Inputs["x"]), float32s(t, c.Inputs["y"])
	conf := config(t, c.Replicas())
	conf.SaveCheckpointsSteps = 4
	e, err := estimator.New(linear(meanLoss), conf, nil)
	require.NoError(t, err)
	evaluations := 0
	got, err := estimator.TrainAndEvaluate(ctx, e,
		estimator.TrainSpec{MaxSteps: new(10), InputFn: func(distribute.InputContext) (data.Dataset, error) {
			return data.FromTensorSlices(x, y).Repeat(-1).Batch(4, false), nil
		}},
		estimator.EvalSpec{AllData: true, ThrottleSecs: new(0), InputFn: func(ic distribute.InputContext) (data.Dataset, error) {
			evaluations++
			return rows(x, y, 4)(ic)
		}})
	require.NoError(t, err)
	require.Equal(t, 3, evaluations, "after steps 4, 8 and 10")
	checkResults(t, c, want["result"], got)
	c.Close(t, "w", tfvectors.Get(want, "variables", "w"), value(t, e, "w"))
	c.Close(t, "b", tfvectors.Get(want, "variables", "b"), value(t, e, "b"))
}
