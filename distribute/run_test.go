package distribute_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// endsAfter is a context that ends after it was asked a number of times.
type endsAfter struct {
	context.Context
	left atomic.Int32
}

func (e *endsAfter) Err() error {
	if e.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// counter returns a function that adds the sum of a batch over all replicas to a variable, after another sum over the
// replicas.
func counter(t *testing.T, s distribute.Strategy) (*distribute.Variable, *distribute.Function) {
	t.Helper()
	v := distribute.NewVariable(distribute.VariableSpec{Name: "total", DType: ir.Float32})
	require.NoError(t, v.Place(s, 0))
	f := s.Function(func(r *distribute.Replica, in distribute.Batch) *ops.Tensor {
		first := r.AllReduce(ir.Sum, ops.Sum(in.X))[0]
		r.Assign(v, ops.Add(r.Read(v), first))
		return r.AllReduce(ir.Sum, ops.Add(r.Read(v), first))[0]
	})
	return v, f
}

func numbers(t *testing.T, n int) kernels.Array {
	t.Helper()
	values := make([]float64, n)
	for i := range values {
		values[i] = float64(i)
	}
	return array(t, ir.Float32, ir.Shape{n}, values...)
}

// A step that has begun runs to its end on all replicas; one that has not does not begin.
func TestRunToTheEnd(t *testing.T) {
	for _, n := range []int{1, 2, 4} {
		t.Run(fmt.Sprint(n, " replicas"), func(t *testing.T) {
			s := mirrored(t, n)
			v, f := counter(t, s)
			batch, err := distribute.SplitBatch(s, distribute.HostBatch{X: []kernels.Array{numbers(t, 5)}})
			require.NoError(t, err)
			ctx := &endsAfter{Context: context.Background()}
			ctx.left.Store(1)
			for i := range 50 {
				ctx.left.Store(1)
				_, err = s.Run(ctx, f, batch)
				require.NoError(t, err)
				for replica := range n {
					b, err := v.Buffer(replica)
					require.NoError(t, err)
					require.EqualValues(t, 10*(i+1), ir.Element(b.Bytes(), ir.Float32, 0))
				}
				_, err = s.Run(ctx, f, batch)
				require.ErrorIs(t, err, context.Canceled)
			}
		})
	}
}

func TestRunMistakes(t *testing.T) {
	s, other := mirrored(t, 2), mirrored(t, 2)
	x, y := numbers(t, 4), numbers(t, 4)
	_, f := counter(t, s)
	split := func(b distribute.HostBatch) distribute.PerReplicaBatch {
		t.Helper()
		parts, err := distribute.SplitBatch(s, b)
		require.NoError(t, err)
		return parts
	}
	run := func(s distribute.Strategy, parts distribute.PerReplicaBatch) error {
		_, err := s.Run(context.Background(), f, parts)
		return err
	}
	good := split(distribute.HostBatch{X: []kernels.Array{x}, Y: []kernels.Array{y}})
	require.NoError(t, run(s, good))
	require.ErrorContains(t, run(s, split(distribute.HostBatch{X: []kernels.Array{x}})),
		"first run with 1 inputs, 1 targets and 0 sample weights, received 1 inputs, 0 targets and 0 sample weights")
	require.ErrorContains(t, run(s, good[:1]), "has 2 replicas, received a batch cut into 1 parts")
	require.ErrorContains(t, run(other, good), "belongs to Mirrored(cpu:0, cpu:1) and cannot run under another strategy, Mirrored(cpu:0, cpu:1)")
	ragged := distribute.PerReplicaBatch{good[0], {X: good[1].X, Y: []kernels.Array{numbers(t, 3)}}}
	require.ErrorContains(t, run(s, ragged), "array 1 of the batch (inputs, targets, sample weights) has 3 examples on replica 1 and array 0 has 2")
	short := distribute.PerReplicaBatch{good[0], {X: []kernels.Array{{Type: x.Type, Data: x.Data[:4]}}, Y: []kernels.Array{y}}}
	require.ErrorContains(t, run(s, short), "16 bytes, received 4")
	require.NoError(t, run(s, good), "a failed run leaves the function usable")

	for _, b := range []distribute.HostBatch{
		{X: []kernels.Array{x}, Y: []kernels.Array{numbers(t, 3)}},
		{X: []kernels.Array{x}, SampleWeight: []kernels.Array{array(t, ir.Float32, nil, 1)}},
		{X: []kernels.Array{{Type: x.Type, Data: x.Data[:4]}}},
	} {
		_, err := distribute.SplitBatch(s, b)
		require.ErrorContains(t, err, "expected 4 examples on axis 0")
	}
	_, err := s.Reduce(distribute.None, distribute.PerReplica{x})
	require.ErrorContains(t, err, "use Sum or Mean")
	_, err = s.Reduce(distribute.Sum, nil)
	require.ErrorContains(t, err, "0 values")
	_, err = s.Reduce(distribute.Sum, distribute.PerReplica{x, numbers(t, 3)})
	require.ErrorContains(t, err, "elementwise reduction needs one type")
}

// An error on one replica ends the run on all, is the error that is reported, and the next run works.
func TestErrorOnOneReplica(t *testing.T) {
	s := mirrored(t, 3)
	f := s.Function(func(r *distribute.Replica, in distribute.Batch) *ops.Tensor {
		table := ops.Constant(r, ir.Float32, ir.Shape{3}, []float64{1, 2, 3})
		return r.AllReduce(ir.Sum, ops.Sum(ops.Take(table, ops.Cast(in.X, ir.Int32), 0)))[0]
	})
	run := func(values ...float64) (distribute.PerReplica, error) {
		batch, err := distribute.SplitBatch(s, distribute.HostBatch{X: []kernels.Array{array(t, ir.Float32, ir.Shape{3}, values...)}})
		require.NoError(t, err)
		return s.Run(context.Background(), f, batch)
	}
	for i := range 30 {
		values := []float64{0, 1, 2}
		values[i%3] = 7
		_, err := run(values...)
		require.ErrorContains(t, err, "index 7")
		require.NotContains(t, err.Error(), "another replica failed")
		out, err := run(0, 1, 2)
		require.NoError(t, err)
		require.Equal(t, 6.0, out[2].Element(0))
	}
}

// The cache of compiled shapes is bounded.
func TestManyShapes(t *testing.T) {
	s := distribute.Default()
	_, f := counter(t, s)
	for n := 1; n < 1100; n++ {
		batch, err := distribute.SplitBatch(s, distribute.HostBatch{X: []kernels.Array{numbers(t, n)}})
		require.NoError(t, err)
		_, err = s.Run(context.Background(), f, batch)
		require.NoError(t, err)
	}
	require.Equal(t, 1024, strings.Count(f.Programs(), "program step"))
}
