//go:build linux

package cuda

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/kernels/ir"
)

// timedModel is a larger model whose step of training is timed, with everything on the device, as a graph.
type timedModel struct {
	name    string
	program func(t testing.TB, s distribute.Strategy) *ir.Program
	batch   int
	each    int // what the rate counts in an example
	of      string
	classes int // that integers are drawn from
}

// largeModels are those of the table; internal/gpu_torch.py has the same.
func largeModels() []timedModel {
	return []timedModel{
		{"ResNet-50, mixed bfloat16, Adam, batch 256", func(t testing.TB, s distribute.Strategy) *ir.Program {
			return trainingProgram(t, resnet50(t, s, "mixed_bfloat16"), zeros(ir.Float32, 256, 224, 224, 3), zeros(ir.Int32, 256))
		}, 256, 1, "images", 1000},
		{"GPT-2 124M, mixed bfloat16, Adam, 1024 tokens, batch 16", func(t testing.TB, s distribute.Strategy) *ir.Program {
			return trainingProgram(t, gpt2(t, s, "mixed_bfloat16", 12, 12, 768, 50304, 1024), zeros(ir.Int32, 16, 1024), zeros(ir.Int32, 16, 1024))
		}, 16, 1024, "tokens", 50304},
	}
}

// fill writes small numbers that are not negative: 0 to 4 in integers, up to 0.02 in floats, as weights have them.
func fill(t testing.TB, x kernels.Buffer) { fillClasses(t, x, 5) }

// fillClasses is fill with integers of so many classes.
func fillClasses(t testing.TB, x kernels.Buffer, classes int) {
	typ := x.Type()
	data := make([]byte, typ.Bytes())
	state := uint32(1)
	const some = 1 << 20 // the others repeat these
	for i := range min(typ.Shape.Size(), some) {
		state = state*1664525 + 1013904223
		switch typ.DType {
		case ir.Float32:
			binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(float32(state>>8)/(1<<24)*0.02))
		case ir.BFloat16: // from -1 to 1
			binary.LittleEndian.PutUint16(data[2*i:], uint16(math.Float32bits(float32(state>>8)/(1<<23)-1)>>16))
		case ir.Int32, ir.Uint32:
			binary.LittleEndian.PutUint32(data[4*i:], uint32(uint64(state)*uint64(classes)>>32))
		}
	}
	for at := some * typ.DType.Size(); at < len(data); at *= 2 {
		copy(data[at:], data[:at])
	}
	require.NoError(t, x.Write(data))
}

// time returns the time of a step in the fastest of a few series; what is copied to the device is not part of it. Then
// it profiles a step.
func (m timedModel) time(t testing.TB, b kernels.Backend, d kernels.Device, rounds int) time.Duration {
	s, err := distribute.NewOneDeviceStrategy("cpu:0") // of the model, which is not run
	require.NoError(t, err)
	began := time.Now()
	at := func(what string) { t.Logf("%6.2f s  %s", time.Since(began).Seconds(), what) }
	p := m.program(t, s)
	at("the program is made")
	e, err := b.Compile(p, kernels.CompileOptions{Device: d})
	require.NoError(t, err)
	defer e.Close()
	session, err := e.NewSession(kernels.SessionOptions{Device: d})
	require.NoError(t, err)
	defer session.Close()
	q, err := b.NewQueue(d)
	require.NoError(t, err)
	defer q.Close()
	at("compiled")
	l := kernels.Launch{Queue: q}
	for _, in := range p.Inputs {
		x, err := b.NewBuffer(d, p.Type(in.Value))
		require.NoError(t, err)
		defer x.Free()
		fillClasses(t, x, m.classes)
		l.Inputs = append(l.Inputs, x)
	}
	for _, out := range p.Outputs {
		if out.Alias >= 0 {
			l.Outputs = append(l.Outputs, nil)
			continue
		}
		x, err := b.NewBuffer(d, p.Type(out.Value))
		require.NoError(t, err)
		defer x.Free()
		l.Outputs = append(l.Outputs, x)
	}
	at("memory is filled")
	best := time.Hour
	for _, n := range []int{1, 2, rounds, rounds, rounds} { // the first ones load kernels, and capture the step
		begin := time.Now()
		if n > 2 {
			n = min(n, max(2, int(time.Second/max(best, 1)))) // a second is enough
		}
		for range n {
			session.Launch(t.Context(), l)
		}
		require.NoError(t, q.Wait(t.Context()))
		each := time.Since(begin) / time.Duration(n)
		best = min(best, each)
		at(fmt.Sprintf("%d steps: %.2f ms each", n, milliseconds(each)))
	}
	ctx := cpu.Measurable(t.Context())
	measurement, err := cpu.StartMeasurement(ctx)
	require.NoError(t, err)
	defer measurement.Stop()
	session.Launch(ctx, l)
	require.NoError(t, q.Wait(t.Context()))
	keepProfile(t, m.name, callbacks.NewProfileTable(measurement.Stop(), 1, 0))
	return best
}

// row times the model.
func (m timedModel) row(t testing.TB, b kernels.Backend, d kernels.Device, rounds int) row {
	each := m.time(t, b, d, rounds)
	return row{m.name, d.String(), milliseconds(each), float64(m.batch*m.each) / each.Seconds(), m.of}
}
