package ops_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
)

var activations = map[string]func(x *ops.Tensor) *ops.Tensor{
	"celu":           func(x *ops.Tensor) *ops.Tensor { return ops.Celu(x, 1) },
	"celu 0.7":       func(x *ops.Tensor) *ops.Tensor { return ops.Celu(x, 0.7) },
	"elu":            func(x *ops.Tensor) *ops.Tensor { return ops.Elu(x, 1) },
	"elu 0.3":        func(x *ops.Tensor) *ops.Tensor { return ops.Elu(x, 0.3) },
	"exponential":    ops.Exponential,
	"gelu":           func(x *ops.Tensor) *ops.Tensor { return ops.Gelu(x, false) },
	"gelu tanh":      func(x *ops.Tensor) *ops.Tensor { return ops.Gelu(x, true) },
	"hard_shrink":    func(x *ops.Tensor) *ops.Tensor { return ops.HardShrink(x, 0.5) },
	"hard_sigmoid":   ops.HardSigmoid,
	"hard_silu":      ops.HardSilu,
	"hard_tanh":      ops.HardTanh,
	"leaky_relu":     func(x *ops.Tensor) *ops.Tensor { return ops.LeakyRelu(x, 0.2) },
	"log_sigmoid":    ops.LogSigmoid,
	"mish":           ops.Mish,
	"relu":           ops.Relu,
	"relu6":          ops.Relu6,
	"relu slope":     func(x *ops.Tensor) *ops.Tensor { return ops.ReluWith(x, 0.25, math.Inf(1), 0) },
	"relu max":       func(x *ops.Tensor) *ops.Tensor { return ops.ReluWith(x, 0, 2.5, 0) },
	"relu threshold": func(x *ops.Tensor) *ops.Tensor { return ops.ReluWith(x, 0, math.Inf(1), 1.5) },
	"relu all":       func(x *ops.Tensor) *ops.Tensor { return ops.ReluWith(x, 0.25, 2.5, 1.5) },
	"relu below":     func(x *ops.Tensor) *ops.Tensor { return ops.ReluWith(x, 0.25, 2.5, -1.5) },
	"selu":           ops.Selu,
	"sigmoid":        ops.Sigmoid,
	"silu":           ops.Silu,
	"soft_shrink":    func(x *ops.Tensor) *ops.Tensor { return ops.SoftShrink(x, 0.5) },
	"softplus":       ops.Softplus,
	"softsign":       ops.Softsign,
	"sparse_plus":    ops.SparsePlus,
	"sparse_sigmoid": ops.SparseSigmoid,
	"squareplus":     func(x *ops.Tensor) *ops.Tensor { return ops.Squareplus(x, 4) },
	"tanh":           ops.Tanh,
	"tanh_shrink":    ops.TanhShrink,
	"threshold":      func(x *ops.Tensor) *ops.Tensor { return ops.Threshold(x, 0.5, -3) },
	"sparsemax":      func(x *ops.Tensor) *ops.Tensor { return ops.Sparsemax(x, -1) },
}

func init() {
	x := opstest.Floats([]int{2, 7}, -4.3, -2.1, -1.2, -0.7, -0.3, 0.1, 0.4, 0.8, 1.3, 1.9, 2.2, 3.4, 5.2, 7.1)
	for name, f := range activations {
		addCase(name, true, unary(f), x)
		addCase(name+" of nothing", true, unary(f), opstest.Normal(1, 0, 3))
	}
	for axis := range 3 {
		addCase(caseName("glu", x)+caseName(axis), true, unary(func(x *ops.Tensor) *ops.Tensor { return ops.Glu(x, axis) }), opstest.Normal(1, 2, 4, 2))
		addCase(caseName("sparsemax", x)+caseName(axis), true, unary(func(x *ops.Tensor) *ops.Tensor { return ops.Square(ops.Sparsemax(x, axis)) }), opstest.Random(1, 0, 1, 2, 4, 3))
	}
}

// The results of the paper's algorithm: the nearest points of the simplex.
func TestSparsemax(t *testing.T) {
	out := opstest.Eval(t, unary(func(x *ops.Tensor) *ops.Tensor { return ops.Sparsemax(x, 0) }),
		opstest.Floats([]int{3, 3}, 0, 0.1, 9, 0.5, 0.2, 9, 1, 0.3, 9))[0]
	third := 1. / 3
	opstest.Near(t, "sparsemax", out, opstest.Floats([]int{3, 3}, 0, third-0.1, third, 0.25, third, third, 0.75, third+0.1, third), 1e-15, 1e-15)
}

// For large arguments, values and slopes are the limits and never NaN.
func TestActivationLimits(t *testing.T) {
	for name, f := range activations {
		if name == "sparsemax" {
			continue
		}
		y, dx := gradientAt(t, f, -1e4, -800, -100, 0, 100, 800, 1e4)
		for i := range y {
			require.False(t, math.IsNaN(y[i]), "%s: value %d", name, i)
			if name != "exponential" {
				require.False(t, math.IsNaN(dx[i]) || math.IsInf(dx[i], 0), "%s: gradient %d is %v", name, i, dx[i])
			}
		}
	}
}
