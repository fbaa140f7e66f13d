//go:build linux

package pjrt_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/pjrt"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
)

// A batch that is staged, sent and used by a launch that is waited for leaves nothing on Go's heap.
func TestSteadyLaunch(t *testing.T) {
	b := pjrt.New("steady", plugin(t), pjrt.Option{Name: "cpu_device_count", Value: int64(1)})
	defer func() { require.NoError(t, b.Close()) }()
	d := kernels.Device{Kind: "steady"}
	p := ir.New("sum")
	typ := ir.Type{DType: ir.Float32, Shape: ir.Shape{64, 8}}
	x, sum := p.AddInput("x", typ), p.AddInput("sum", typ)
	p.AddAlias("sum", must(p.Add("sum", ir.Add, nil, x, sum))[0], 1)
	l, err := kernels.Load(b, p, d)
	require.NoError(t, err)
	defer l.Close()
	q, err := b.NewQueue(d)
	require.NoError(t, err)
	defer q.Close()
	launch := kernels.Launch{Queue: q, Outputs: []kernels.Buffer{nil}}
	for range 2 {
		buffer, err := b.NewBuffer(d, typ)
		require.NoError(t, err)
		defer buffer.Free()
		launch.Inputs = append(launch.Inputs, buffer)
	}
	batch, ctx := launch.Inputs[0].(kernels.Stager), t.Context()
	step := func() {
		s := batch.Stage()
		for s == nil { // a thread of the plugin that has not come to say that it is done
			time.Sleep(time.Millisecond)
			s = batch.Stage()
		}
		if batch.WriteStaged(s) != nil {
			t.Fail()
		}
		if l.Session.Launch(ctx, launch).Wait(ctx) != nil {
			t.Fail()
		}
	}
	for range 600 { // events are used again after 256 launches
		step()
	}
	assert.Zero(t, testing.AllocsPerRun(1000, step))
	assert.Zero(t, testing.AllocsPerRun(1000, func() {
		for range 3 {
			l.Session.Launch(ctx, launch)
		}
		if q.Wait(ctx) != nil {
			t.Fail()
		}
	}))
}

// Nor does a step of Fit, with what cuts batches: what an epoch allocates does not grow with its steps.
func TestSteadyFit(t *testing.T) {
	kind := "steadyfit"
	kernels.Register(pjrt.New(kind, plugin(t), pjrt.Option{Name: "cpu_device_count", Value: int64(1)}))
	s, err := distribute.NewOneDeviceStrategy(kind + ":0")
	require.NoError(t, err)
	m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 16, Activation: "relu"}, &layers.Dense{Units: 4}}, keras.InputShape(8), distribute.Scope(s))
	require.NoError(t, err)
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "adam", Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}, Metrics: []string{"accuracy"}}))
	var made []uint64
	count := func() {
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		made = append(made, stats.Mallocs)
	}
	clock := &callbacks.LambdaCallback{
		EpochBegin: func(int) error { count(); return nil },
		EpochEnd:   func(int, *callbacks.Logs) error { count(); return nil },
	}
	const steps = 500
	_, err = m.Fit(t.Context(), data.Arrays(zeros(ir.Float32, 32*steps, 8), zeros(ir.Int32, 32*steps)), keras.BatchSize(32), keras.Epochs(4), keras.Verbose(0), keras.Callbacks(clock))
	require.NoError(t, err)
	best := made[3] - made[2]
	for i := 4; i < len(made); i += 2 {
		best = min(best, made[i+1]-made[i])
	}
	t.Logf("%d objects in an epoch of %d steps", best, steps)
	require.Less(t, best, uint64(steps/2))
}
