package losses_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/testdevice"
	"github.com/gokeras/gokeras/internal/vectors"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/losses"
)

// batchIsFirst reports whether all arrays of a case have the examples on axis 0, so that they can be spread over
// replicas.
func batchIsFirst(inputs []kernels.Array) bool {
	for _, a := range inputs {
		if len(a.Type.Shape) == 0 || a.Type.Shape[0] != inputs[0].Type.Shape[0] {
			return false
		}
	}
	return true
}

// TestReplicasEqualOne: for every case of real Keras, the parts of several replicas add up to the loss of one, and
// their gradients join to its gradient, whether the local batches are even, uneven or empty.
func TestReplicasEqualOne(t *testing.T) {
	cases := 0
	for _, c := range vectors.Load(t, "losses").Cases {
		l := lossOf(t, c)
		inputs, weighted, masked := inputsOf(t, c)
		if c.DType != "float64" || l.ReductionKind() == losses.None || !batchIsFirst(inputs) || inputs[0].Type.Shape[0] < 3 {
			continue
		}
		cases++
		total := func(r *distribute.Replica, in []*ops.Tensor) []*ops.Tensor {
			out := traceOf(l, weighted, masked)(r, in)
			return []*ops.Tensor{ops.Sum(out[0]), out[1]}
		}
		one := runOne(t, total, inputs...)
		n := inputs[0].Type.Shape[0]
		splits := [][]int{{n - n/2, n / 2}, {0, n}, {1, n - 1, 0}, {n - 2, 0, 1, 1}}
		for i, sizes := range splits {
			if (i+cases)%2 == 0 { // every other split: there are many cases of each loss
				continue
			}
			t.Run(fmt.Sprint(c.Name, sizes), func(t *testing.T) {
				out, err := testdevice.Call(mirrored(t, len(sizes)), total, split(inputs, sizes))
				require.NoError(t, err)
				sum := 0.0
				var grad []float64
				for _, r := range out {
					sum += r[0].Element(0)
					grad = append(grad, r[1].Float64s()...)
				}
				want := vectors.Array{Data: one[0].Float64s()}
				vectors.AllClose(t, "loss", []float64{sum}, want, 1e-12, 1e-13)
				want = vectors.Array{Shape: one[1].Type.Shape, Data: one[1].Float64s()}
				vectors.AllClose(t, "gradient", grad, want, 1e-11, 1e-13)
			})
		}
	}
	require.Greater(t, cases, 300)
}

// TestComputeAverage: the replicas' averages add up to the mean over all examples, whose values add up.
func TestComputeAverage(t *testing.T) {
	values := array(t, ir.Float32, []int{5, 2}, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
	out, err := testdevice.Call(mirrored(t, 3), func(r *distribute.Replica, in []*ops.Tensor) []*ops.Tensor {
		return []*ops.Tensor{losses.ComputeAverage(in[0], r.GlobalBatchSize())}
	}, split([]kernels.Array{values}, []int{2, 3, 0}))
	require.NoError(t, err)
	require.InDelta(t, 11, out[0][0].Element(0)+out[1][0].Element(0)+out[2][0].Element(0), 1e-6)
}

// TestComputeAverageOfNothing: where no replica has an example the loss is 0 and not 0/0, as in
// tf.nn.compute_average_loss, and so are its gradients.
func TestComputeAverageOfNothing(t *testing.T) {
	values := array(t, ir.Float32, []int{0, 2})
	out, err := testdevice.Call(mirrored(t, 2), func(r *distribute.Replica, in []*ops.Tensor) []*ops.Tensor {
		loss := losses.ComputeAverage(in[0], 0)
		return []*ops.Tensor{loss, ops.Grad(loss, in[0])[0]}
	}, split([]kernels.Array{values}, []int{0, 0}))
	require.NoError(t, err)
	for _, replica := range out {
		require.Equal(t, 0.0, replica[0].Element(0))
		require.Equal(t, []int{0, 2}, []int(replica[1].Type.Shape))
	}
}

// TestScalarFunction: a function that returns the mean of the local batch counts by the batch's share.
func TestScalarFunction(t *testing.T) {
	l := losses.Func("mean", func(yTrue, yPred *ops.Tensor) *ops.Tensor { return ops.Mean(ops.Subtract(yPred, yTrue)) })
	values := []kernels.Array{array(t, ir.Float32, []int{4}, 0, 0, 0, 0), array(t, ir.Float32, []int{4}, 1, 2, 3, 10)}
	out, err := testdevice.Call(mirrored(t, 3), func(_ *distribute.Replica, in []*ops.Tensor) []*ops.Tensor {
		return []*ops.Tensor{losses.Compute(l, in[0], in[1], nil)}
	}, split(values, []int{3, 0, 1}))
	require.NoError(t, err)
	require.InDelta(t, 4, out[0][0].Element(0)+out[1][0].Element(0)+out[2][0].Element(0), 1e-6)
}
