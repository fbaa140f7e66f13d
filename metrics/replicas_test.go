package metrics_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/vectors"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/metrics"
)

// runner feeds a metric on several replicas with parts of given sizes.
type runner struct {
	t testing.TB
	s distribute.Strategy
	m metrics.Metric
}

// update cuts the arrays into parts and runs one update.
func (r runner) update(arrays []kernels.Array, sizes []int) {
	r.t.Helper()
	f := distribute.NewFunction(r.s, "update", func(_ *distribute.Replica, in []*ops.Tensor) []*ops.Tensor {
		var w *ops.Tensor
		if len(in) == 3 {
			w = in[2]
		}
		r.m.Update(in[0], in[1], w)
		return nil
	})
	defer f.Close()
	types := make([][]ir.Type, len(sizes))
	at := 0
	var parts [][]kernels.Array
	for i, n := range sizes {
		var part []kernels.Array
		for _, a := range arrays {
			rows := a.Slice(at, at+n)
			part, types[i] = append(part, rows), append(types[i], rows.Type)
		}
		parts, at = append(parts, part), at+n
	}
	inst, err := f.Acquire(types, sizes)
	require.NoError(r.t, err)
	defer f.Release(inst)
	for i, part := range parts {
		for j, a := range part {
			require.NoError(r.t, inst.Input(i, j).Write(a.Data))
		}
	}
	require.NoError(r.t, inst.Run(context.Background(), 0, 0))
}

// result returns the result as every replica has it.
func (r runner) result() []float64 {
	r.t.Helper()
	n := r.s.NumReplicasInSync()
	f := distribute.NewFunction(r.s, "result", func(rep *distribute.Replica, _ []*ops.Tensor) []*ops.Tensor {
		return []*ops.Tensor{r.m.Result(rep)}
	})
	defer f.Close()
	inst, err := f.Acquire(make([][]ir.Type, n), make([]int, n))
	require.NoError(r.t, err)
	defer f.Release(inst)
	require.NoError(r.t, inst.Run(context.Background(), 0, 0))
	var first []float64
	for i := range n {
		b := inst.Output(i, 0)
		a := kernels.NewArray(b.Type())
		require.NoError(r.t, b.Read(a.Data))
		if i == 0 {
			first = a.Float64s()
		}
		require.Equal(r.t, first, a.Float64s(), "replica %d has another result", i)
	}
	return first
}

// TestReplicasEqualOne: for every case of real Keras, several replicas that share the batches find what one finds,
// whether their parts are even, uneven or empty.
func TestReplicasEqualOne(t *testing.T) {
	cases := 0
	for _, c := range vectors.Load(t, "metrics").Cases {
		if c.DType != "float64" {
			continue
		}
		cases++
		t.Run(c.Name, func(t *testing.T) {
			looserIoU(&c)
			yTrue, yPred, weight := inputsOf(t, c)
			arrays := []kernels.Array{yTrue, yPred}
			if weight != nil {
				arrays = append(arrays, *weight)
			}
			want := c.Output(t, "result")
			last := want.Data[len(want.Data)*3/4:]
			splits := [][][]int{
				{{2, 1}, {0, 5}, {1, 0}, {2, 2}},
				{{1, 1, 1}, {5, 0, 0}, {0, 0, 1}, {1, 2, 1}},
				{{3, 0, 0, 0}, {1, 1, 1, 2}, {0, 1, 0, 0}, {0, 0, 0, 4}},
			}
			for i, parts := range splits {
				var strategy distribute.Strategy
				switch (i + cases) % 3 { // two of the three: there are many cases of each metric
				case 0:
					continue
				case 1:
					strategy = central(t, len(parts[0])) // which keeps the counts of all replicas in one place
				default:
					strategy = mirrored(t, len(parts[0]))
				}
				r := runner{t, strategy, metricOf(t, c)}
				at := 0
				for _, sizes := range parts {
					n := 0
					for _, s := range sizes {
						n += s
					}
					var batch []kernels.Array
					for _, a := range arrays {
						batch = append(batch, a.Slice(at, at+n))
					}
					at += n
					r.update(batch, sizes)
				}
				for i, w := range c.Weights {
					a, err := r.m.Variables()[i].Value()
					require.NoError(t, err)
					c.Close(t, w.Name, a.Float64s(), a.Type.Shape, w)
				}
				vectors.AllClose(t, fmt.Sprintf("%d replicas, %T", len(parts[0]), strategy), r.result(), vectors.Array{Data: slices.Clone(last)}, c.RTol, max(c.ATol, want.ATol))
			}
		})
	}
	require.Greater(t, cases, 200)
}
