package onnx_test

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// normalizedCell is an LSTMCell whose result and whose first state are normalized, as recurrent networks often are.
type normalizedCell struct {
	layers.Base

	cell *layers.LSTMCell
	norm *layers.LayerNormalization
}

func (l *normalizedCell) Build(b *layers.Builder, in []ir.Shape) {
	b.BuildMember(l.cell, in[0])
	b.BuildMember(l.norm, ir.Shape{in[0][0], l.cell.Units})
}

func (l *normalizedCell) StateSizes() []int { return l.cell.StateSizes() }
func (l *normalizedCell) OutputSize() int   { return l.cell.OutputSize() }

func (l *normalizedCell) Start(c *layers.Context, _ int) layers.CellRun {
	return layers.CellRun{Step: func(x *ops.Tensor, states []*ops.Tensor) (*ops.Tensor, []*ops.Tensor) {
		next := layers.InvokeAll(l.cell, c, append([]*ops.Tensor{x}, states...)...)[1:]
		y := layers.Invoke(l.norm, c, next[0])
		return y, []*ops.Tensor{y, next[1]}
	}}
}

func (l *normalizedCell) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	return layers.ForwardCell(c, l, in)
}

// fromFloats returns an array like a with other values.
func fromFloats(a kernels.Array, values []float64) (kernels.Array, error) {
	return kernels.FromFloat64s(a.Type.DType, a.Type.Shape, values)
}

// Functions that cannot be exported.

func lgamma(x *ops.Tensor) *ops.Tensor { return ops.Lgamma(x) }

func noise(x *ops.Tensor) *ops.Tensor {
	return ops.Add(x, ops.RandomUniform(x, x.DType(), 0, 1, 1, x.Shape()...))
}

func squareOfBatch(x *ops.Tensor) *ops.Tensor {
	return ops.MultiplyScalar(x, float64(x.Dim(0)*x.Dim(0)))
}

func tableOfBatch(x *ops.Tensor) *ops.Tensor {
	n := float64(x.Dim(0))
	return ops.Add(x, ops.Constant(x, x.DType(), ir.Shape{3}, []float64{n, 1, 2}))
}

func oddBatch(x *ops.Tensor) *ops.Tensor {
	n := x.Dim(0)
	return ops.MultiplyScalar(x, ops.Number(x, func() float64 { return float64(n % 7) }, n))
}

