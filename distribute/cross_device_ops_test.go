package distribute_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// crossDeviceCases are all ways of combining values on CPUs.
func crossDeviceCases() map[string]distribute.CrossDeviceOps {
	return map[string]distribute.CrossDeviceOps{
		"backend": nil, "to one device": distribute.ReductionToOneDevice{}, "to the second device": distribute.ReductionToOneDevice{Device: "cpu:1"},
		"hierarchical": distribute.HierarchicalCopyAllReduce{}, "hierarchical, 1 pack": distribute.HierarchicalCopyAllReduce{NumPacks: 1},
		"hierarchical, 3 packs": distribute.HierarchicalCopyAllReduce{NumPacks: 3},
		"ring":                  distribute.RingAllReduce{}, "ring, 1 pack": distribute.RingAllReduce{NumPacks: 1}, "ring, 7 packs": distribute.RingAllReduce{NumPacks: 7},
		"nccl, fallback": distribute.NcclAllReduce{NumPacks: 1, Fallback: true},
	}
}

func withOps(t testing.TB, n int, o distribute.CrossDeviceOps) distribute.Strategy {
	t.Helper()
	s, err := distribute.NewMirroredStrategyWith(distribute.MirroredOptions{Devices: cpus(n), CrossDeviceOps: o})
	require.NoError(t, err)
	return s
}

