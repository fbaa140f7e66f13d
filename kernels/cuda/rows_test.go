//go:build linux

package cuda

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptxsim"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Softmax, the loss of labels and layer normalization with their gradients, for rows of any length: shared by less than
// a warp, by several warps, and too long to stay in registers. What makes the operand is part of the kernel.
func TestRows(t *testing.T) {
	orders := ptxsim.Orders()
	for i, length := range []int{1, 2, 3, 10, 31, 64, 100, 200, 1000, 4097} {
		for _, op := range []ir.Op{ir.Softmax, ir.LogSoftmax, ir.SoftmaxGrad, ir.LogSoftmaxGrad, ir.SparseSoftmaxCrossEntropy, ir.LayerNorm, ir.LayerNormGrad} {
			if brief() && (i+int(op))%4 != 0 {
				continue
			}
			t.Run(fmt.Sprint(op, " ", length), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(uint64(length), uint64(op)))
				b := on(t, fakedriver.New(fakedriver.Options{Order: orders[i%len(orders)], Capability: 75}))
				d := []ir.DType{ir.Float32, ir.BFloat16, ir.Float16}[rng.IntN(3)]
				count := 1 + rng.IntN(7)
				if length < 20 {
					count += rng.IntN(300)
				}
				units := 64.0
				if d != ir.Float32 {
					units = 24
				}
				agrees(t, b, rowProgram(t, op, d, count, length), rng, units)
			})
		}
	}
}

// rowProgram applies an op to rows that a chain makes.
func rowProgram(t *testing.T, op ir.Op, d ir.DType, count, length int) *ir.Program {
	p := ir.New("rows")
	add := func(op ir.Op, attrs ir.Attrs, in ...ir.Value) []ir.Value {
		v, err := p.Add("layer", op, attrs, in...)
		require.NoError(t, err)
		return v
	}
	whole, column, row := ir.Type{DType: d, Shape: ir.Shape{count, length}}, ir.Type{DType: d, Shape: ir.Shape{length}}, ir.Type{DType: d, Shape: ir.Shape{count}}
	x := add(ir.Neg, nil, p.AddInput("x", whole))[0]
	var out []ir.Value
	norm := ir.NormAttrs{Epsilon: 1e-3}
	switch op {
	case ir.Softmax, ir.LogSoftmax:
		out = add(op, nil, x)
	case ir.SoftmaxGrad, ir.LogSoftmaxGrad:
		out = add(op, nil, x, p.AddInput("dy", whole))
	case ir.SparseSoftmaxCrossEntropy:
		labels := add(ir.Iota, ir.IotaAttrs{Type: ir.Type{DType: ir.Int32, Shape: ir.Shape{count}}})[0]
		limit := add(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(ir.Int32, float64(length))})[0]
		labels = add(ir.Rem, nil, labels, add(ir.Broadcast, ir.BroadcastAttrs{Shape: ir.Shape{count}}, limit)[0])[0]
		out = add(op, nil, x, labels)
	case ir.LayerNorm:
		out = add(op, norm, x, p.AddInput("gamma", column), p.AddInput("beta", column))
	case ir.LayerNormGrad:
		out = add(op, norm, x, p.AddInput("gamma", column), p.AddInput("mean", row), p.AddInput("rstd", row), p.AddInput("dy", whole))
	}
	for _, v := range out {
		p.AddOutput("out", v)
	}
	return p
}
