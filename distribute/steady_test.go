package distribute_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// work returns a loaded instance of a step with some matrix products and a sum over the replicas, each replica with the
// same batch.
func work(t testing.TB, s distribute.Strategy, rows int) *distribute.Instance {
	t.Helper()
	w, err := distribute.Scope(s).NewVariable(distribute.VariableSpec{Name: "w", Shape: ir.Shape{256, 256}, DType: ir.Float32, Initializer: small{}})
	require.NoError(t, err)
	momentum, err := distribute.Scope(s).NewVariable(distribute.VariableSpec{Name: "momentum", Shape: ir.Shape{256, 256}, DType: ir.Float32, Sharded: true})
	require.NoError(t, err)
	f := distribute.NewFunction(s, "work", func(r *distribute.Replica, in []*ops.Tensor) []*ops.Tensor {
		tape := ops.NewTape(r)
		x := in[0]
		for range 4 {
			x = ops.Tanh(ops.Matmul(x, r.Read(w)))
		}
		g := r.SumGradients(tape.Gradients(ops.Sum(x), distribute.Variables{w}).Values)[0]
		next := ops.Subtract(r.Read(w), ops.MultiplyScalar(g, 1e-6))
		r.AssignMirrored(w, next)
		if r.Sharded(momentum) {
			r.AssignShard(momentum, ops.Add(r.ReadShard(momentum), r.Shard(g)))
			r.AssignMirrored(w, ops.Add(next, ops.MultiplyScalar(r.Read(momentum), 1e-9)))
		}
		return nil
	})
	n := len(s.Devices())
	types, sizes := make([][]ir.Type, n), make([]int, n)
	for i := range n {
		types[i], sizes[i] = []ir.Type{{DType: ir.Float32, Shape: ir.Shape{rows, 256}}}, rows
	}
	inst, err := f.Acquire(types, sizes)
	require.NoError(t, err)
	t.Cleanup(func() { f.Release(inst); f.Close() })
	return inst
}

// small is an initializer of small numbers.
type small struct{}

func (small) Initialize(into kernels.Array, _ uint64) error {
	out := make([]float64, into.Type.Shape.Size())
	for i := range out {
		out[i] = float64(i%7-3) / 100
	}
	return into.SetFloat64s(0, out)
}

// A step allocates nothing, whichever way values are combined and wherever variables live.
func TestSteadyStepDoesNotAllocate(t *testing.T) {
	all := map[string]distribute.Strategy{"default": distribute.Default()}
	for name, o := range crossDeviceCases() {
		all[name] = withOps(t, 3, o)
	}
	central, err := distribute.NewCentralStorageStrategyWith(distribute.CentralStorageOptions{ComputeDevices: cpus(3), ParameterDevice: "cpu:5"})
	require.NoError(t, err)
	all["central"] = central
	all["sharded"], err = distribute.NewMirroredStrategyWith(distribute.MirroredOptions{Devices: cpus(3), ShardOptimizerState: true})
	require.NoError(t, err)
	for name, s := range all {
		inst := work(t, s, 4)
		step := uint32(0)
		run := func() {
			step++
			require.NoError(t, inst.Run(context.Background(), 1, step))
		}
		for range 5 {
			run()
		}
		// Goroutines of the replicas are reused, but for the occasional one that the runtime creates.
		require.Less(t, testing.AllocsPerRun(50, run), 1.0, name)
	}
}

// BenchmarkReplicaOverhead compares a step on two replicas with two steps on one replica of the same local batch: on
// two cores the difference is what replicas cost. The metric is in percent.
func BenchmarkReplicaOverhead(b *testing.B) {
	for _, rows := range []int{64, 512} {
		b.Run(fmt.Sprint("batch of ", rows), func(b *testing.B) {
			one, two := work(b, distribute.Default(), rows), work(b, mirrored(b, 2), rows)
			measure := func(inst *distribute.Instance, times int) time.Duration {
				start := time.Now()
				for i := range times {
					require.NoError(b, inst.Run(context.Background(), 1, uint32(i)))
				}
				return time.Since(start)
			}
			measure(one, 2)
			measure(two, 2)
			var single, double time.Duration
			for b.Loop() { // in turn, so that both see the same machine
				single += measure(one, 2)
				double += measure(two, 1)
			}
			b.ReportMetric(100*(float64(double)/float64(single)-1), "%overhead")
			b.ReportMetric(float64(runtime.GOMAXPROCS(0)), "cores")
		})
	}
}