// operationCases are operations that no layer of the other cases uses, on inputs (batch, 4, 5).
var operationCases = map[string]func(x *ops.Tensor) *ops.Tensor{
	"sort":    func(x *ops.Tensor) *ops.Tensor { return ops.Sort(x, 1) },
	"argsort": func(x *ops.Tensor) *ops.Tensor { return ops.Cast(ops.Argsort(x, -1), x.DType()) },
	"top k": func(x *ops.Tensor) *ops.Tensor {
		values, at := ops.TopK(x, 2)
		return ops.Add(values, ops.Cast(at, x.DType()))
	},
	"argmax": func(x *ops.Tensor) *ops.Tensor {
		return ops.Cast(ops.Add(ops.Argmax(x, 1), ops.Argmin(x, 1)), x.DType())
	},
	"cumsum":     func(x *ops.Tensor) *ops.Tensor { return ops.Cumsum(x, 1) },
	"flip":       func(x *ops.Tensor) *ops.Tensor { return ops.Flip(x, 0, 2) },
	"roll batch": func(x *ops.Tensor) *ops.Tensor { return ops.Roll(x, 1, 0) },
	"mod":        func(x *ops.Tensor) *ops.Tensor { return ops.Mod(x, ops.AddScalar(ops.Abs(x), 0.7)) },
	"arctan2":    func(x *ops.Tensor) *ops.Tensor { return ops.Arctan2(x, ops.Flip(x, 2)) },
	"small": func(x *ops.Tensor) *ops.Tensor {
		return ops.Add(ops.Add(ops.Exp2(x), ops.Expm1(x)), ops.Add(ops.Log1p(ops.Abs(x)), ops.Rsqrt(ops.AddScalar(ops.Abs(x), 1))))
	},
	"logic": logic,
	"take": func(x *ops.Tensor) *ops.Tensor {
		return ops.Take(x, ops.Constant(x, ir.Int32, ir.Shape{2, 2}, []float64{1, -1, 0, 3}), 1)
	},
	"take along": func(x *ops.Tensor) *ops.Tensor { return ops.TakeAlongAxis(x, ops.Argsort(x, 2), 2) },
	"one hot":    func(x *ops.Tensor) *ops.Tensor { return ops.OneHot(ops.Argmax(x, 2), 5, x.DType()) },
	"scatter add": func(x *ops.Tensor) *ops.Tensor {
		return ops.ScatterAdd(ops.Take(x, ops.Constant(x, ir.Int32, ir.Shape{1}, []float64{0}), 0), ops.Cast(ops.Zeros(x, ir.Int32, x.Dim(0)), ir.Int32), x, 0)
	},
	"scatter along an axis": func(x *ops.Tensor) *ops.Tensor {
		return ops.ScatterAdd(x, ops.Constant(x, ir.Int32, ir.Shape{2}, []float64{3, 1}), ops.SliceAxis(ops.Exp(x), 2, 0, 2), 2)
	},
	"scatter of one": func(x *ops.Tensor) *ops.Tensor {
		return ops.ScatterMax(x, ops.Constant(x, ir.Int32, nil, []float64{2}), ops.Index(ops.Flip(x, 1), 1, 0), 1)
	},
	"segment sum": func(x *ops.Tensor) *ops.Tensor { return ops.SegmentSum(x, segmentsOf(x), 3) },
	"segment max": func(x *ops.Tensor) *ops.Tensor {
		return ops.Maximum(ops.SegmentMax(x, segmentsOf(x), 3), ops.Zeros(x, x.DType()))
	},
	"segment sum of 16 bits": func(x *ops.Tensor) *ops.Tensor {
		whole := ops.Cast(ops.Round(ops.MultiplyScalar(x, 4)), ir.Float16)
		return ops.Cast(ops.SegmentSum(whole, segmentsOf(x), 3), x.DType())
	},
	"segments of whole numbers": func(x *ops.Tensor) *ops.Tensor {
		i := ops.Cast(ops.MultiplyScalar(x, 10), ir.Int32)
		return ops.Cast(ops.SegmentProd(i, segmentsOf(x), 4), x.DType())
	},
	"running product":                  func(x *ops.Tensor) *ops.Tensor { return ops.Cumprod(x, 0) },
	"running product from the end":     func(x *ops.Tensor) *ops.Tensor { return ops.Flip(ops.Cumprod(ops.Flip(x, 1), 1), 1) },
	"running extremes":                 func(x *ops.Tensor) *ops.Tensor { return ops.Subtract(ops.Cummax(x, 2), ops.Cummin(x, 1)) },
	"running product of the last axis": func(x *ops.Tensor) *ops.Tensor { return ops.Cumprod(x, -1) },
	"tril":                             func(x *ops.Tensor) *ops.Tensor { return ops.Tril(x, 1) },
	"positions":                        func(x *ops.Tensor) *ops.Tensor { return ops.Add(x, ops.Iota(x, x.DType(), 0, x.Shape()...)) },
	"batch mean":                       func(x *ops.Tensor) *ops.Tensor { return ops.Subtract(x, ops.Mean(x, 0)) },
	"flat":                             func(x *ops.Tensor) *ops.Tensor { return ops.Softmax(ops.Reshape(x, -1, 5), -1) },
	"einsum":                           func(x *ops.Tensor) *ops.Tensor { return ops.Einsum("bij,bkj->bik", x, x) },
	"einsum outer":                     func(x *ops.Tensor) *ops.Tensor { return ops.Einsum("bij,bil->bijl", x, x) },
	"median":                           func(x *ops.Tensor) *ops.Tensor { return ops.Median(x, 2) },
	"while":                            while,
	"cond":                             condition,
	"scan":                             scan,
	"loop":                             loop,
	"slice update": func(x *ops.Tensor) *ops.Tensor {
		zero, one := ops.Scalar(ops.Zeros(x, ir.Int32), 0), ops.Scalar(ops.Zeros(x, ir.Int32), 9)
		piece := ops.DynamicSlice(x, []*ops.Tensor{zero, one, zero}, x.Dim(0), 2, 3)
		return ops.SliceUpdate(x, []*ops.Tensor{zero, zero, one}, piece)
	},
	"bits": func(x *ops.Tensor) *ops.Tensor {
		i := ops.Cast(ops.MultiplyScalar(x, 10), ir.Int32)
		return ops.Cast(ops.BitwiseXor(ops.BitwiseAnd(i, ops.BitwiseNot(ops.Flip(i, 1))), ops.BitwiseOr(i, ops.Flip(i, 2))), x.DType())
	},
}

