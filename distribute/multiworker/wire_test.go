package multiworker_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/collective"
	"github.com/gokeras/gokeras/distribute/multiworker"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// workers runs f on n strategies of one job, all in this process.
func workers[T any](t *testing.T, n int, change func(rank int, o *multiworker.Options), f func(ctx context.Context, s *distribute.MultiWorkerMirroredStrategy) (T, error)) ([]T, []error) {
	t.Helper()
	var addresses []string
	var listeners []net.Listener
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		addresses, listeners = append(addresses, l.Addr().String()), append(listeners, l)
	}
	spec, err := cluster.NewSpec(map[string][]string{cluster.Worker: addresses})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	results, errs, done := make([]T, n), make([]error, n), make(chan struct{})
	for rank := range n {
		o := multiworker.Options{Devices: []string{"cpu:0"}, Listener: listeners[rank], Deadline: 20 * time.Second,
			Resolver: &cluster.Simple{Cluster: spec, Task: &cluster.Task{Type: cluster.Worker, Index: rank}}}
		if change != nil {
			change(rank, &o)
		}
		go func() {
			defer func() { done <- struct{}{} }()
			s, err := multiworker.NewStrategy(ctx, o)
			if err != nil {
				errs[rank] = err
				return
			}
			results[rank], errs[rank] = f(ctx, s)
			if err := s.Close(); errs[rank] == nil {
				errs[rank] = err
			}
		}()
	}
	for range n {
		<-done
	}
	return results, errs
}

// sums adds up vectors of 1 + 2^-10, which bfloat16 cannot hold, over the replicas of all workers: 100 of them, and
// 5000.
func sums(ctx context.Context, s *distribute.MultiWorkerMirroredStrategy) ([][]float64, error) {
	batch, err := distribute.SplitBatch(s, distribute.HostBatch{})
	if err != nil {
		return nil, err
	}
	var out [][]float64
	for _, n := range []int{100, 5000} {
		f := s.Function(func(r *distribute.Replica, in distribute.Batch) *ops.Tensor {
			values := make([]float64, n)
			for i := range values {
				values[i] = 1 + 1./1024
			}
			return r.AllReduce(ir.Sum, ops.Constant(r, ir.Float32, ir.Shape{n}, values))[0]
		})
		defer f.Close()
		r, err := s.Run(ctx, f, batch)
		if err != nil {
			return nil, err
		}
		out = append(out, r[0].Float64s())
	}
	return out, nil
}

// On request float32 sums travel as bfloat16, if they are long.
func TestWire(t *testing.T) {
	for _, network := range []bool{false, true} {
		for wire, want := range map[ir.DType]float64{ir.Invalid: 2 + 2./1024, ir.BFloat16: 2} {
			results, errs := workers(t, 2, func(_ int, o *multiworker.Options) { o.NoSharedMemory, o.Communication.Wire = network, wire }, sums)
			for rank := range results {
				require.NoError(t, errs[rank])
				require.Equal(t, 2+2./1024, results[rank][0][99], "a short sum travels as it is")
				for _, got := range results[rank][1] {
					require.Equal(t, want, got)
				}
			}
		}
	}
}

// Workers that were given different types find out.
func TestWiresDiffer(t *testing.T) {
	_, errs := workers(t, 2, func(rank int, o *multiworker.Options) {
		if rank == 1 {
			o.Communication.Wire = ir.BFloat16
		}
	}, sums)
	for _, err := range errs {
		var order *collective.OrderError
		require.ErrorAs(t, err, &order)
		require.ErrorContains(t, err, "as bfloat16")
	}
	_, errs = workers(t, 1, func(_ int, o *multiworker.Options) { o.Communication.Wire = ir.Float16 }, sums)
	require.ErrorContains(t, errs[0], "cannot travel between workers as float16")
}
