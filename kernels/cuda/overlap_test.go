//go:build linux

package cuda

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/tracing"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/optimizers"
)

// traced is a step in a trace.
type traced struct {
	Name     string  `json:"name"`
	Category string  `json:"cat"`
	Phase    string  `json:"ph"`
	Lane     int     `json:"tid"`
	Begin    float64 `json:"ts"`
	Length   float64 `json:"dur"`
}

// stepsOf reads the kernels and collectives of a trace.
func stepsOf(r *tracing.Recorder) ([]traced, error) {
	var written bytes.Buffer
	if err := r.Write(&written, 0); err != nil {
		return nil, err
	}
	var trace struct {
		TraceEvents []traced `json:"traceEvents"`
	}
	err := json.Unmarshal(written.Bytes(), &trace)
	return slices.DeleteFunc(trace.TraceEvents, func(e traced) bool { return e.Phase != "X" || e.Category != "op" }), err
}

// overlaps counts the collectives of a trace that went on while kernels ran.
func overlaps(steps []traced) (count int) {
	for _, c := range steps {
		if c.Lane >= tracing.Collectives(0) && slices.ContainsFunc(steps, func(k traced) bool {
			return k.Lane < tracing.Collectives(0) && min(k.Begin+k.Length, c.Begin+c.Length) > max(k.Begin, c.Begin)
		}) {
			count++
		}
	}
	return count
}

// overlap trains on two workers of one host, which sum gradients in small buckets: the trace of each shows sums beside
// the backward pass.
func overlap(t *testing.T, job gpuJob) {
	job.Devices, job.Deadline, job.Epochs, job.Windows, job.Trace = 1, 20*time.Second, 3, true, true
	c := startCluster(t, 2, job)
	for i := range 2 {
		c.start(i)
	}
	for worker, got := range c.end() {
		t.Logf("worker %d: %d collectives beside kernels", worker, got.Beside)
		require.Positive(t, got.Beside, "worker %d", worker)
	}
}

func TestOverlapInTrace(t *testing.T) {
	t.Parallel()
	overlap(t, gpuJob{})
}

// Two processes on one GPU: the trace of its streams shows collectives beside the backward pass.
func TestHardwareOverlap(t *testing.T) {
	if _, d := hardware(t); d.Kind != Kind {
		t.Skip("the two processes open cuda:0, and the tests were told another device")
	}
	overlap(t, gpuJob{Real: true})
}

// A profile of several replicas has the kernels and the collectives of each; steps that follow are a graph again.
func TestProfileOfReplicas(t *testing.T) {
	_, f := fakes()
	model, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 8, Activation: "relu", Name: "hidden"}, &layers.Dense{Units: 2, Name: "out"}}, keras.InputShape(3), keras.Seed(1), distribute.Scope(mirroredOn(t, "fakecuda", 2, false)))
	require.NoError(t, err)
	require.NoError(t, model.Compile(keras.CompileConfig{Optimizer: &optimizers.SGD{}, Loss: &losses.MeanSquaredError{}}))
	x, y := make([][]float32, 24), make([][]float32, 24)
	for i := range x {
		x[i], y[i] = []float32{1, 2, float32(i % 5)}, []float32{0, 1}
	}
	ctx, slot := tracing.Context(cpu.Measurable(t.Context()))
	fit := func() {
		_, err := model.Fit(ctx, data.Arrays(x, y), keras.BatchSize(4))
		require.NoError(t, err)
	}
	fit()
	m, err := cpu.StartMeasurement(ctx)
	require.NoError(t, err)
	fit()
	calls := map[string]int{}
	for _, p := range m.Stop() {
		for _, op := range p.Ops {
			calls[op.Name] += op.Calls
			assert.Positive(t, op.Bytes, "%v", op)
		}
	}
	assert.GreaterOrEqual(t, calls["all_reduce"], 2*6, "on two replicas, in each of six steps: %v", calls)

	r, err := slot.Start(10000)
	require.NoError(t, err)
	fit()
	r.Stop()
	lanes := map[int]int{}
	steps, err := stepsOf(r)
	require.NoError(t, err)
	for _, s := range steps {
		lanes[s.Lane]++
	}
	for i := range 2 {
		assert.Positive(t, lanes[tracing.Replica(i)], "kernels of replica %d", i)
		assert.Equal(t, lanes[tracing.Replica(0)], lanes[tracing.Replica(i)])
	}
	before := f.Calls()["cuGraphLaunch"]
	fit()
	assert.Greater(t, f.Calls()["cuGraphLaunch"], before)
	require.NoError(t, f.Fault())
}

// watched is a backend whose launches are timed.
type watched struct{ kernels.Backend }

type (
	watchedExecutable struct{ kernels.Executable }
	watchedSession    struct{ kernels.Session }
)

func (b watched) Compile(p *ir.Program, o kernels.CompileOptions) (kernels.Executable, error) {
	e, err := b.Backend.Compile(p, o)
	return watchedExecutable{e}, err
}

func (e watchedExecutable) NewSession(o kernels.SessionOptions) (kernels.Session, error) {
	s, err := e.Executable.NewSession(o)
	return watchedSession{s}, err
}

func (s watchedSession) Launch(ctx context.Context, l kernels.Launch) kernels.Event {
	ctx, slot := tracing.Context(ctx)
	if _, err := slot.Start(100); err != nil {
		return kernels.Completed(err)
	}
	return s.Session.Launch(ctx, l)
}
