package estimator_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/internal/tensorboard"
	"github.com/gokeras/gokeras/keras/estimator"
)

// scaled makes an estimator, in folder dir, with one weight that gradient descent moves from 0 to 1.
func scaled(t *testing.T, c estimator.RunConfig) *estimator.Estimator {
	t.Helper()
	e, err := estimator.New(scale, c, estimator.Params{"rate": 0.25})
	require.NoError(t, err)
	return e
}

func tfConfig(text string) cluster.Resolver {
	return &cluster.TFConfig{Lookup: func(string) (string, bool) { return text, true }}
}

func weight(t *testing.T, dir string) float64 {
	t.Helper()
	v, err := scaled(t, estimator.RunConfig{ModelDir: dir}).VariableValue("w")
	require.NoError(t, err)
	return float64(v.Elements().([]float32)[0])
}

// Exports are folders that an estimator opens: the newest of each evaluation, the best one, and the last one.
func TestExporters(t *testing.T) {
	dir := t.TempDir()
	worse := func(best, current map[string]float64) bool { return current["loss"] > best["loss"] }
	eval := estimator.EvalSpec{InputFn: ones, Steps: new(1), ThrottleSecs: new(0), Exporters: []estimator.Exporter{
		&estimator.LatestExporter{ExporterName: "latest", ExportsToKeep: new(2)}, &estimator.FinalExporter{ExporterName: "final"},
		&estimator.BestExporter{}, &estimator.BestExporter{ExporterName: "worst", Compare: worse},
	}}
	run := func(steps int) {
		e := scaled(t, estimator.RunConfig{ModelDir: dir, SaveCheckpointsSteps: 1})
		_, err := estimator.TrainAndEvaluate(ctx, e, estimator.TrainSpec{InputFn: ones, MaxSteps: &steps}, eval)
		require.NoError(t, err)
	}
	exports := func(name string) (paths []string) {
		entries, err := os.ReadDir(filepath.Join(dir, "export", name))
		require.NoError(t, err)
		for _, e := range entries {
			if e.IsDir() {
				paths = append(paths, filepath.Join(dir, "export", name, e.Name()))
			}
		}
		return paths
	}
	run(3)
	require.Len(t, exports("latest"), 2)
	require.Len(t, exports("final"), 1)
	require.Len(t, exports("best_exporter"), 3, "each evaluation is better than the one before")
	require.Len(t, exports("worst"), 1)
	trained := weight(t, dir)
	require.Equal(t, trained, weight(t, exports("final")[0]))
	require.Equal(t, trained, weight(t, exports("latest")[1]))
	require.Less(t, weight(t, exports("worst")[0]), trained)
	run(4) // the best of the earlier run counts
	require.Len(t, exports("worst"), 1)
	require.Len(t, exports("best_exporter"), 4)
	require.Len(t, exports("final"), 2)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "export", "worst", "best.json"), []byte("nonsense"), 0o666))
	e := scaled(t, estimator.RunConfig{ModelDir: dir, SaveCheckpointsSteps: 1})
	_, err := estimator.TrainAndEvaluate(ctx, e, estimator.TrainSpec{InputFn: ones, MaxSteps: new(5)}, eval)
	require.ErrorContains(t, err, "exporter worst: estimator: BestExporter: reading")
	for text, list := range map[string][]estimator.Exporter{
		`must have unique names, "a" comes twice`: {&estimator.LatestExporter{ExporterName: "a"}, &estimator.FinalExporter{ExporterName: "a"}},
		`the name of exporter 0 is ""`:            {&estimator.LatestExporter{}},
		`the name of exporter 0 is ".."`:          {&estimator.FinalExporter{ExporterName: ".."}},
		"exporter 0 is nil":                       {nil},
	} {
		require.ErrorContains(t, estimator.EvalSpec{InputFn: ones, Exporters: list}.Validate(), text)
	}
}

// The evaluator evaluates what another process trains, up to the last step.
func TestEvaluatorRole(t *testing.T) {
	dir := t.TempDir()
	chief := estimator.RunConfig{ModelDir: dir, SaveCheckpointsSteps: 1, Cluster: tfConfig(`{"cluster": {"chief": ["h0:1"]}, "task": {"type": "chief", "index": 0}}`)}
	evaluator := estimator.RunConfig{ModelDir: dir, Cluster: tfConfig(`{"cluster": {"chief": ["h0:1"]}, "task": {"type": "evaluator", "index": 0}}`)}
	train := estimator.TrainSpec{InputFn: ones, MaxSteps: new(3)}
	eval := estimator.EvalSpec{InputFn: ones, Steps: new(1), StartDelaySecs: new(0), ThrottleSecs: new(0), Exporters: []estimator.Exporter{&estimator.FinalExporter{ExporterName: "f"}}}
	go func() {
		time.Sleep(20 * time.Millisecond)
		results, err := estimator.TrainAndEvaluate(ctx, scaled(t, chief), train, eval)
		if err != nil || results != nil {
			t.Errorf("the chief only trains: %v, %v", results, err)
		}
	}()
	results, err := estimator.TrainAndEvaluate(ctx, scaled(t, evaluator), train, eval)
	require.NoError(t, err)
	require.EqualValues(t, 3, results["global_step"])
	require.DirExists(t, filepath.Join(dir, "export", "f"))

	ended, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	eval.StartDelaySecs = nil
	_, err = estimator.TrainAndEvaluate(ended, scaled(t, evaluator), train, eval)
	require.ErrorIs(t, err, context.DeadlineExceeded, "a context ends the delay")
	eval.StartDelaySecs = new(-1)
	require.ErrorContains(t, eval.Validate(), "start_delay_secs >= 0")
	ps := estimator.RunConfig{ModelDir: dir, Cluster: tfConfig(`{"cluster": {"chief": ["h0:1"], "ps": ["h1:1"]}, "task": {"type": "ps", "index": 0}}`)}
	eval.StartDelaySecs = nil
	_, err = estimator.TrainAndEvaluate(ctx, scaled(t, ps), train, eval)
	require.ErrorContains(t, err, "this is a parameter server; let it run parameterserver.RunStrategy")
}

