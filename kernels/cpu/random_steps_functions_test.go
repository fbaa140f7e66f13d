package cpu_test

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// functionsOfSteps are functions that no layer uses: loops, branches, long rows and sums, signal processing and linear
// algebra. k picks a variant.
var functionsOfSteps = map[string]func(x *ops.Tensor, k int) *ops.Tensor{
	"cumsum":    func(x *ops.Tensor, k int) *ops.Tensor { return ops.Cumsum(x, k%x.Rank()) },
	"sort":      func(x *ops.Tensor, k int) *ops.Tensor { return ops.Sort(x, -1) },
	"logsumexp": func(x *ops.Tensor, k int) *ops.Tensor { return ops.Add(x, keepLast(x, ops.Logsumexp(x, -1))) },
	"max":       func(x *ops.Tensor, k int) *ops.Tensor { return ops.Subtract(x, keepLast(x, ops.Max(x, -1))) },
	"norm": func(x *ops.Tensor, k int) *ops.Tensor {
		return ops.Divide(x, ops.AddScalar(keepLast(x, ops.Norm(x, -1)), 1))
	},
	"flip": func(x *ops.Tensor, k int) *ops.Tensor { return ops.Flip(x, 1) },
	"roll": func(x *ops.Tensor, k int) *ops.Tensor { return ops.Roll(x, k, 1) },
	"top_k": func(x *ops.Tensor, k int) *ops.Tensor {
		values, _ := ops.TopK(x, 1+k%x.Dim(-1))
		return values
	},
	"real_fft": func(x *ops.Tensor, k int) *ops.Tensor {
		re, im := ops.RFFT(x, x.Dim(-1))
		if k == 0 {
			return ops.IRFFT(ops.Tanh(re), im, x.Dim(-1))
		}
		return ops.Add(ops.Multiply(re, re), ops.Multiply(im, im))
	},
	"fft": func(x *ops.Tensor, k int) *ops.Tensor { // of a row as long as the example
		rows := ops.Reshape(x, x.Dim(0), -1)
		re, im := ops.FFT(rows, ops.Tanh(rows))
		return ops.MultiplyScalar(ops.Subtract(re, im), 0.1)
	},
	"moments": func(x *ops.Tensor, k int) *ops.Tensor {
		mean, variance := ops.Moments(x, 0)
		return ops.Divide(ops.Subtract(x, mean), ops.Sqrt(ops.AddScalar(variance, 0.1)))
	},
	"rows": func(x *ops.Tensor, k int) *ops.Tensor { // products of many rows and few columns, added up over the rows
		flat := ops.Reshape(x, -1, x.Dim(-1))
		return ops.Multiply(x, ops.Sum(ops.Matmul(flat, ops.Matmul(ops.Transpose(flat), ops.Tanh(flat))), 0))
	},
	"columns": func(x *ops.Tensor, k int) *ops.Tensor {
		flat := ops.Reshape(x, x.Dim(0), -1)
		return ops.Matmul(ops.Matmul(flat, ops.Transpose(flat)), ops.Tanh(flat))
	},
	"gram": func(x *ops.Tensor, k int) *ops.Tensor {
		y := ops.Reshape(x, x.Dim(0), -1, x.Dim(-1))
		return ops.MultiplyScalar(ops.Matmul(ops.Transpose(y, 0, 2, 1), y), 0.1)
	},
	"solve": func(x *ops.Tensor, k int) *ops.Tensor {
		if x.Dim(0) > 40 { // the reference eliminates slowly
			return ops.Tanh(x)
		}
		flat := ops.Reshape(x, x.Dim(0), -1)
		gram := ops.MultiplyScalar(ops.Matmul(flat, ops.Transpose(flat)), 0.01)
		return ops.Solve(ops.Add(gram, ops.Eye(x, ir.Float32, x.Dim(0), x.Dim(0))), flat)
	},
	"padded": func(x *ops.Tensor, k int) *ops.Tensor {
		low, high := make([]int, x.Rank()), make([]int, x.Rank())
		low[1], high[1] = k%3, (k+1)%3
		return ops.Pad(x, low, high, 0.5)
	},
	"take": func(x *ops.Tensor, k int) *ops.Tensor {
		return ops.Take(x, ops.Constant(x, ir.Int32, ir.Shape{4}, []float64{0, float64(k % x.Dim(1)), 0, float64(x.Dim(1) - 1)}), 1)
	},
	"segment": func(x *ops.Tensor, k int) *ops.Tensor {
		n := x.Dim(0)
		segments := make([]float64, n)
		for i := range segments {
			segments[i] = float64(i * i % n)
		}
		return ops.SegmentSum(x, ops.Constant(x, ir.Int32, ir.Shape{n}, segments), n)
	},
	"map": func(x *ops.Tensor, k int) *ops.Tensor {
		return ops.Map(func(xs []*ops.Tensor) []*ops.Tensor {
			return []*ops.Tensor{ops.Add(ops.Tanh(xs[0]), ops.MultiplyScalar(ops.Mean(xs[0]), 0.5))}
		}, x)[0]
	},
	"associative_scan": func(x *ops.Tensor, k int) *ops.Tensor {
		return ops.AssociativeScan(func(a, b *ops.Tensor) *ops.Tensor { return ops.Add(ops.MultiplyScalar(a, 0.5), b) }, x, 1, k == 0)
	},
	"while": func(x *ops.Tensor, k int) *ops.Tensor { // it has no gradient
		still := ops.StopGradient(x)
		end := ops.WhileLoop(
			func(s []*ops.Tensor) *ops.Tensor { return ops.CompareScalar(ir.Lt, s[0], float64(k)) },
			func(s []*ops.Tensor) []*ops.Tensor {
				return []*ops.Tensor{ops.AddScalar(s[0], 1), ops.Add(ops.Tanh(s[1]), ops.MultiplyScalar(still, 0.3))}
			}, ops.Full(x, ir.Int32, 0), still)
		return ops.Multiply(x, end[1])
	},
	"cond": func(x *ops.Tensor, k int) *ops.Tensor {
		return ops.Cond(ops.Greater(ops.Sum(x), ops.Scalar(x, float64(k-2))),
			func() []*ops.Tensor { return []*ops.Tensor{ops.Tanh(ops.MultiplyScalar(x, 0.7))} },
			func() []*ops.Tensor { return []*ops.Tensor{ops.Multiply(x, ops.Sigmoid(ops.Flip(x, -1)))} })[0]
	},
	"switch": func(x *ops.Tensor, k int) *ops.Tensor {
		branches := []func(xs []*ops.Tensor) []*ops.Tensor{
			func(xs []*ops.Tensor) []*ops.Tensor { return []*ops.Tensor{ops.Tanh(xs[0])} },
			func(xs []*ops.Tensor) []*ops.Tensor { return []*ops.Tensor{ops.Multiply(xs[0], xs[0])} },
			func(xs []*ops.Tensor) []*ops.Tensor { return []*ops.Tensor{ops.Cumsum(xs[0], -1)} },
		}
		return ops.Switch(ops.Cast(ops.MultiplyScalar(ops.Sum(x), 0.3), ir.Int32), branches, x)[0]
	},
	"conv_transposed": func(x *ops.Tensor, k int) *ops.Tensor { // of a kernel that is computed
		flat := ops.Reshape(x, -1, x.Dim(-1))
		kernel := ops.Tanh(ops.MultiplyScalar(ops.Matmul(ops.Transpose(flat), flat), 0.1))
		y := ops.Reshape(x, x.Dim(0), -1, 1, x.Dim(-1))
		return ops.Conv(y, ops.Reshape(kernel, 1, 1, x.Dim(-1), x.Dim(-1)), ops.ConvOptions{})
	},
}

// keepLast gives a value that was reduced along the last axis a last axis of length 1.
func keepLast(x, y *ops.Tensor) *ops.Tensor {
	shape := x.Shape().Clone()
	shape[len(shape)-1] = 1
	return ops.Reshape(y, shape...)
}
