//go:build linux

package cuda

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// scaledModels are those whose steps are timed on one GPU and on all of them, with so many examples on each.
var scaledModels = []struct {
	name     string
	examples int
	program  func(t testing.TB, s distribute.Strategy, batch int) *ir.Program
}{
	{"ResNet-50, mixed bfloat16", 256, func(t testing.TB, s distribute.Strategy, batch int) *ir.Program {
		return trainingProgram(t, resnet50(t, s, "mixed_bfloat16"), zeros(ir.Float32, batch, 224, 224, 3), zeros(ir.Int32, batch))
	}},
	{"GPT-2 124M, mixed bfloat16", 16, func(t testing.TB, s distribute.Strategy, batch int) *ir.Program {
		return trainingProgram(t, gpt2(t, s, "mixed_bfloat16", 12, 12, 768, 50304, 1024), zeros(ir.Int32, batch, 1024), zeros(ir.Int32, batch, 1024))
	}},
}

// replicasStep is the time of a training step of replicas on the devices, in the fastest of a few series. p is the
// program of each replica, whose integers are of so many classes.
func replicasStep(t testing.TB, b kernels.Backend, devices []kernels.Device, p *ir.Program, classes, rounds int) time.Duration {
	comms := make([]kernels.Communicator, len(devices))
	if len(devices) > 1 {
		all, err := b.NewCommunicators(t.Context(), kernels.CommunicatorOptions{Devices: devices})
		require.NoError(t, err)
		comms = all
	}
	e, err := b.Compile(p, kernels.CompileOptions{Device: devices[0], Replicas: len(devices)})
	require.NoError(t, err)
	defer e.Close()
	var sessions []kernels.Session
	var launches []kernels.Launch
	for i, d := range devices {
		s, err := e.NewSession(kernels.SessionOptions{Device: d, Replica: i})
		require.NoError(t, err)
		defer s.Close()
		q, err := b.NewQueue(d)
		require.NoError(t, err)
		defer q.Close()
		l := kernels.Launch{Queue: q, Communicator: comms[i]}
		for _, in := range p.Inputs {
			x, err := b.NewBuffer(d, p.Type(in.Value))
			require.NoError(t, err)
			defer x.Free()
			fillClasses(t, x, classes)
			l.Inputs = append(l.Inputs, x)
		}
		for _, out := range p.Outputs {
			var x kernels.Buffer
			if out.Alias < 0 {
				x, err = b.NewBuffer(d, p.Type(out.Value))
				require.NoError(t, err)
				defer x.Free()
			}
			l.Outputs = append(l.Outputs, x)
		}
		sessions, launches = append(sessions, s), append(launches, l)
	}
	for _, c := range comms {
		if c != nil {
			defer c.Close()
		}
	}
	best := time.Hour
	for range 4 { // the first one captures the step
		begin := time.Now()
		for range rounds {
			for i, s := range sessions {
				s.Launch(t.Context(), launches[i])
			}
		}
		for _, l := range launches {
			require.NoError(t, l.Queue.Wait(t.Context()))
		}
		best = min(best, time.Since(begin)/time.Duration(rounds))
	}
	return best
}

// Steps of ResNet-50 and GPT-2 on all GPUs take at most a twentieth longer than on one, with as many examples on each;
// the table is many-steps.md. internal/gpu_many_torch.py times PyTorch's DDP.
func TestHardwareManyScaling(t *testing.T) {
	devices := gpus(t)
	var table strings.Builder
	fmt.Fprintf(&table, "\n| training step | one GPU, ms | %d GPUs, ms | scaling for each GPU |\n|---|---|---|---|\n", len(devices))
	for _, m := range scaledModels {
		one := replicasStep(t, own, devices[:1], m.program(t, mirroredOn(t, "cpu", 1, false), m.examples), 1000, 10)
		all := replicasStep(t, own, devices, m.program(t, mirroredOn(t, "cpu", len(devices), false), len(devices)*m.examples), 1000, 10)
		ratio := one.Seconds() / all.Seconds()
		fmt.Fprintf(&table, "| %s, %d examples on each | %.2f | %.2f | %.3f |\n", m.name, m.examples, one.Seconds()*1e3, all.Seconds()*1e3, ratio)
		assert.GreaterOrEqual(t, ratio, 0.95, m.name)
	}
	t.Log("\n" + table.String())
	require.NoError(t, os.WriteFile(filepath.Join(os.Getenv("GOKERAS_GPU"), "many-steps.md"), []byte(table.String()), 0o666))
}

// The step that is timed on several devices is one with collectives, and is captured.
func TestReplicasStep(t *testing.T) {
	b, f := fakes()
	for n := 1; n <= 3; n += 2 {
		m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 3}}, keras.InputShape(4), distribute.Scope(mirroredOn(t, "cpu", n, false)))
		require.NoError(t, err)
		p := trainingProgram(t, m, zeros(ir.Float32, 2*n, 4), zeros(ir.Int32, 2*n))
		require.Equal(t, ir.Shape{2, 4}, p.Type(p.Inputs[0].Value).Shape, "%v", p)
		sums := 0
		for i := range p.Nodes {
			if p.Nodes[i].Op == ir.AllReduce {
				sums++
			}
		}
		require.Equal(t, n > 1, sums > 0)
		before := f.Calls()["cuGraphLaunch"]
		require.Positive(t, replicasStep(t, b, b.Devices()[:n], p, 3, 4))
		require.NoError(t, f.Fault())
		require.Greater(t, f.Calls()["cuGraphLaunch"], before)
	}
}
