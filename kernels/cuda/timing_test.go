//go:build linux

package cuda

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/tracing"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/optimizers"
)

// A measurement of training on a GPU has each kernel with its layer, bytes, and arithmetic, and its time by the
// device's clock: on the fake one a kernel takes a millisecond. A trace has the same kernels one after the other.
// Afterwards steps are graphs again.
func TestProfile(t *testing.T) {
	_, f := fakes()
	strategy, err := distribute.NewOneDeviceStrategy("fakecuda:2")
	require.NoError(t, err)
	model, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 8, Activation: "relu", Name: "hidden"}, &layers.Dense{Units: 2, Name: "out"}}, keras.InputShape(3), distribute.Scope(strategy), keras.Seed(1))
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
	profiles := m.Stop()
	found := false
	for _, p := range profiles {
		for _, op := range p.Ops {
			assert.Equal(t, time.Duration(op.Calls)*time.Millisecond, op.Time, "%v", op)
			assert.Positive(t, op.Bytes, "%v", op)
			if strings.HasPrefix(op.Name, "dot") && strings.Contains(op.Scope, "hidden") && op.Calls == 6 {
				found = found || op.FLOPs == 2*4*3*8
			}
		}
	}
	assert.True(t, found, "the product of the hidden layer, six times: %v", profiles)
	table := callbacks.NewProfileTable(profiles, 6, 1e9)
	require.NotEmpty(t, table)
	assert.InDelta(t, 1000*table[0].Calls, table[0].Microseconds, 1)
	assert.Zero(t, table[0].PercentOfPeak, "the fake device has no clock rate")
	assert.InEpsilon(t, 100*table[0].Megabytes*1e6/(table[0].Microseconds/1e6)/3.352e12, table[0].PercentOfMemory, 1e-3, "that of an H100")
	var text bytes.Buffer
	require.NoError(t, table.Write(&text))
	assert.Contains(t, text.String(), "%peak  %mem\n")

	recorder, err := slot.Start(1000)
	require.NoError(t, err)
	fit()
	recorder.Stop()
	var written bytes.Buffer
	require.NoError(t, recorder.Write(&written, 0))
	assert.Contains(t, written.String(), `"name":"dot`)
	assert.Contains(t, written.String(), "hidden")

	before := f.Calls()["cuGraphLaunch"]
	fit()
	assert.Greater(t, f.Calls()["cuGraphLaunch"], before)
	require.NoError(t, f.Fault())
}
