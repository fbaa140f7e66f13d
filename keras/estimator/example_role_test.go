package estimator_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/keras/estimator"
)

// The best model of a run, by the mean absolute error, and the last one.
func ExampleExporter() {
	dir, remove := folder()
	defer remove()
	e, err := estimator.New(scale, estimator.RunConfig{ModelDir: dir}, estimator.Params{"rate": 0.25})
	check(err)
	best := &estimator.BestExporter{ExporterName: "best", Compare: func(best, current map[string]float64) bool { return current["mae"] < best["mae"] }}
	last := &estimator.FinalExporter{ExporterName: "last"}
	latest := &estimator.LatestExporter{ExporterName: "latest", ExportsToKeep: new(1)}
	_, err = estimator.TrainAndEvaluate(context.Background(), e, estimator.TrainSpec{InputFn: ones, MaxSteps: new(3)},
		estimator.EvalSpec{InputFn: ones, Steps: new(1), Exporters: []estimator.Exporter{best, last, latest}})
	check(err)
	exports, err := filepath.Glob(filepath.Join(dir, "export", "*", "*", "checkpoint"))
	check(err)
	fmt.Println(len(exports))
	// Output: 3
}

func ExampleWarmStartSettings() {
	first, remove := folder()
	defer remove()
	e, err := estimator.New(scale, estimator.RunConfig{ModelDir: first}, estimator.Params{"rate": 0.25})
	check(err)
	check(e.Train(context.Background(), ones, estimator.Steps(2)))

	second, remove := folder()
	defer remove()
	e, err = estimator.New(scale, estimator.RunConfig{ModelDir: second, WarmStartFrom: &estimator.WarmStartSettings{CkptToInitializeFrom: first}},
		estimator.Params{"rate": 0.25})
	check(err)
	check(e.Train(context.Background(), ones, estimator.Steps(1)))
	w, err := e.VariableValue("w")
	check(err)
	fmt.Println("w =", w.Elements())
	// Output: w = [0.875]
}

func ExampleRole() {
	lookup := func(string) (string, bool) {
		return `{"cluster": {"chief": ["host0:2222"], "worker": ["host1:2222"]}, "task": {"type": "worker", "index": 0}}`, true
	}
	role, err := estimator.RunConfig{Cluster: &cluster.TFConfig{Lookup: lookup}}.Role()
	fmt.Println(role.TaskType, role.TaskID, role.IsChief, role.NumWorkerReplicas, role.Master, err)
	// Output: worker 0 false 2 grpc://host1:2222 <nil>
}

func ExampleSummarySaverHook() {
	dir, remove := folder()
	defer remove()
	e, err := estimator.New(scale, estimator.RunConfig{ModelDir: dir}, estimator.Params{"rate": 0.25})
	check(err)
	logs := filepath.Join(dir, "logs")
	check(e.Train(context.Background(), ones, estimator.Steps(10), estimator.Hooks(&estimator.SummarySaverHook{SaveSteps: 5, OutputDir: logs})))
	files, err := os.ReadDir(logs)
	fmt.Println(len(files), err)
	// Output: 1 <nil>
}