// segmentsOf gives each example a number from -1 to 3.
func segmentsOf(x *ops.Tensor) *ops.Tensor {
	return ops.AddScalar(ops.Argmax(ops.Index(x, 1, 0), 1), -1)
}

func logic(x *ops.Tensor) *ops.Tensor {
	positive, large := ops.CompareScalar(ir.Gt, x, 0), ops.CompareScalar(ir.Ge, ops.Abs(x), 1)
	mixed := ops.Where(positive, large, ops.LogicalNot(large))
	mixed = ops.LogicalXor(mixed, ops.NotEqual(x, ops.Flip(x, 1)))
	some := ops.ExpandDims(ops.Any(mixed, 2), 2)
	every := ops.ExpandDims(ops.All(ops.Isfinite(x), 1), 1)
	return ops.Where(ops.LogicalAnd(some, every), x, ops.Negative(x))
}

// while doubles until the sum of the absolute values is large.
func while(x *ops.Tensor) *ops.Tensor {
	small := func(s []*ops.Tensor) *ops.Tensor { return ops.CompareScalar(ir.Lt, ops.Sum(ops.Abs(s[0])), 1000) }
	return ops.WhileLoop(small, func(s []*ops.Tensor) []*ops.Tensor {
		return []*ops.Tensor{ops.Add(s[0], ops.Multiply(s[0], ops.Abs(ops.Sign(x))))}
	}, x)[0]
}

func condition(x *ops.Tensor) *ops.Tensor {
	negative := ops.CompareScalar(ir.Lt, ops.Sum(x), 0)
	return ops.Cond(negative, func() []*ops.Tensor { return []*ops.Tensor{ops.Exp(x)} }, func() []*ops.Tensor { return []*ops.Tensor{ops.Zeros(x, x.DType(), x.Shape()...)} })[0]
}

// scan adds along axis 1, from the end.
func scan(x *ops.Tensor) *ops.Tensor {
	xs := ops.Transpose(x, 1, 0, 2)
	weight := ops.Mean(x, 0, 1)
	_, ys := ops.Scan(func(carry, xs []*ops.Tensor) (next, ys []*ops.Tensor) {
		sum := ops.Add(ops.MultiplyScalar(carry[0], 0.5), ops.Multiply(xs[0], weight))
		return []*ops.Tensor{sum}, []*ops.Tensor{sum}
	}, []*ops.Tensor{ops.Zeros(x, x.DType(), x.Dim(0), 5)}, []*ops.Tensor{xs}, ops.ScanOptions{Reverse: true})
	return ops.Transpose(ys[0], 1, 0, 2)
}

// loop runs without stacked inputs.
func loop(x *ops.Tensor) *ops.Tensor {
	return ops.ForiLoop(0, 3, func(i *ops.Tensor, s []*ops.Tensor) []*ops.Tensor {
		return []*ops.Tensor{ops.Add(ops.MultiplyScalar(s[0], 0.5), ops.Cast(i, x.DType()))}
	}, x)[0]
}
