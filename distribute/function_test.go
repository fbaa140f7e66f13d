package distribute_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

func mirrored(t testing.TB, n int) distribute.Strategy {
	t.Helper()
	devices := make([]string, n)
	for i := range devices {
		devices[i] = fmt.Sprintf("cpu:%d", i)
	}
	s, err := distribute.NewMirroredStrategy(devices...)
	require.NoError(t, err)
	return s
}

func array(t testing.TB, dtype ir.DType, shape ir.Shape, values ...float64) kernels.Array {
	t.Helper()
	a, err := kernels.FromFloat64s(dtype, shape, values)
	require.NoError(t, err)
	return a
}

// A step on a linear model, written as a custom loop: the weights after it do not depend on how many replicas share the
// batch.
func TestStepEqualsOneReplica(t *testing.T) {
	x := array(t, ir.Float64, ir.Shape{5, 2}, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
	y := array(t, ir.Float64, ir.Shape{5, 1}, 1, 0, 2, 1, 3)
	// w -= 0.01·(2/5)·xᵀ(xw - y), w = 0.1 in both places.
	var want []float64
	{
		w := []float64{0.1, 0.1}
		g := []float64{0, 0}
		for i := range 5 {
			e := x.Element(2*i)*w[0] + x.Element(2*i+1)*w[1] - y.Element(i)
			for j := range 2 {
				g[j] += 2.0 / 5 * e * x.Element(2*i+j)
			}
		}
		want = []float64{w[0] - 0.01*g[0], w[1] - 0.01*g[1]}
	}
	for _, n := range []int{1, 2, 3, 4, 7} {
		t.Run(fmt.Sprint(n, " replicas"), func(t *testing.T) {
			s := mirrored(t, n)
			w := distribute.NewVariable(distribute.VariableSpec{Name: "w", Shape: ir.Shape{2, 1}, DType: ir.Float64})
			require.NoError(t, w.Place(s, 0))
			require.NoError(t, w.SetValue(array(t, ir.Float64, ir.Shape{2, 1}, 0.1, 0.1)))
			step := s.Function(func(r *distribute.Replica, in distribute.Batch) *ops.Tensor {
				loss := ops.DivideScalar(ops.Sum(ops.Square(ops.Subtract(ops.Matmul(in.X, r.Read(w)), in.Y))), float64(r.GlobalBatchSize()))
				g := ops.NewTape(r).Gradients(loss, distribute.Variables{w}).Values[0]
				g = r.AllReduce(ir.Sum, g)[0]
				r.Assign(w, ops.Subtract(r.Read(w), ops.MultiplyScalar(g, 0.01)))
				return loss
			})
			batch, err := distribute.SplitBatch(s, distribute.HostBatch{X: []kernels.Array{x}, Y: []kernels.Array{y}})
			require.NoError(t, err)
			losses, err := s.Run(context.Background(), step, batch)
			require.NoError(t, err)
			require.Len(t, losses, n)
			total, err := s.Reduce(distribute.Sum, losses)
			require.NoError(t, err)
			require.InDelta(t, 0.65, total.Element(0), 1e-12) // errors -0.7 0.7 -0.9 0.5 -1.1
			got, err := w.Value()
			require.NoError(t, err)
			require.InDeltaSlice(t, want, got.Float64s(), 1e-12)
		})
	}
}

// No gradient flows through an assignment, as with TensorFlow's tapes: of v = 3·w and the loss v², the gradient of v is
// 2v at the new v, and w has none. That holds for what a loop reads, too.
func TestNoGradientThroughAssignments(t *testing.T) {
	for _, inLoop := range []bool{false, true} {
		s := mirrored(t, 2)
		v := distribute.NewVariable(distribute.VariableSpec{Name: "v", DType: ir.Float64})
		w := distribute.NewVariable(distribute.VariableSpec{Name: "w", DType: ir.Float64})
		for _, x := range []*distribute.Variable{v, w} {
			require.NoError(t, x.Place(s, 0))
			require.NoError(t, x.SetValue(array(t, ir.Float64, nil, 5)))
		}
		step := s.Function(func(r *distribute.Replica, in distribute.Batch) *ops.Tensor {
			r.AssignMirrored(v, ops.MultiplyScalar(r.Read(w), 3))
			square := func() *ops.Tensor { return ops.Square(r.Read(v)) }
			loss := square()
			if inLoop {
				loss = ops.ForiLoop(0, 2, func(_ *ops.Tensor, state []*ops.Tensor) []*ops.Tensor {
					return []*ops.Tensor{ops.Add(state[0], square())}
				}, ops.ZerosLike(r.Read(w)))[0]
			}
			gradients := ops.NewTape(r).Gradients(loss, distribute.Variables{v, w}).Values
			require.Nil(t, gradients[1], "of what was assigned")
			require.NotNil(t, gradients[0], "of what was read, in a loop: %t", inLoop)
			r.AssignDifferentiable(v, ops.MultiplyScalar(r.Read(w), 3))
			require.NotNil(t, ops.NewTape(r).Gradients(square(), distribute.Variables{w}).Values[0], "unless it is asked for")
			return gradients[0]
		})
		batch, err := distribute.SplitBatch(s, distribute.HostBatch{X: []kernels.Array{array(t, ir.Float64, ir.Shape{2}, 1, 1)}})
		require.NoError(t, err)
		got, err := s.Run(context.Background(), step, batch)
		require.NoError(t, err)
		total, err := s.Reduce(distribute.Mean, got)
		require.NoError(t, err)
		want := 30.0
		if inLoop {
			want = 60
		}
		require.Equal(t, want, total.Element(0))
	}
}

// TestGradientOfAllReads: of a variable that is assigned in between, the reads before and after count, as on
// TensorFlow's tape, and the assignment itself passes nothing on.
func TestGradientOfAllReads(t *testing.T) {
	s := mirrored(t, 2)
	v := distribute.NewVariable(distribute.VariableSpec{Name: "v", DType: ir.Float64})
	require.NoError(t, v.Place(s, 0))
	require.NoError(t, v.SetValue(array(t, ir.Float64, nil, 5)))
	step := s.Function(func(r *distribute.Replica, in distribute.Batch) *ops.Tensor {
		loss := ops.Square(r.Read(v)) // d/dv = 10
		r.AssignMirrored(v, ops.MultiplyScalar(r.Read(v), 3))
		loss = ops.Add(loss, ops.MultiplyScalar(r.Read(v), 7))
		r.AssignMirrored(v, ops.MultiplyScalar(r.Read(v), 2)) // 30
		loss = ops.Add(loss, ops.Square(r.Read(v)))           // 60
		return ops.NewTape(r).Gradients(loss, distribute.Variables{v}).Values[0]
	})
	batch, err := distribute.SplitBatch(s, distribute.HostBatch{X: []kernels.Array{array(t, ir.Float64, ir.Shape{2}, 1, 1)}})
	require.NoError(t, err)
	got, err := s.Run(context.Background(), step, batch)
	require.NoError(t, err)
	total, err := s.Reduce(distribute.Mean, got)
	require.NoError(t, err)
	require.Equal(t, 77.0, total.Element(0))
}
