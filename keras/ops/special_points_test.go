package ops_test

import (
	"encoding/json"
	"math"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
)

// numbers reads JSON numbers and the strings "inf", "-inf", "nan".
type numbers []float64

func (n *numbers) UnmarshalJSON(text []byte) error {
	var raw []any
	if err := json.Unmarshal(text, &raw); err != nil {
		return err
	}
	for _, r := range raw {
		switch r := r.(type) {
		case float64:
			*n = append(*n, r)
		case string:
			v, err := strconv.ParseFloat(r, 64)
			if err != nil {
				return err
			}
			*n = append(*n, v)
		}
	}
	return nil
}

var specialUnary = map[string]func(x *ops.Tensor) *ops.Tensor{
	"abs": ops.Abs, "arccos": ops.Arccos, "arccosh": ops.Arccosh, "arcsin": ops.Arcsin, "arcsinh": ops.Arcsinh, "arctan": ops.Arctan,
	"arctanh": ops.Arctanh, "ceil": ops.Ceil, "cos": ops.Cos, "cosh": ops.Cosh, "erf": ops.Erf, "erfinv": ops.Erfinv, "exp": ops.Exp,
	"exp2": ops.Exp2, "expm1": ops.Expm1, "floor": ops.Floor, "isfinite": ops.Isfinite, "isinf": ops.Isinf, "isnan": ops.Isnan,
	"log": ops.Log, "log10": ops.Log10, "log1p": ops.Log1p, "log2": ops.Log2, "negative": ops.Negative, "reciprocal": ops.Reciprocal,
	"round": ops.Round, "rsqrt": ops.Rsqrt, "sign": ops.Sign, "sin": ops.Sin, "sinh": ops.Sinh, "sqrt": ops.Sqrt, "square": ops.Square,
	"tan":      ops.Tan,
	"celu_0.7": activations["celu 0.7"], "elu_0.3": activations["elu 0.3"], "gelu_erf": activations["gelu"], "gelu_tanh": activations["gelu tanh"],
	"clip":         func(x *ops.Tensor) *ops.Tensor { return ops.Clip(x, -1, 3) },
	"relu_options": func(x *ops.Tensor) *ops.Tensor { return ops.ReluWith(x, 0.25, 2.5, 0.5) },
	"relu_max":     func(x *ops.Tensor) *ops.Tensor { return ops.ReluWith(x, 0, 3, 0) },
	"relu_slope":   activations["relu slope"],
}

var specialBinary = map[string]func(a, b *ops.Tensor) *ops.Tensor{
	"add": ops.Add, "arctan2": ops.Arctan2, "divide": ops.Divide, "divide_no_nan": ops.DivideNoNan, "floor_divide": ops.FloorDivide,
	"logaddexp": ops.Logaddexp, "maximum": ops.Maximum, "minimum": ops.Minimum, "mod": ops.Mod, "multiply": ops.Multiply,
	"power": ops.Power, "subtract": ops.Subtract,
}

// differs reports whether a gradient differs from JAX's on purpose: the slope of |x| at 0 is 0, as in TensorFlow and
// PyTorch; outside arccosh's domain its sign is meaningless; and if one operand of logaddexp is infinite the other has
// no influence.
func differs(what string, at []float64) bool {
	switch what {
	case "abs: gradient":
		return at[0] == 0 || math.IsNaN(at[0])
	case "arccosh: gradient":
		return at[0] == -1
	case "logaddexp: gradient", "logaddexp: gradient of the second":
		return math.IsInf(at[0], 1) || math.IsInf(at[1], 1)
	}
	return false
}

// Values and gradients at kinks, ties and limits are those of Keras on JAX. Where JAX's gradient is NaN ours may be a
// number.
func TestSpecialPoints(t *testing.T) {
	data, err := os.ReadFile("testdata/special_points.json")
	require.NoError(t, err)
	var file struct {
		Cases []struct {
			Name              string
			X, X2, Y, DX, DX2 numbers
		}
	}
	require.NoError(t, json.Unmarshal(data, &file))
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			in := []opstest.Array{opstest.Floats([]int{len(c.X)}, c.X...)}
			if c.X2 != nil {
				in = append(in, opstest.Floats([]int{len(c.X2)}, c.X2...))
			}
			out := opstest.Eval(t, func(_ *ops.Graph, in tensors) tensors {
				y := special(t, c.Name, in)
				grads := make(tensors, len(in))
				if y.DType().IsFloat() {
					grads = ops.Grad(y, in...)
				}
				for i, grad := range grads {
					if grad == nil {
						grads[i] = ops.ZerosLike(in[i])
					}
				}
				return append(grads, ops.Cast(y, ir.Float64))
			}, in...)
			near(t, c.Name+": value", in, out[len(in)].F, c.Y, false)
			near(t, c.Name+": gradient", in, out[0].F, c.DX, true)
			if c.X2 != nil {
				near(t, c.Name+": gradient of the second", in, out[1].F, c.DX2, true)
			}
		})
	}
}

func special(t *testing.T, name string, in tensors) *ops.Tensor {
	if f := specialBinary[name]; f != nil {
		return f(in[0], in[1])
	}
	f := specialUnary[name]
	if f == nil {
		f = activations[name]
	}
	require.NotNil(t, f, name)
	return f(in[0])
}

func near(t *testing.T, what string, in []opstest.Array, got []float64, want numbers, gradient bool) {
	t.Helper()
	for i, w := range want {
		g := got[i]
		at := []float64{in[0].F[i]}
		if len(in) > 1 {
			at = append(at, in[1].F[i])
		}
		if g == w || math.IsNaN(w) && (math.IsNaN(g) || gradient) || differs(what, at) {
			continue
		}
		if !(math.Abs(g-w) <= 1e-12*max(1, math.Abs(w))) || math.IsInf(w, 0) {
			t.Errorf("%s at %v is %v, want %v", what, at, g, w)
		}
	}
}

// TestDigammaAtPoles: the numbers are PyTorch's; between poles only the reflection matters.
func TestDigammaAtPoles(t *testing.T) {
	for _, d := range []ir.DType{ir.Float64, ir.Float32, ir.Float16} {
		x := opstest.Floats([]int{6}, 0, -1, -2, -7, -0.5, -2.5).As(d)
		y := opstest.Eval(t, unary(ops.Digamma), x)[0].F
		require.True(t, math.IsInf(y[0], -1), y)
		for _, pole := range y[1:4] {
			require.True(t, math.IsNaN(pole), y)
		}
		require.InDeltaSlice(t, []float64{0.03648997397857638, 1.1031566406452433}, y[4:], 1e-3)
	}
}