// settled waits until no more goroutines run than before.
func settled(t testing.TB, before int) {
	t.Helper()
	for range 200 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	buf := make([]byte, 1<<16)
	t.Fatalf("%d goroutines are left, %d before:\n%s", runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
}

// All algorithms give sums, means, maxima and minima of values of all sizes, equal on all replicas and the same on
// every run.
func TestCrossDeviceOps(t *testing.T) {
	before := runtime.NumGoroutine()
	for name, o := range crossDeviceCases() {
		for _, n := range []int{2, 3, 5, 8} {
			t.Run(fmt.Sprintf("%s/%d replicas", name, n), func(t *testing.T) {
				s := withOps(t, n, o)
				for dtype, tolerance := range map[ir.DType]float64{ir.Float32: 1e-6, ir.Float64: 1e-14, ir.Int32: 0, ir.Int64: 0, ir.Float16: 5e-3, ir.BFloat16: 4e-2, ir.Uint8: 0} {
					kinds := map[ir.Kind]func(a, b float64) float64{
						ir.Sum: func(a, b float64) float64 { return a + b }, ir.Max: math.Max, ir.Min: math.Min,
					}
					if dtype.IsFloat() {
						kinds[ir.Mean] = kinds[ir.Sum]
					}
					checkAllReduce(t, s, n, dtype, kinds, tolerance)
				}
			})
		}
	}
	settled(t, before)
}

func checkAllReduce(t *testing.T, s distribute.Strategy, n int, dtype ir.DType, kinds map[ir.Kind]func(a, b float64) float64, tolerance float64) {
	t.Helper()
	shapes := []ir.Shape{nil, {0}, {1}, {3, 5}, {70}}
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	values := make([]distribute.PerReplica, len(shapes))
	var args []any
	for i, shape := range shapes {
		for range n {
			x := make([]float64, shape.Size())
			for j := range x {
				x[j] = float64(rng.IntN(20))
				if dtype.IsFloat() {
					x[j] += float64(rng.IntN(8)) / 8
				}
			}
			values[i] = append(values[i], array(t, dtype, shape, x...))
		}
		args = append(args, values[i])
	}
	for kind, combine := range kinds {
		f := distribute.NewNestFunction(s, func(r *distribute.Replica, args ...any) any {
			var xs []*ops.Tensor
			for _, a := range args {
				xs = append(xs, a.(*ops.Tensor))
			}
			out := []any{}
			for _, y := range r.AllReduce(kind, xs...) {
				out = append(out, y)
			}
			return out
		})
		var last any
		for range 2 {
			got, err := f.Run(context.Background(), args...)
			require.NoError(t, err)
			if last != nil {
				require.Equal(t, last, got, "the same bits on every run")
			}
			last = got
			for i, shape := range shapes {
				p := got.([]any)[i].(distribute.PerReplica)
				for r := range p {
					require.Equal(t, p[0].Data, p[r].Data, "the same bits on all replicas")
				}
				for j := range shape.Size() {
					want := values[i][0].Element(j)
					for r := 1; r < n; r++ {
						want = combine(want, values[i][r].Element(j))
					}
					if kind == ir.Mean {
						want /= float64(n)
					}
					if g := p[0].Element(j); !(math.Abs(g-want) <= tolerance*math.Max(1, math.Abs(want))) {
						t.Fatalf("%s of %v, element %d of %v: %v, expected %v", kind, dtype, j, shape, g, want)
					}
				}
			}
		}
		f.Close()
	}
}

// An error on one replica ends the call on all; afterwards the strategy works.
func TestCrossDeviceAbort(t *testing.T) {
	before := runtime.NumGoroutine()
	for name, o := range crossDeviceCases() {
		t.Run(name, func(t *testing.T) {
			s := withOps(t, 3, o)
			f := s.Function(func(r *distribute.Replica, in distribute.Batch) *ops.Tensor {
				table := ops.Constant(r, ir.Float32, ir.Shape{3}, []float64{1, 2, 3})
				return r.AllReduce(ir.Sum, ops.Sum(ops.Take(table, ops.Cast(in.X, ir.Int32), 0)))[0]
			})
			run := func(values ...float64) (distribute.PerReplica, error) {
				batch, err := distribute.SplitBatch(s, distribute.HostBatch{X: []kernels.Array{array(t, ir.Float32, ir.Shape{3}, values...)}})
				require.NoError(t, err)
				return s.Run(context.Background(), f, batch)
			}
			for i := range 10 {
				values := []float64{0, 1, 2}
				values[i%3] = 7
				_, err := run(values...)
				require.ErrorContains(t, err, "index 7")
				out, err := run(0, 1, 2)
				require.NoError(t, err)
				require.Equal(t, []float64{6, 6, 6}, flat(out))
			}
		})
	}
	settled(t, before)
}

// Communicators of all kinds gather, broadcast, and report disagreement, foreign roots and the end of a context, on
// every replica.
func TestCommunicators(t *testing.T) {
	for name, o := range crossDeviceCases() {
		t.Run(name, func(t *testing.T) {
			before := runtime.NumGoroutine()
			s := withOps(t, 3, o)
			comms, err := s.Communicators()
			require.NoError(t, err)
			backend, err := kernels.Lookup("cpu")
			require.NoError(t, err)
			buffer := func(r int, values ...float64) kernels.Buffer {
				a := array(t, ir.Float32, ir.Shape{len(values)}, values...)
				b, err := backend.NewBuffer(s.Devices()[r], a.Type)
				require.NoError(t, err)
				require.NoError(t, b.Write(a.Data))
				return b
			}
			everywhere := func(f func(r int, c kernels.Communicator) error) []error {
				errs := make([]error, len(comms))
				done := make(chan bool)
				for r, c := range comms {
					go func() { errs[r] = f(r, c); done <- true }()
				}
				for range comms {
					<-done
				}
				return errs
			}
			all := make([]kernels.Buffer, 3)
			for _, err := range everywhere(func(r int, c kernels.Communicator) error {
				require.Equal(t, r, c.Replica())
				require.Equal(t, 3, c.Replicas())
				all[r] = buffer(r, 0, 0, 0)
				return c.AllGather(t.Context(), buffer(r, float64(r)), all[r], 0)
			}) {
				require.NoError(t, err)
			}
			for _, b := range all {
				require.Equal(t, []float64{0, 1, 2}, kernels.Array{Type: b.Type(), Data: b.Bytes()}.Float64s())
			}
			for _, err := range everywhere(func(r int, c kernels.Communicator) error { return c.Broadcast(t.Context(), 1, all[r]) }) {
				require.NoError(t, err)
			}
			for what, f := range map[string]func(r int, c kernels.Communicator) error{
				"replicas disagree": func(r int, c kernels.Communicator) error {
					return c.AllReduce(t.Context(), ir.Sum, []kernels.Buffer{buffer(r, make([]float64, r+1)...)})
				},
				"broadcast from": func(r int, c kernels.Communicator) error { return c.Broadcast(t.Context(), 3, all[r]) },
				"all_reduce cannot": func(r int, c kernels.Communicator) error {
					return c.AllReduce(t.Context(), "median", []kernels.Buffer{all[r]})
				},
				"parts of float32[3": func(r int, c kernels.Communicator) error { return c.AllGather(t.Context(), all[r], all[r], 0) },
				"waiting for its peers": func(r int, c kernels.Communicator) error {
					if r == 0 {
						return errors.New("waiting for its peers is left to the others")
					}
					ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
					defer cancel()
					return c.AllReduce(ctx, ir.Sum, []kernels.Buffer{all[r]})
				},
			} {
				for r, err := range everywhere(f) {
					require.ErrorContains(t, err, what, "replica %d", r)
				}
				for r, err := range everywhere(func(r int, c kernels.Communicator) error { return c.Broadcast(t.Context(), 0, all[r]) }) {
					require.Error(t, err, "replica %d, with communicators that have failed", r)
				}
				comms, err = s.Communicators()
				require.NoError(t, err)
			}
			for _, err := range everywhere(func(r int, c kernels.Communicator) error {
				return c.AllReduce(t.Context(), ir.Sum, []kernels.Buffer{all[r]})
			}) {
				require.NoError(t, err, "with other communicators")
			}
			require.Equal(t, []float64{0, 3, 6}, kernels.Array{Type: all[0].Type(), Data: all[0].Bytes()}.Float64s())
			settled(t, before)
		})
	}
}

func TestCrossDeviceMistakes(t *testing.T) {
	for text, o := range map[string]distribute.MirroredOptions{
		"HierarchicalCopyAllReduce: NumPacks is -1":           {CrossDeviceOps: distribute.HierarchicalCopyAllReduce{NumPacks: -1}},
		"RingAllReduce: NumPacks is -2":                       {CrossDeviceOps: distribute.RingAllReduce{NumPacks: -2}},
		"BytesPerPack is -1":                                  {Communication: distribute.CommunicationOptions{BytesPerPack: -1}},
		"device gpu:0 runs no replica":                        {CrossDeviceOps: distribute.ReductionToOneDevice{Device: "gpu:0"}},
		"ReductionToOneDevice: kernels: device \"cpu:x\"":     {CrossDeviceOps: distribute.ReductionToOneDevice{Device: "cpu:x"}},
		"NcclAllReduce needs GPUs, the devices are [cpu:0]; ": {CrossDeviceOps: distribute.NcclAllReduce{}},
		"no backend for device kind \"gpu\"":                  {Devices: []string{"gpu:0"}},
	} {
		_, err := distribute.NewMirroredStrategyWith(o)
		require.ErrorContains(t, err, text)
	}
	for text, o := range map[string]distribute.CentralStorageOptions{
		"the list of compute devices is empty":                  {ComputeDevices: []string{}},
		"parameter device: kernels: no backend":                 {ComputeDevices: cpus(2), ParameterDevice: "gpu:0"},
		"CentralStorageStrategy: kernels: device \"\"":          {ComputeDevices: []string{""}},
		"device cpu:1 is listed twice":                          {ComputeDevices: []string{"cpu:1", "CPU:1"}},
		"CentralStorageStrategy: NcclAllReduce needs GPUs, the": {CrossDeviceOps: distribute.NcclAllReduce{}},
	} {
		_, err := distribute.NewCentralStorageStrategyWith(o)
		require.ErrorContains(t, err, text)
	}
}

// Embedding gradients go as rows where these are less than the table, and either way sum up to the same.
func TestSparseGradients(t *testing.T) {
	for _, rows := range []int{4, 100} { // dense, sparse
		var want []float64
		for _, n := range []int{1, 2, 3, 4} {
			s := mirrored(t, n)
			table, err := distribute.Scope(s).NewVariable(distribute.VariableSpec{Name: "table", Shape: ir.Shape{rows, 3}, DType: ir.Float64, Initializer: series{}})
			require.NoError(t, err)
			f := s.Function(func(r *distribute.Replica, in distribute.Batch) *ops.Tensor {
				tape := ops.NewTape(r)
				loss := ops.Sum(ops.Square(ops.Embedding(r.Read(table), in.X)))
				g := r.SumGradients(tape.Gradients(loss, distribute.Variables{table}).Values)[0]
				r.AssignMirrored(table, ops.Subtract(r.Read(table), ops.MultiplyScalar(g, 0.01)))
				return nil
			})
			batch, err := distribute.SplitBatch(s, distribute.HostBatch{X: []kernels.Array{array(t, ir.Int32, ir.Shape{5, 2}, 1, 2, 3, 1, 0, 0, 1, 3, 2, 2)}})
			require.NoError(t, err)
			for range 3 {
				_, err = s.Run(context.Background(), f, batch)
				require.NoError(t, err)
			}
			value, err := table.Value()
			require.NoError(t, err)
			if n == 1 {
				want = value.Float64s()
				require.NotEqual(t, 1.0, want[1], "it trains")
			} else {
				require.Equal(t, rows == 4, !strings.Contains(f.Programs(), "all_gather"), "rows are joined only where that is less")
			}
			require.InDeltaSlice(t, want, value.Float64s(), 1e-9)
			require.NoError(t, distribute.Variables{table}.CheckMirrored())
		}
	}
}
