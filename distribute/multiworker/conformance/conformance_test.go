// Package conformance_test runs the cases that were recorded from TensorFlow's MultiWorkerMirroredStrategy, with as
// many worker processes.
package conformance_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/multiworker"
	"github.com/gokeras/gokeras/internal/ports"
	"github.com/gokeras/gokeras/internal/tfvectors"
)

// workerVariable is set for the processes that are workers; they run TestWorker, which the parent leaves out.
const workerVariable = "CONFORMANCE_TEST_WORKER"

// worker is this process as a worker of a case.
type worker struct {
	s    *distribute.MultiWorkerMirroredStrategy
	task cluster.Task
	n    int
}

// own is what a case expects of this worker.
func (w *worker) own(t testing.TB, c *tfvectors.Case) any {
	t.Helper()
	list, ok := c.Expected.([]any)
	require.True(t, ok)
	require.Len(t, list, w.n)
	return list[w.task.Index]
}

// tests run the cases whose id begins so, after "mwms.".
var tests = map[string]func(t *testing.T, w *worker, c *tfvectors.Case){
	"identity": identity, "variable_initial_value_broadcast": broadcast, "reduce": reduce, "gather": gather, "all_reduce": allReduce, "variables": variables,
	"inputs": inputs, "fit": fit, "ctl": customLoop, "metrics": metric, "reduction_auto": compiledMetric, "checkpoint": checkpoint, "model_checkpoint": modelCheckpoint,
	"shape_mismatch": shapeMismatch, "after_shape_mismatch": afterShapeMismatch, "deepcopy": same,
}

// same is TensorFlow's deepcopy, which gives the same strategy: a strategy is a pointer.
func same(t *testing.T, w *worker, c *tfvectors.Case) {
	var whole struct {
		s *distribute.MultiWorkerMirroredStrategy
	}
	whole.s = w.s
	again := whole
	require.Equal(t, w.own(t, c), again.s == w.s)
}

// elsewhere says where the other cases are tested.
var elsewhere = map[string]string{"fault": "TestRecordedFaults of package multiworker"}

// kindOf is the part of an id that says what is tested.
func kindOf(id string) string { return strings.Split(id, ".")[1] }

// applies reports whether a case is for n workers.
func applies(c *tfvectors.Case, n int) bool {
	workers, ok := c.Setup["workers"].(float64)
	return ok && int(workers) == n
}

const vectors = "testdata/tf_multi_worker.json.gz"

func TestWorker(t *testing.T) {
	if os.Getenv(workerVariable) == "" {
		t.Skip("is run by TestMultiWorkerVectors in processes of its own")
	}
	_, task, err := cluster.Resolve(&cluster.TFConfig{})
	require.NoError(t, err)
	s, err := multiworker.NewStrategy(t.Context(), multiworker.Options{Devices: []string{"cpu:0"}, Deadline: time.Minute, NoSharedMemory: os.Getenv(workerVariable) == "network"})
	require.NoError(t, err)
	w := &worker{s, task, s.Workers()}
	for _, c := range tfvectors.Load(t, vectors) {
		if run, ok := tests[kindOf(c.ID)]; ok && applies(&c, w.n) {
			t.Run(c.ID, func(t *testing.T) { run(t, w, &c) })
		}
	}
	require.NoError(t, s.Close())
}

// Every worker of two and of three finds what TensorFlow's found, or the exact result where that deviates.
func TestMultiWorkerVectors(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes: not with -short")
	}
	cases := tfvectors.Load(t, vectors)
	for n, path := range map[int]string{2: "shared memory", 3: "network"} {
		outputs := run(t, n, path)
		for _, c := range cases {
			if _, ok := tests[kindOf(c.ID)]; !ok || !applies(&c, n) {
				continue
			}
			t.Run(c.ID, func(t *testing.T) {
				for i, output := range outputs {
					require.Contains(t, output, "--- PASS: TestWorker/"+c.ID+" ", "worker %d: %s", i, output)
				}
			})
		}
	}
	for _, c := range cases {
		_, here := tests[kindOf(c.ID)]
		_, there := elsewhere[kindOf(c.ID)]
		require.True(t, here && (applies(&c, 2) || applies(&c, 3)) || there, "%s has no test", c.ID)
	}
}

// run starts n worker processes and returns what they say.
func run(t *testing.T, n int, path string) []string {
	addresses, err := ports.Free(n)
	require.NoError(t, err)
	spec, err := cluster.NewSpec(map[string][]string{cluster.Worker: addresses})
	require.NoError(t, err)
	outputs, failures, done := make([]string, n), make([]error, n), make(chan struct{})
	for i := range n {
		config, err := cluster.FormatTFConfig(spec, cluster.Task{Type: cluster.Worker, Index: i})
		require.NoError(t, err)
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestWorker$", "-test.v", "-test.timeout", "3m")
		cmd.Env = append(os.Environ(), workerVariable+"="+path, cluster.TFConfigVariable+"="+config)
		go func() {
			out, err := cmd.CombinedOutput()
			outputs[i], failures[i] = string(out), err
			done <- struct{}{}
		}()
	}
	for range n {
		<-done
	}
	for i, err := range failures {
		if err != nil && !strings.Contains(outputs[i], "--- FAIL: TestWorker/") { // the cases say themselves what fails
			require.NoError(t, err, fmt.Sprintf("worker %d of %d: %s", i, n, outputs[i]))
		}
	}
	return outputs
}
