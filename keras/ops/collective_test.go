package ops_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
)

const replicas = 3

// Groups of the replicas.
var turned, alone = [][]int{{2, 0, 1}}, [][]int{{0}, {1}, {2}}

// collectives map the tensors x (2, 3) and w (3) of a replica to results; the loss is the sum of the replicas' results.
var collectives = []struct {
	name string
	op   ir.Op
	f    func(x, w *ops.Tensor) *ops.Tensor
}{
	{"sum", ir.AllReduce, func(x, w *ops.Tensor) *ops.Tensor {
		out := ops.AllReduce(ir.Sum, replicas, 0, x, w)
		return ops.Add(ops.Square(out[0]), ops.Sin(out[1]))
	}},
	{"sum of which one is used", ir.AllReduce, func(x, w *ops.Tensor) *ops.Tensor {
		return ops.Square(ops.AllReduce(ir.Sum, replicas, 0, x, w)[1])
	}},
	{"mean", ir.AllReduce, func(x, w *ops.Tensor) *ops.Tensor { return ops.Square(ops.AllReduce(ir.Mean, replicas, 0, x)[0]) }},
	{"max", ir.AllReduce, func(x, w *ops.Tensor) *ops.Tensor { return ops.Square(ops.AllReduce(ir.Max, replicas, 0, x)[0]) }},
	{"min", ir.AllReduce, func(x, w *ops.Tensor) *ops.Tensor { return ops.Square(ops.AllReduce(ir.Min, replicas, 0, x)[0]) }},
	{"gather", ir.AllGather, func(x, w *ops.Tensor) *ops.Tensor {
		return ops.Square(ops.Sum(ops.Tanh(ops.AllGather(x, -2, replicas)), 0))
	}},
	{"reduce-scatter", ir.ReduceScatter, func(x, w *ops.Tensor) *ops.Tensor { return ops.Square(ops.ReduceScatter(ir.Sum, x, 1, replicas)) }},
	{"reduce-scatter of means", ir.ReduceScatter, func(x, w *ops.Tensor) *ops.Tensor { return ops.Square(ops.ReduceScatter(ir.Mean, x, 1, replicas)) }},
	{"sum in groups", ir.AllReduce, func(x, w *ops.Tensor) *ops.Tensor {
		out := ops.AllReduceGroups(ir.Sum, replicas, turned, x, w)
		return ops.Add(ops.Square(out[0]), ops.Sin(out[1]))
	}},
	{"mean alone", ir.AllReduce, func(x, w *ops.Tensor) *ops.Tensor {
		return ops.Square(ops.AllReduceGroups(ir.Mean, replicas, alone, x)[0])
	}},
	{"max alone", ir.AllReduce, func(x, w *ops.Tensor) *ops.Tensor {
		return ops.Square(ops.AllReduceGroups(ir.Max, replicas, alone, x)[0])
	}},
	{"gather in groups", ir.AllGather, func(x, w *ops.Tensor) *ops.Tensor {
		all := ops.Tanh(ops.AllGatherGroups(x, 0, replicas, turned)) // (6, 3), in a different order than the replicas'
		return ops.Square(ops.Multiply(all, ops.Cumsum(ops.OnesLike(all), 0)))
	}},
	{"broadcast", ir.CollectiveBroadcast, func(x, w *ops.Tensor) *ops.Tensor {
		return ops.Multiply(ops.Square(ops.CollectiveBroadcast(x, 1, replicas)), w)
	}},
}

func collectiveInputs() [][]opstest.Array {
	x := opstest.Distinct(4, 0.1, replicas, 2, 3)
	in := make([][]opstest.Array, replicas)
	for r := range in {
		in[r] = []opstest.Array{{Shape: []int{2, 3}, DType: ir.Float64, F: x.F[6*r : 6*r+6]}, opstest.Normal(r, 3)}
	}
	return in
}

func TestCollectiveGradients(t *testing.T) {
	for _, c := range collectives {
		t.Run(c.name, func(t *testing.T) { checkCollective(t, c.f) })
	}
}

// checkCollective compares each replica's gradients with central differences of the sum of all replicas' losses.
func checkCollective(t opstest.T, f func(x, w *ops.Tensor) *ops.Tensor) {
	in := collectiveInputs()
	loss := func(_ *ops.Graph, in tensors) tensors { return tensors{ops.Sum(f(in[0], in[1]))} }
	total := func() (sum float64) {
		for _, out := range opstest.EvalReplicas(t, loss, in...) {
			sum += out[0].F[0]
		}
		return sum
	}
	derived := opstest.EvalReplicas(t, func(g *ops.Graph, in tensors) tensors {
		grads := ops.Grad(loss(g, in)[0], in...)
		for i, grad := range grads {
			if grad == nil {
				grads[i] = ops.ZerosLike(in[i])
			}
		}
		return grads
	}, in...)
	for r := range in {
		for i := range in[r] {
			for k, x := range in[r][i].F {
				const h = 6e-6
				in[r][i].F[k] = x + h
				high := total()
				in[r][i].F[k] = x - h
				want := (high - total()) / (2 * h)
				in[r][i].F[k] = x
				if got := derived[r][i].F[k]; !(math.Abs(got-want) <= 1e-6*max(1, math.Abs(want))) {
					t.Errorf("replica %d, input %d, element %d: derived %v, difference %v", r, i, k, got, want)
				}
			}
		}
	}
}

func TestCollectiveResults(t *testing.T) {
	in := [][]opstest.Array{{opstest.Floats([]int{2}, 1, 2)}, {opstest.Floats([]int{2}, 10, 20)}}
	out := opstest.EvalReplicas(t, func(g *ops.Graph, in tensors) tensors {
		x := in[0]
		return tensors{
			ops.AllReduce(ir.Sum, 2, 0, x)[0], ops.AllGather(x, 0, 2), ops.ReduceScatter(ir.Sum, x, 0, 2), ops.CollectiveBroadcast(x, 1, 2),
			ops.ReplicaID(g, 2),
		}
	}, in...)
	for r, want := range [][][]float64{
		{{11, 22}, {1, 2, 10, 20}, {11}, {10, 20}, {0}},
		{{11, 22}, {1, 2, 10, 20}, {22}, {10, 20}, {1}},
	} {
		for i, w := range want {
			require.Equal(t, w, out[r][i].F, "replica %d, result %d", r, i)
		}
	}
}

// With one replica there is nothing to exchange.
func TestCollectivesOfOneReplica(t *testing.T) {
	p, err := opstest.Trace(func(g *ops.Graph, in tensors) tensors {
		x := ops.AllReduce(ir.Max, 1, 0, in...)[0]
		return tensors{ops.CollectiveBroadcast(ops.ReduceScatter(ir.Sum, ops.AllGather(x, 0, 1), 0, 1), 0, 1)}
	}, ir.Type{DType: ir.Float32, Shape: ir.Shape{2}})
	require.NoError(t, err)
	require.Empty(t, p.Nodes)
}
