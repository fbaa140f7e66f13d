package cpu

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
)

// The time of a loop excludes the steps of its body, which are listed separately. All times add up to that of the run.
func TestProfileOfLoops(t *testing.T) {
	p := recurrence(t, 500, 16, 64, false)
	e, err := Backend{}.load(p, kernels.CompileOptions{Device: testDevice}, false)
	require.NoError(t, err)
	defer e.Close()
	e.Profiling(true)
	var in, out []kernels.Buffer
	for _, input := range p.Inputs {
		in = append(in, newBuffer(testDevice, p.Type(input.Value)))
	}
	for _, o := range p.Outputs {
		out = append(out, newBuffer(testDevice, p.Type(o.Value)))
	}
	begin := time.Now()
	for range 3 {
		require.NoError(t, e.Run(context.Background(), in, out))
	}
	elapsed := time.Since(begin)
	var sum time.Duration
	loops := 0
	for _, op := range e.Profile() {
		assert.GreaterOrEqual(t, op.Time, time.Duration(0), op.Name)
		sum += op.Time
		if op.Name == "scan" {
			loops++
		}
	}
	assert.Equal(t, 2, loops)
	assert.LessOrEqual(t, sum, elapsed)
}
