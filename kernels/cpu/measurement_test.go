package cpu_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu"
)

func start(t *testing.T, ctx context.Context) *cpu.Measurement {
	m, err := cpu.StartMeasurement(ctx)
	require.NoError(t, err)
	return m
}

func TestMeasurement(t *testing.T) {
	ctx := cpu.Measurable(t.Context())
	require.Equal(t, ctx, cpu.Measurable(ctx))
	before := newSession(t, mlp("sgd", 8, 20, 30, 10))
	before.runUnder(t, ctx)
	m := start(t, ctx)
	_, err := cpu.StartMeasurement(ctx)
	require.ErrorIs(t, err, cpu.ErrMeasuring)
	meanwhile := newSession(t, mlp("sgd", 8, 20, 10))
	for range 3 {
		before.runUnder(t, ctx)
		meanwhile.runUnder(t, ctx)
	}
	meanwhile.e.Close()
	all := m.Stop()
	require.Len(t, all, 2)
	for i, s := range []*session{before, meanwhile} {
		assert.Len(t, all[i].Ops, s.e.Stats().Steps)
		for _, op := range all[i].Ops {
			assert.Equal(t, 3, op.Calls, op.Name)
		}
	}
	assert.Nil(t, m.Stop())

	before.runUnder(t, ctx)
	assert.Equal(t, 3, before.e.Session.(cpu.Profiler).Profile()[0].Calls, "it is not timed any more")
	m = start(t, ctx)
	before.runUnder(t, ctx)
	before.runUnder(t, ctx)
	all = m.Stop()
	require.Len(t, all, 1)
	assert.Equal(t, 2, all[0].Ops[0].Calls, "times begin from 0")
	assert.Empty(t, start(t, ctx).Stop(), "nothing ran")
}

// Two runs that are measured at the same time do not see each other, and a run under neither context is not seen at
// all.
func TestMeasurementsAreApart(t *testing.T) {
	ctx, other := cpu.Measurable(t.Context()), cpu.Measurable(t.Context())
	m, n := start(t, ctx), start(t, other)
	a, b, c := newSession(t, mlp("sgd", 8, 20, 30, 10)), newSession(t, mlp("sgd", 8, 20, 10)), newSession(t, mlp("sgd", 8, 20, 40, 10))
	for range 2 {
		a.runUnder(t, ctx)
		b.runUnder(t, other)
		c.run(t)
	}
	of, others := m.Stop(), n.Stop()
	require.Len(t, of, 1)
	require.Len(t, others, 1)
	assert.Len(t, of[0].Ops, a.e.Stats().Steps)
	assert.Len(t, others[0].Ops, b.e.Stats().Steps)
	assert.Empty(t, c.e.Session.(cpu.Profiler).Profile())
}

// A session that runs under two measurements alternately gives each its own runs.
func TestMeasurementsInTurns(t *testing.T) {
	ctx, other := cpu.Measurable(t.Context()), cpu.Measurable(t.Context())
	m, n := start(t, ctx), start(t, other)
	s := newSession(t, mlp("sgd", 8, 20, 30, 10))
	s.runUnder(t, ctx)
	s.runUnder(t, ctx)
	s.runUnder(t, other)
	of, others := m.Stop(), n.Stop()
	require.Len(t, of, 1)
	require.Len(t, others, 1)
	assert.Equal(t, 2, of[0].Ops[0].Calls)
	assert.Equal(t, 1, others[0].Ops[0].Calls)
}

// A second Stop of one measurement does not hide another one in progress.
func TestMeasurementsAreCounted(t *testing.T) {
	ctx, other := cpu.Measurable(t.Context()), cpu.Measurable(t.Context())
	m, n := start(t, ctx), start(t, other)
	m.Stop()
	m.Stop()
	s := newSession(t, mlp("sgd", 8, 20, 10))
	s.runUnder(t, other)
	require.Len(t, n.Stop(), 1)
	m = start(t, ctx)
	s.runUnder(t, ctx)
	require.Len(t, m.Stop(), 1)
}

func TestMeasurementMistakes(t *testing.T) {
	_, err := cpu.StartMeasurement(t.Context())
	require.EqualError(t, err, "cpu: received a context that cannot be measured; expected one of cpu.Measurable")
	var none *cpu.Measurement
	require.Nil(t, none.Stop())
}

// Sessions that were being timed before are timed afterwards.
func TestMeasurementLeavesProfiling(t *testing.T) {
	ctx := cpu.Measurable(t.Context())
	s := newSession(t, mlp("sgd", 8, 20, 30, 10))
	s.e.Session.(cpu.Profiler).Profiling(true)
	m := start(t, ctx)
	s.runUnder(t, ctx)
	m.Stop()
	s.run(t)
	assert.Equal(t, 2, s.e.Session.(cpu.Profiler).Profile()[0].Calls)
}

// exampleRun adds two vectors.
func exampleRun(ctx context.Context) error {
	add, err := kernels.Load(cpu.Backend{}, exampleProgram(), kernels.Device{Kind: cpu.Kind})
	if err != nil {
		return err
	}
	defer add.Close()
	return add.Run(ctx, []kernels.Buffer{exampleBuffer(1, 2, 3), exampleBuffer(10, 20, 30)}, []kernels.Buffer{exampleBuffer(0, 0, 0)})
}

func ExampleStartMeasurement() {
	ctx := cpu.Measurable(context.Background())
	m, err := cpu.StartMeasurement(ctx)
	if err == nil {
		err = exampleRun(ctx) // or train and predict with the context
	}
	for _, program := range m.Stop() {
		for _, op := range program.Ops {
			fmt.Println(op.Name, op.Calls, op.Bytes, op.FLOPs, err)
		}
	}
	// Output: add 1 36 0 <nil>
}
