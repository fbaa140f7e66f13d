package cpu_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu"
)

// withSteps returns the profile of the program with the number of steps, or nil: other tests leave executables behind.
func withSteps(all []cpu.ProgramProfile, steps int) []cpu.OpProfile {
	for _, p := range all {
		if len(p.Ops) == steps {
			return p.Ops
		}
	}
	return nil
}

func TestMeasurement(t *testing.T) {
	before := newSession(t, mlp("sgd", 8, 20, 30, 10))
	before.run(t)
	m, err := cpu.StartMeasurement()
	require.NoError(t, err)
	_, err = cpu.StartMeasurement()
	require.ErrorIs(t, err, cpu.ErrMeasuring)
	meanwhile := newSession(t, mlp("sgd", 8, 20, 10))
	require.NotEqual(t, before.e.Stats().Steps, meanwhile.e.Stats().Steps)
	for range 3 {
		before.run(t)
		meanwhile.run(t)
	}
	all := m.Stop()
	for _, s := range []int{before.e.Stats().Steps, meanwhile.e.Stats().Steps} {
		ops := withSteps(all, s)
		require.NotNil(t, ops)
		for _, op := range ops {
			assert.Equal(t, 3, op.Calls, op.Name)
		}
	}
	assert.Nil(t, m.Stop())

	before.run(t)
	assert.Equal(t, 3, before.e.Session.(cpu.Profiler).Profile()[0].Calls, "it is not timed any more")
	m, err = cpu.StartMeasurement()
	require.NoError(t, err)
	before.run(t)
	before.run(t)
	meanwhile.e.Close()
	all = m.Stop()
	require.Len(t, withSteps(all, before.e.Stats().Steps), before.e.Stats().Steps)
	assert.Equal(t, 2, withSteps(all, before.e.Stats().Steps)[0].Calls, "times begin from 0")
	assert.Nil(t, withSteps(all, meanwhile.e.Stats().Steps), "what is closed is not measured")
}

// What the whole process times goes on being timed.
func TestMeasurementLeavesProfiling(t *testing.T) {
	cpu.SetProfiling(true)
	s := newSession(t, mlp("sgd", 8, 20, 30, 10))
	cpu.SetProfiling(false)
	defer s.e.Close()
	m, err := cpu.StartMeasurement()
	require.NoError(t, err)
	s.run(t)
	m.Stop()
	s.run(t)
	assert.Equal(t, 2, s.e.Session.(cpu.Profiler).Profile()[0].Calls)
}

func ExampleStartMeasurement() {
	m, err := cpu.StartMeasurement()
	if err != nil {
		fmt.Println(err)
		return
	}
	// ... train or predict ...
	fmt.Println(len(m.Stop()), "programs ran")
	// Output: 0 programs ran
}