// A new model is initialized from another one; a model with a checkpoint continues with its own values.
func TestWarmStart(t *testing.T) {
	old := t.TempDir()
	require.NoError(t, scaled(t, estimator.RunConfig{ModelDir: old}).Train(ctx, ones, estimator.Steps(2)))
	latest, err := estimator.LatestCheckpoint(old)
	require.NoError(t, err)
	start := func(dir string, w *estimator.WarmStartSettings) error {
		e, err := estimator.New(scale, estimator.RunConfig{ModelDir: dir, WarmStartFrom: w}, estimator.Params{"rate": 0.0})
		if err != nil {
			return err
		}
		return e.Train(ctx, ones, estimator.Steps(1))
	}
	want := weight(t, old)
	require.NotZero(t, want)
	for name, w := range map[string]*estimator.WarmStartSettings{
		"folder": {CkptToInitializeFrom: old}, "path": {CkptToInitializeFrom: latest}, "name": {CkptToInitializeFrom: old, VarsToWarmStart: "w$"},
	} {
		dir := t.TempDir()
		require.NoError(t, start(dir, w), name)
		require.Equal(t, want, weight(t, dir), name)
		e := scaled(t, estimator.RunConfig{ModelDir: dir})
		path, err := e.LatestCheckpoint()
		require.NoError(t, err)
		require.Equal(t, "model.ckpt-1", filepath.Base(path), "the global step begins at 0")
	}
	dir := t.TempDir()
	require.NoError(t, start(dir, &estimator.WarmStartSettings{CkptToInitializeFrom: old, VarsToWarmStart: "other"}))
	require.Zero(t, weight(t, dir))
	require.NoError(t, start(dir, &estimator.WarmStartSettings{CkptToInitializeFrom: old}))
	require.Zero(t, weight(t, dir), "it has a checkpoint of its own")
	for text, w := range map[string]*estimator.WarmStartSettings{
		"CkptToInitializeFrom is empty":           {},
		"VarsToWarmStart: error parsing regexp":   {CkptToInitializeFrom: old, VarsToWarmStart: "("},
		`there is no "v" in the checkpoint`:       {CkptToInitializeFrom: old, VarNameToPrevVarName: map[string]string{"w": "v"}},
		`and "global_step" in the checkpoint int`: {CkptToInitializeFrom: old, VarNameToPrevVarName: map[string]string{"w": "global_step"}},
		"no such file": {CkptToInitializeFrom: filepath.Join(old, "none")},
	} {
		require.ErrorContains(t, start(t.TempDir(), w), text)
	}
}

// Training and evaluation write summaries for TensorBoard.
func TestSummaries(t *testing.T) {
	dir := t.TempDir()
	e := scaled(t, estimator.RunConfig{ModelDir: dir, SaveSummarySteps: new(2)})
	require.NoError(t, e.Train(ctx, ones, estimator.Steps(5)))
	_, err := e.Evaluate(ctx, ones, estimator.Steps(1), estimator.Name("held_out"))
	require.NoError(t, err)
	read := func(dir string) (steps []int64) {
		t.Helper()
		found, err := filepath.Glob(filepath.Join(dir, "events*"))
		require.NoError(t, err)
		require.Len(t, found, 1)
		events, err := tensorboard.ReadFile(found[0])
		require.NoError(t, err)
		for _, event := range events {
			for _, v := range event.Values {
				if v.Tag == "loss" {
					steps = append(steps, event.Step)
				}
			}
		}
		return steps
	}
	require.Equal(t, []int64{1, 3, 5}, read(dir))
	require.Equal(t, []int64{5}, read(filepath.Join(dir, "eval_held_out")))
	quiet := t.TempDir()
	e = scaled(t, estimator.RunConfig{ModelDir: quiet, SaveSummarySteps: new(0)})
	require.NoError(t, e.Train(ctx, ones, estimator.Steps(1)))
	found, err := filepath.Glob(filepath.Join(quiet, "*events*"))
	require.NoError(t, err)
	require.Empty(t, found)
	require.ErrorContains(t, estimator.RunConfig{SaveSummarySteps: new(-1)}.Validate(), "save_summary_steps should be >= 0")
	_, err = e.Evaluate(ctx, ones, estimator.Name("../x"))
	require.ErrorContains(t, err, "part of the name of a folder")
	require.ErrorContains(t, e.Train(ctx, ones, estimator.Hooks(&estimator.SummarySaverHook{})), "exactly one of SaveSteps and SaveSecs")
}
