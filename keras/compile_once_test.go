package keras_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// counting is the CPU under another name; it counts calls.
type counting struct {
	cpu.Backend
	compiled, sessions, connected atomic.Int64
}

const countingKind = "counted"

var counted = sync.OnceValue(func() *counting {
	c := &counting{}
	kernels.Register(c)
	return c
})

func onCPU(d kernels.Device) kernels.Device { return kernels.Device{Kind: cpu.Kind, Index: d.Index} }

func (c *counting) Kind() string                { return countingKind }
func (c *counting) Devices() []kernels.Device   { return nil }
func (c *counting) Open(d kernels.Device) error { return c.Backend.Open(onCPU(d)) }
func (c *counting) NewBuffer(d kernels.Device, t ir.Type) (kernels.Buffer, error) {
	return c.Backend.NewBuffer(onCPU(d), t)
}
func (c *counting) NewBorrowingBuffer(d kernels.Device, t ir.Type) (kernels.Borrower, error) {
	return c.Backend.NewBorrowingBuffer(onCPU(d), t)
}
func (c *counting) NewQueue(d kernels.Device) (kernels.Queue, error) {
	return c.Backend.NewQueue(onCPU(d))
}
func (c *counting) Compile(p *ir.Program, o kernels.CompileOptions) (kernels.Executable, error) {
	c.compiled.Add(1)
	o.Device = onCPU(o.Device)
	e, err := c.Backend.Compile(p, o)
	return countedExecutable{e, c}, err
}
func (c *counting) NewCommunicators(ctx context.Context, o kernels.CommunicatorOptions) ([]kernels.Communicator, error) {
	c.connected.Add(1)
	devices := make([]kernels.Device, len(o.Devices))
	for i, d := range o.Devices {
		devices[i] = onCPU(d)
	}
	o.Devices = devices
	return c.Backend.NewCommunicators(ctx, o)
}

type countedExecutable struct {
	kernels.Executable
	by *counting
}

func (e countedExecutable) NewSession(o kernels.SessionOptions) (kernels.Session, error) {
	e.by.sessions.Add(1)
	o.Device = onCPU(o.Device)
	return e.Executable.NewSession(o)
}

// since returns how often the backend has compiled, opened sessions and connected replicas since the previous call.
func (c *counting) since() [3]int64 {
	return [3]int64{c.compiled.Swap(0), c.sessions.Swap(0), c.connected.Swap(0)}
}

// A program is compiled once, however many replicas and goroutines run it, and replicas are connected once for all
// programs.
func TestProgramsAreCompiledOnce(t *testing.T) {
	c := counted()
	for _, replicas := range []int64{1, 2} {
		devices := []string{countingKind + ":0", countingKind + ":1"}[:replicas]
		s, err := distribute.NewMirroredStrategy(devices...)
		require.NoError(t, err)
		m, err := keras.NewSequential([]layers.Layer{
			&layers.Conv2D{Filters: 3, KernelSize: []int{3}, Activation: "relu"}, &layers.Flatten{}, &layers.Dense{Units: 2},
		}, distribute.Scope(s))
		require.NoError(t, err)
		require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "adam", Loss: "mse"}))
		x, y := make([][][][]float32, 8), make([][]float32, 8)
		for i := range x {
			y[i] = []float32{float32(i), 1}
			for range 6 {
				row := make([][]float32, 6)
				for k := range row {
					row[k] = []float32{float32(i + k)}
				}
				x[i] = append(x[i], row)
			}
		}
		c.since()

		var together sync.WaitGroup
		for range 4 {
			together.Go(func() {
				for range 3 {
					_, err := m.Predict(t.Context(), data.Arrays(x, nil), keras.BatchSize(8))
					assert.NoError(t, err)
				}
			})
		}
		together.Wait()
		got := c.since()
		assert.EqualValues(t, 1, got[0], "four concurrent predictions on %d replicas", replicas)
		assert.LessOrEqual(t, got[1], 4*replicas)
		assert.Zero(t, got[2], "a prediction needs no communicators")

		_, err = m.Fit(t.Context(), data.Arrays(x, y), keras.BatchSize(8), keras.Epochs(3))
		require.NoError(t, err)
		got = c.since()
		assert.EqualValues(t, 2, got[0], "the step and the results of training on %d replicas", replicas)
		assert.EqualValues(t, replicas-1, got[2], "the replicas are connected once")
	}
}
