package ops_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
)

func init() {
	n := opstest.Normal
	batch := func(which ...int) opstest.Func {
		return func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
			y, mean, variance := ops.BatchNormalization(in[0], in[1], in[2], 0.1)
			all := []*ops.Tensor{y, mean, variance}
			var out []*ops.Tensor
			for _, i := range which {
				out = append(out, ops.Square(all[i]))
			}
			return out
		}
	}
	for _, shape := range [][]int{{4, 3}, {2, 3, 2, 2}, {3, 1}, {1, 3}} {
		c := shape[len(shape)-1]
		in := []opstest.Array{n(1, shape...), n(2, c), n(3, c)}
		addCase(caseName("batch norm", in[0]), true, batch(0), in...)
		addCase(caseName("batch norm, all results", in[0]), true, batch(0, 1, 2), in...)
		addCase(caseName("batch norm, statistics only", in[0]), true, batch(1, 2), in...)
		addCase(caseName("layer norm", in[0]), true, ternary(func(x, gamma, beta *ops.Tensor) *ops.Tensor {
			return ops.Square(ops.LayerNormalization(x, gamma, beta, 0.1))
		}), in...)
		addCase(caseName("rms norm", in[0]), true, binary(func(x, scale *ops.Tensor) *ops.Tensor {
			return ops.Square(ops.RmsNormalization(x, scale, 0.1))
		}), in[:2]...)
		addCase(caseName("l2 normalize", in[0]), true, unary(func(x *ops.Tensor) *ops.Tensor {
			return ops.Multiply(ops.L2Normalize(x, -1, 1e-6), ops.L2Normalize(x, 0, 1e-6))
		}), in[0])
	}
	for _, groups := range []int{1, 2, 4} {
		addCase(fmt.Sprintf("group norm, %d groups", groups), true, ternary(func(x, gamma, beta *ops.Tensor) *ops.Tensor {
			return ops.Square(ops.GroupNormalization(x, gamma, beta, groups, 0.1))
		}), n(1, 2, 3, 4), n(2, 4), n(3, 4))
	}
	addCase("group norm, larger examples", true, ternary(func(x, gamma, beta *ops.Tensor) *ops.Tensor {
		return ops.Square(ops.GroupNormalization(x, gamma, beta, 2, 0.1))
	}), n(1, 1, 129, 4), n(2, 4), n(3, 4))
	addCase("batch norm of no examples", false, batch(0), n(1, 0, 2), n(2, 2), n(3, 2))
	addCase("layer norm of no examples", true, ternary(func(x, gamma, beta *ops.Tensor) *ops.Tensor {
		return ops.LayerNormalization(x, gamma, beta, 0.1)
	}), n(1, 0, 2), n(2, 2), n(3, 2))
}

// TestGroupNormalization compares with the formula, for examples of many sizes, which are computed as rows or by the op
// for groups.
func TestGroupNormalization(t *testing.T) {
	r := rand.New(rand.NewPCG(27, 11))
	for range 40 {
		members, groups, positions := 1+r.IntN(9), 1+r.IntN(6), []int{1, 1, 2, 3, 4, 5, 20, 70}[r.IntN(8)]
		batch, channels := r.IntN(4), members*groups
		seed := r.IntN(1000)
		x, gamma, beta := opstest.Random(seed, 2, 4, batch, positions, channels), opstest.Random(seed+1, -1, 1, channels), opstest.Random(seed+2, -1, 1, channels)
		if positions == 1 && r.IntN(2) == 0 {
			x.Shape = []int{batch, channels}
		}
		got := opstest.Eval(t, func(g *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
			return []*ops.Tensor{ops.GroupNormalization(in[0], in[1], in[2], groups, 0.1)}
		}, x, gamma, beta)[0]
		want := make([]float64, len(x.F))
		for i := range x.F {
			group := func(k int) [2]int { return [2]int{k / (positions * channels), k % channels / members} }
			mean, variance, count := 0.0, 0.0, float64(positions*members)
			for k, v := range x.F {
				if group(k) == group(i) {
					mean += v / count
				}
			}
			for k, v := range x.F {
				if group(k) == group(i) {
					variance += (v - mean) * (v - mean) / count
				}
			}
			c := i % channels
			want[i] = gamma.F[c]*(x.F[i]-mean)/math.Sqrt(variance+0.1) + beta.F[c]
		}
		assert.Equal(t, x.Shape, got.Shape)
		opstest.Near(t, fmt.Sprintf("%v in %d groups", x.Shape, groups), got, opstest.Array{Shape: x.Shape, F: want}, 1e-5, 1e-5)
	}
}

// The numbers are Keras's.
func TestBatchNormalization(t *testing.T) {
	x := opstest.Floats([]int{3, 2}, 1, 2, 3, 6, 5, 1)
	out := opstest.Eval(t, func(g *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
		one := ops.Ones(g, in[0].DType(), 2)
		y, mean, variance := ops.BatchNormalization(in[0], one, ops.ZerosLike(one), 1e-3)
		return []*ops.Tensor{y, mean, variance, ops.LayerNormalization(in[0], one, ops.ZerosLike(one), 1e-3), ops.RmsNormalization(in[0], nil, 1e-6)}
	}, x)
	opstest.Near(t, "y", out[0], opstest.Floats([]int{3, 2}, -1.2245152, -.4628605, 0, 1.3885814, 1.2245154, -.9257209), 1e-6, 1e-6)
	opstest.Near(t, "mean", out[1], opstest.Floats([]int{2}, 3, 3), 1e-12, 0)
	opstest.Near(t, "variance", out[2], opstest.Floats([]int{2}, 8./3, 14./3), 1e-12, 0)
	opstest.Near(t, "layer norm", out[3], opstest.Floats([]int{3, 2}, -.998006, .998006, -.9997779, .9997778, .9998751, -.9998751), 1e-6, 0)
	opstest.Near(t, "rms norm", opstest.Array{Shape: []int{2}, F: out[4].F[:2]}, opstest.Floats([]int{2}, .6324554, 1.2649108), 1e-6, 0)
}

// A row of zeros normalizes to zeros with a finite gradient, in half precision too.
func TestL2NormalizeOfZeros(t *testing.T) {
	f := unary(func(x *ops.Tensor) *ops.Tensor {
		y := ops.L2Normalize(x, 0, 1e-12)
		return ops.Add(y, ops.Grad(y, x)[0])
	})
	x := opstest.Floats([]int{2}, 0, 0)
	opstest.Near(t, "float64", opstest.Eval(t, f, x)[0], opstest.Floats([]int{2}, 1e12, 1e12), 1e-12, 0)
	half := opstest.Eval(t, f, x.As(ir.Float16))[0]
	for _, v := range half.F {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			t.Errorf("float16 gives %v", half.F)
		}
	}
}
