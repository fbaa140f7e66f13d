package ops_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
)

func init() {
	n := opstest.Normal
	for _, shape := range [][]int{{4}, {2, 3, 2}, {3, 1}, {0, 3}} {
		for axis := range shape {
			x := n(axis, shape...)
			if shape[axis] == 0 {
				continue // nothing to normalize
			}
			addCase(caseName("softmax", x)+caseName(axis), true, unary(func(x *ops.Tensor) *ops.Tensor { return ops.Square(ops.Softmax(x, axis)) }), x)
			addCase(caseName("log softmax", x)+caseName(axis), true, unary(func(x *ops.Tensor) *ops.Tensor { return ops.Square(ops.LogSoftmax(x, axis)) }), x)
		}
	}
	entropy := binary(func(x, labels *ops.Tensor) *ops.Tensor { return ops.Square(ops.SparseSoftmaxCrossEntropy(x, labels)) })
	addCase("sparse softmax cross-entropy", true, entropy, n(1, 3, 4), opstest.Ints([]int{3}, 0, 3, 1))
	addCase("sparse softmax cross-entropy of steps", true, entropy, n(1, 2, 2, 3), opstest.Ints([]int{2, 2}, 0, 2, 1, 1))
	addCase("sparse softmax cross-entropy, one class", true, entropy, n(1, 2, 1), opstest.Ints([]int{2}, 0, 0))
	addCase("sparse softmax cross-entropy, no examples", true, entropy, n(1, 0, 3), opstest.Ints([]int{0}))
}

func TestSoftmaxLimits(t *testing.T) {
	inf := math.Inf(1)
	y, dx := gradientAt(t, func(x *ops.Tensor) *ops.Tensor { return ops.Square(ops.Softmax(x, 0)) }, 1000, 0, -inf)
	require.Equal(t, []float64{1, 0, 0}, y)
	require.Equal(t, []float64{0, 0, 0}, dx)
	y, dx = gradientAt(t, func(x *ops.Tensor) *ops.Tensor { return ops.Index(ops.LogSoftmax(x, 0), 0, 1) }, 1000, 0, -inf)
	require.Equal(t, []float64{-1000}, y)
	require.Equal(t, []float64{-1, 1, 0}, dx)
}

func TestSparseSoftmaxCrossEntropyErrors(t *testing.T) {
	f := binary(ops.SparseSoftmaxCrossEntropy)
	err := opstest.EvalError(f, opstest.Normal(1, 2, 3), opstest.Ints([]int{2}, 0, 3))
	require.ErrorContains(t, err, "index 3")
	err = opstest.EvalError(f, opstest.Normal(1, 2, 3), opstest.Floats([]int{2}, 0, 1))
	require.ErrorContains(t, err, "labels must be integers")
	err = opstest.EvalError(f, opstest.Normal(1, 2, 3), opstest.Ints([]int{3}, 0, 1, 2))
	require.ErrorContains(t, err, "labels integers (...)")
}
