package optimizers_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/vectors"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/optimizers"
)

// TestReplicasEqualOne: for every case of real Keras, replicas whose gradients add up to those of the case end with the
// weights and the state of one replica, all copies alike to the bit.
func TestReplicasEqualOne(t *testing.T) {
	for i, c := range kerasCases(t) {
		if c.DType != "float64" || c.Class == "LossScaleOptimizer" {
			continue
		}
		for _, n := range []int{2, 3 + i%2} {
			t.Run(fmt.Sprint(c.Name, n), func(t *testing.T) {
				c.RTol, c.ATol = max(c.RTol, 1e-9), max(c.ATol, 1e-10) // the gradients are added up from parts
				e := extraOf(t, c)
				o := decode(t, c)
				if e.Exclude != nil {
					require.NoError(t, o.(*optimizers.AdamW).ExcludeFromWeightDecay(nil, e.Exclude...))
				}
				weights := weightsOf(t, c, e)
				tr := newTrainer(t, mirrored(t, n), o, weights)
				for step := range 12 {
					tr.step(share(t, gradientsOf(t, c, e, step), n)...)
				}
				for i, w := range weights {
					want := c.Output(t, c.Inputs[i].Name)
					size := len(c.Inputs[i].Data)
					last := vectors.Array{Shape: w.Type().Shape, Data: want.Data[11*size:]}
					c.Close(t, want.Name, valueOf(t, w), last.Shape, last)
				}
				compareState(t, c, o)
				for _, v := range append(append(distribute.Variables{}, weights...), o.Variables()...) {
					if v.Path() != "multi_optimizer/learning_rate" { // which is never used
						sameCopies(t, v, n)
					}
				}
			})
		}
	}
}

// share splits gradients into n uneven parts that add up to them; the last replica's part is zero.
func share(t testing.TB, grads []kernels.Array, n int) [][]kernels.Array {
	t.Helper()
	parts := make([][]kernels.Array, n)
	for _, g := range grads {
		whole := g.Float64s()
		for r := range parts {
			part := make([]float64, len(whole))
			for i, x := range whole {
				switch {
				case r < n-2:
					part[i] = x / 4
				case r == n-2:
					part[i] = x - x/4*float64(n-2)
				}
			}
			parts[r] = append(parts[r], array(t, g.Type.DType, g.Type.Shape, part...))
		}
	}
	return parts
}

// sameCopies makes sure that all replicas hold the same bits.
func sameCopies(t testing.TB, v *distribute.Variable, n int) {
	t.Helper()
	var first []byte
	for i := range n {
		b, err := v.Buffer(i)
		require.NoError(t, err)
		data := make([]byte, v.Type().Bytes())
		require.NoError(t, b.Read(data))
		if i == 0 {
			first = data
		}
		require.Equal(t, first, data, "%s on replica %d", v.Path(), i)
	}
}

// TestLossScaleOnReplicas: one replica's overflow skips the step on all.
func TestLossScaleOnReplicas(t *testing.T) {
	c := caseNamed(t, "loss_scale_adam/float64")
	c.RTol, c.ATol = 1e-9, 1e-10
	e := extraOf(t, c)
	o := decode(t, c)
	weights := weightsOf(t, c, e)
	tr := newTrainer(t, mirrored(t, 2), o, weights)
	for step := range 12 {
		grads := gradientsOf(t, c, e, step)
		zeros := make([]kernels.Array, len(grads))
		for i, g := range grads {
			zeros[i] = kernels.NewArray(g.Type)
		}
		tr.step(zeros, grads)
		scale, err := o.(*optimizers.LossScaleOptimizer).CurrentScale()
		require.NoError(t, err)
		require.Equal(t, e.DynamicScale[step], scale)
	}
	compareState(t, c, o)
	for _, v := range append(append(distribute.Variables{}, weights...), o.Variables()[2:]...) { // the first two are never used
		sameCopies(t, v, 2)
	}
}

func caseNamed(t testing.TB, name string) vectors.Case {
	t.Helper()
	for _, c := range kerasCases(t) {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no case %q", name)
	return vectors.Case{}
}

// TestBuckets: gradients are summed in buckets of about 4 MiB, the last weights first.
func TestBuckets(t *testing.T) {
	var weights distribute.Variables
	for i, n := range []int{10, 3 << 18, 3 << 18, 1 << 18, 7} { // 3 MiB, 3 MiB, 1 MiB
		weights = append(weights, distribute.NewVariable(distribute.VariableSpec{Name: fmt.Sprint("w", i), Shape: ir.Shape{n}, DType: ir.Float32}))
	}
	program := traceStep(t, &optimizers.SGD{}, weights, 2)
	var sizes [][]int
	for _, n := range program.Nodes {
		if n.Op != ir.AllReduce {
			continue
		}
		var list []int
		for _, v := range n.Inputs {
			list = append(list, program.Type(v).Shape.Size())
		}
		sizes = append(sizes, list)
	}
	// The last bucket takes 3 MiB + 1 MiB; seven elements more would not fit, so they go alone.
	require.Equal(t, [][]int{{1 << 18, 7}, {3 << 18}, {10, 3 << 18}}, sizes)
	require.Nil(t, allReduces(traceStep(t, &optimizers.SGD{}, weights, 1)), "one replica needs none")
}

// traceStep returns the program of one step on one of n replicas.
func traceStep(t testing.TB, o optimizers.Optimizer, weights distribute.Variables, n int) *ir.Program {
	t.Helper()
	r := distribute.NewReplica("step", n, 1, n)
	grads := make([]*ops.Tensor, len(weights))
	for i, w := range weights {
		grads[i] = r.Graph().Input(w.Name(), w.Type().DType, w.Type().Shape...)
	}
	o.Apply(r, ops.Gradients{Of: weights, Values: grads})
	return r.Graph().Program()
}

func allReduces(p *ir.Program) []ir.Node {
	var found []ir.Node
	for _, n := range p.Nodes {
		if n.Op == ir.AllReduce {
			found = append(found, n)
		}
	}
	return found
}
