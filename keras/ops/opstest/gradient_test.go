package opstest_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
)

// recorder is a T that records failures.
type recorder struct{ messages []string }

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.messages = append(r.messages, fmt.Sprintf(format, args...))
}

type stop struct{}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	panic(stop{})
}

// withGradient is x·x with a given gradient.
func withGradient(slope func(x *ops.Tensor) *ops.Tensor) opstest.Func {
	return func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
		return ops.CustomGradient(func(xs ...*ops.Tensor) ([]*ops.Tensor, func([]*ops.Tensor) []*ops.Tensor) {
			return []*ops.Tensor{ops.Square(xs[0])}, func(dys []*ops.Tensor) []*ops.Tensor {
				return []*ops.Tensor{ops.Multiply(dys[0], slope(xs[0]))}
			}
		}, in[0])
	}
}

func TestCheckGradients(t *testing.T) {
	x := opstest.Normal(1, 3)
	tests := []struct {
		name  string
		slope func(x *ops.Tensor) *ops.Tensor
		fails bool
	}{
		{"right", func(x *ops.Tensor) *ops.Tensor { return ops.MultiplyScalar(x, 2) }, false},
		{"wrong", func(x *ops.Tensor) *ops.Tensor { return ops.MultiplyScalar(x, 2.00001) }, true},
		{"NaN", func(x *ops.Tensor) *ops.Tensor { return ops.Divide(ops.ZerosLike(x), ops.ZerosLike(x)) }, true},
		{"missing", func(x *ops.Tensor) *ops.Tensor { return ops.StopGradient(ops.ZerosLike(x)) }, true},
		{"infinite", func(x *ops.Tensor) *ops.Tensor { return ops.Reciprocal(ops.ZerosLike(x)) }, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := &recorder{}
			opstest.CheckGradients(r, withGradient(test.slope), x)
			require.Equal(t, test.fails, len(r.messages) > 0, "%v", r.messages)
		})
	}
}

// A function whose difference is NaN must fail, whatever its gradient is.
func TestCheckGradientsOfNaN(t *testing.T) {
	r := &recorder{}
	opstest.CheckGradients(r, func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
		return []*ops.Tensor{ops.Log(ops.Negative(in[0]))}
	}, opstest.Floats([]int{1}, 2))
	require.Len(t, r.messages, 1)
	require.Contains(t, r.messages[0], "NaN")
}

func TestCheckSecondGradients(t *testing.T) {
	x := opstest.Normal(1, 3)
	opstest.CheckSecondGradients(t, func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
		return []*ops.Tensor{ops.Multiply(in[0], ops.Square(in[0]))}
	}, x)
	r := &recorder{}
	opstest.CheckSecondGradients(r, withGradient(func(x *ops.Tensor) *ops.Tensor {
		return ops.StopGradient(ops.MultiplyScalar(x, 2)) // correct, but constant to its own gradient
	}), x)
	require.NotEmpty(t, r.messages)
}

func TestEval(t *testing.T) {
	add := func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
		return []*ops.Tensor{ops.Add(in[0], in[1]), ops.Greater(in[0], in[1])}
	}
	got := opstest.Eval(t, add, opstest.Floats([]int{2}, 1, 2), opstest.Floats([]int{2, 1}, 10, 1))
	opstest.Near(t, "sum", got[0], opstest.Floats([]int{2, 2}, 11, 12, 2, 3), 0, 0)
	require.Equal(t, ir.Bool, got[1].DType)
	require.Equal(t, []float64{0, 0, 0, 1}, got[1].F)
}

func TestEvalError(t *testing.T) {
	err := opstest.EvalError(func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
		return []*ops.Tensor{ops.Add(in[0], in[1])}
	}, opstest.Floats([]int{2}, 1, 2), opstest.Floats([]int{3}, 1, 2, 3))
	require.ErrorContains(t, err, "do not broadcast")
	err = opstest.EvalError(func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
		return []*ops.Tensor{ops.Take(in[0], in[1], 0)}
	}, opstest.Floats([]int{2}, 1, 2), opstest.Ints([]int{1}, 2))
	require.ErrorContains(t, err, "index 2")
}

func TestNear(t *testing.T) {
	nan := opstest.Floats([]int{1}, 0)
	nan.F[0] /= nan.F[0]
	one := opstest.Floats([]int{1}, 1)
	fails := func(got, want opstest.Array, rtol float64) bool {
		r := &recorder{}
		opstest.Near(r, "x", got, want, rtol, 0)
		return strings.Contains(strings.Join(r.messages, ""), "x: ")
	}
	require.False(t, fails(one, one, 0))
	require.False(t, fails(nan, nan, 0))
	require.True(t, fails(nan, one, 1))
	require.True(t, fails(one, nan, 1))
	require.True(t, fails(one, opstest.Floats([]int{1}, 1.1), 0.01))
	require.True(t, fails(one, opstest.Floats([]int{1}, math.Inf(1)), 0.01))
	require.False(t, fails(opstest.Floats([]int{1}, math.Inf(1)), opstest.Floats([]int{1}, math.Inf(1)), 0))
	require.True(t, fails(one, opstest.Floats([]int{1, 1}, 1), 0.01))
}

func TestDistinct(t *testing.T) {
	a := opstest.Distinct(3, 0.1, 4, 3)
	for i, v := range a.F {
		for j, w := range a.F {
			require.False(t, i != j && v-w < 0.099 && w-v < 0.099, "%v and %v", v, w)
		}
	}
}
