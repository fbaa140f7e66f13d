package coordinator_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/coordinator"
	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// pairLoss is (a·b - label)² of groups of two rows.
func pairLoss(_ *distribute.Replica, rows *ops.Tensor, inputs []*ops.Tensor) *ops.Tensor {
	product := ops.Sum(ops.Multiply(ops.SliceAxis(rows, 1, 0, 1), ops.SliceAxis(rows, 1, 1, 2)), 1, 2)
	return ops.Square(ops.Subtract(product, inputs[0]))
}

// TestMinimizeRows: a step descends the gradient worked out by hand, over blocks and their remainder, and returns the
// loss; mistakes are errors of the closure that change nothing.
func TestMinimizeRows(t *testing.T) {
	const width, examples, rate = 8, 5000, 0.01 // more than a block, and not a multiple of one
	r := rand.New(rand.NewPCG(4, 7))
	ids, labels := make([]int64, 2*examples), make([]float32, examples)
	for i := range ids {
		ids[i] = int64(300 * r.Float64() * r.Float64())
	}
	for i := range labels {
		labels[i] = float32(r.NormFloat64())
	}
	var table *coordinator.Variable
	functions := map[string]*coordinator.Function{}
	job := startJob(t, 1, 2, nil, func(ctx context.Context, c *coordinator.ClusterCoordinator) (err error) {
		if table, err = c.Variable(ctx, coordinator.VariableSpec{Name: "rows", Shape: ir.Shape{300, width}, Rule: parameters.Rule{Kind: parameters.SGD},
			Init: parameters.Init{Kind: parameters.Uniform, A: -1, B: 1, Seed: 7}}); err != nil {
			return err
		}
		label := kernels.Must(kernels.ArrayOf(labels, examples))
		silent := c.RowLoss("silent", pairLoss)
		silent.GradientOnly = true
		for name, of := range map[string]struct {
			loss   *coordinator.RowLoss
			ids    []int64
			inputs []kernels.Array
		}{
			"value": {c.RowLoss("value", pairLoss), ids, []kernels.Array{label}}, "silent": {silent, ids, []kernels.Array{label}}, "nothing": {silent, nil, []kernels.Array{kernels.NewArray(ir.Type{DType: ir.Float32, Shape: ir.Shape{0}})}},
			"no loss": {nil, ids, nil}, "short": {silent, ids, []kernels.Array{label.Slice(0, 7)}}, "scalar": {silent, ids, []kernels.Array{kernels.NewArray(ir.Type{DType: ir.Float32})}},
			"constant": {c.RowLoss("constant", func(_ *distribute.Replica, rows *ops.Tensor, _ []*ops.Tensor) *ops.Tensor {
				return ops.Sum(ops.ZerosLike(rows))
			}), ids, nil},
			"none":   {c.RowLoss("none", func(*distribute.Replica, *ops.Tensor, []*ops.Tensor) *ops.Tensor { return nil }), ids, nil},
			"panics": {c.RowLoss("panics", func(*distribute.Replica, *ops.Tensor, []*ops.Tensor) *ops.Tensor { panic("no luck") }), ids, nil},
		} {
			functions[name] = c.Function(name, func(cl *coordinator.Closure) (any, error) {
				return cl.MinimizeRows(table, rate, of.ids, 2, of.loss, of.inputs...)
			})
		}
		return nil
	})
	c := job.coordinate()
	for _, name := range []string{"value", "silent", "nothing"} {
		before, err := table.Read(t.Context())
		require.NoError(t, err)
		gradient, loss := make([]float64, len(before)), 0.0
		for i, label := range labels {
			if name == "nothing" {
				break
			}
			a, b, d := int(ids[2*i])*width, int(ids[2*i+1])*width, -float64(label)
			for k := range width {
				d += float64(before[a+k]) * float64(before[b+k])
			}
			loss += d * d
			for k := range width {
				gradient[a+k] += 2 * d * float64(before[b+k])
				gradient[b+k] += 2 * d * float64(before[a+k])
			}
		}
		v, err := c.Schedule(t.Context(), functions[name])
		require.NoError(t, err)
		got, err := v.Fetch(t.Context())
		require.NoError(t, err)
		if name == "value" {
			require.InEpsilon(t, loss, got, 1e-5)
		} else {
			require.Zero(t, got)
		}
		after, err := table.Read(t.Context())
		require.NoError(t, err)
		for i, x := range after {
			require.InDelta(t, float64(before[i])-rate*gradient[i], x, 1e-4*math.Max(1, math.Abs(rate*gradient[i])), "%s: number %d", name, i)
		}
	}
	before, err := table.Read(t.Context())
	require.NoError(t, err)
	for name, text := range map[string]string{"no loss": "RowLoss", "short": "input 0 has the shape [7]; expected a first axis of 5000", "scalar": "input 0 has the shape []",
		"constant": "the loss does not depend on the rows", "none": "returned no loss", "panics": "no luck"} {
		_, err := c.Schedule(t.Context(), functions[name])
		require.NoError(t, err)
		require.ErrorContains(t, c.Join(t.Context()), text)
	}
	after, err := table.Read(t.Context())
	require.NoError(t, err)
	require.Equal(t, before, after)
}

// The loss is traced, and its gradient derived: an example looks two rows up, whose product is to become its label.
func ExampleRowLoss() {
	_ = func(ctx context.Context, c *coordinator.ClusterCoordinator) error {
		table, err := c.Variable(ctx, coordinator.VariableSpec{Name: "users", Shape: ir.Shape{16}, Dynamic: true, MaxRows: 1 << 20})
		if err != nil {
			return err
		}
		loss := c.RowLoss("pairs", func(_ *distribute.Replica, rows *ops.Tensor, inputs []*ops.Tensor) *ops.Tensor {
			product := ops.Sum(ops.Prod(rows, 1), 1) // rows is [examples, 2, 16]
			return ops.Square(ops.Subtract(product, inputs[0]))
		})
		c.Function("step", func(cl *coordinator.Closure) (any, error) {
			ids := []int64{7, 12, 7, -40} // of two examples
			labels := kernels.Must(kernels.ArrayOf([]float32{1, 0}, 2))
			return cl.MinimizeRows(table, 0.1, ids, 2, loss, labels)
		})
		return nil
	}
}
