package ops_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// ofSlices are functions of two slices [4 3] and of two captured tensors, [4 3] and [3 2]. Those in byLoop cannot be
// widened.
var ofSlices = map[string]func(x, y, c, m *ops.Tensor) *ops.Tensor{
	"sum":           func(x, y, c, m *ops.Tensor) *ops.Tensor { return ops.Sum(x) },
	"norm of rows":  func(x, y, c, m *ops.Tensor) *ops.Tensor { return ops.Sqrt(ops.Sum(ops.Square(x), -1)) },
	"of one column": func(x, y, c, m *ops.Tensor) *ops.Tensor { return ops.Max(ops.Multiply(x, y), 0) },
	"captured": func(x, y, c, m *ops.Tensor) *ops.Tensor {
		return ops.Add(ops.Multiply(x, c), ops.Where(ops.Greater(c, y), x, c))
	},
	"captured alone":    func(x, y, c, m *ops.Tensor) *ops.Tensor { return ops.Exp(c) },
	"constant":          func(x, y, c, m *ops.Tensor) *ops.Tensor { return ops.OnesLike(c) },
	"a slice":           func(x, y, c, m *ops.Tensor) *ops.Tensor { return y },
	"left product":      func(x, y, c, m *ops.Tensor) *ops.Tensor { return ops.Matmul(x, m) },
	"right product":     func(x, y, c, m *ops.Tensor) *ops.Tensor { return ops.Matmul(ops.Transpose(m), ops.Transpose(y)) },
	"product":           func(x, y, c, m *ops.Tensor) *ops.Tensor { return ops.Matmul(ops.Transpose(x), y) },
	"products in batch": func(x, y, c, m *ops.Tensor) *ops.Tensor { return ops.Einsum("ij,ij->i", c, y) },
	"batch of products": func(x, y, c, m *ops.Tensor) *ops.Tensor {
		return ops.Einsum("ijk,il->ijl", ops.Reshape(x, 4, 1, 3), ops.Matmul(c, m))
	},
	"outer":   func(x, y, c, m *ops.Tensor) *ops.Tensor { return ops.Einsum("ij,kl->ikjl", m, x) },
	"reshape": func(x, y, c, m *ops.Tensor) *ops.Tensor { return ops.Transpose(ops.Reshape(x, 2, 6)) },
	"pad and slice": func(x, y, c, m *ops.Tensor) *ops.Tensor {
		return ops.Diff(ops.Pad(x, []int{1, 0}, []int{2, 1}, 0.5), 1, 0)
	},
	"flip and concat":  func(x, y, c, m *ops.Tensor) *ops.Tensor { return ops.Concatenate(1, ops.Flip(x, 0), c, y) },
	"softmax":          func(x, y, c, m *ops.Tensor) *ops.Tensor { return ops.Softmax(x, 0) },
	"log softmax":      func(x, y, c, m *ops.Tensor) *ops.Tensor { return ops.LogSoftmax(ops.Add(x, c), -1) },
	"cumsum":           func(x, y, c, m *ops.Tensor) *ops.Tensor { return ops.Cumsum(x, 0) },
	"sort":             func(x, y, c, m *ops.Tensor) *ops.Tensor { return ops.Sort(x, 0) },
	"top k":            func(x, y, c, m *ops.Tensor) *ops.Tensor { values, _ := ops.TopK(y, 2); return values },
	"take":             func(x, y, c, m *ops.Tensor) *ops.Tensor { return ops.Take(x, ops.Argmax(c, 0), 0) },
	"take of captured": func(x, y, c, m *ops.Tensor) *ops.Tensor { return ops.Take(c, ops.Argmax(x, 0), 0) },
	"take of a slice":  func(x, y, c, m *ops.Tensor) *ops.Tensor { return ops.Take(y, ops.Argmax(x, 0), 0) },
	"random numbers": func(x, y, c, m *ops.Tensor) *ops.Tensor {
		return ops.Add(x, ops.RandomUniform(x, ir.Float64, 0, 1, 7, 4, 3))
	},
	"dropout":          func(x, y, c, m *ops.Tensor) *ops.Tensor { return ops.Dropout(x, 0.5, 7) },
	"dropped constant": func(x, y, c, m *ops.Tensor) *ops.Tensor { return ops.Multiply(x, ops.Dropout(ops.OnesLike(x), 0.5, 7)) },
	"scan": func(x, y, c, m *ops.Tensor) *ops.Tensor {
		return ops.Map(func(r []*ops.Tensor) []*ops.Tensor { return list(ops.Exp(r[0])) }, x)[0]
	},
	"gradient": func(x, y, c, m *ops.Tensor) *ops.Tensor {
		return ops.Grad(ops.Sum(ops.Tanh(ops.Matmul(x, m))), x)[0]
	},
}

var byLoop = map[string]bool{"take of a slice": true, "scan": true, "dropout": true}

// TestVectorizedMap compares the results and gradients of functions of all slices with those of the loop.
func TestVectorizedMap(t *testing.T) {
	for name, f := range ofSlices {
		run := func(each func(func([]*ops.Tensor) []*ops.Tensor, ...*ops.Tensor) []*ops.Tensor) opstest.Func {
			return func(g *ops.Graph, x tensors) tensors {
				out := each(func(s []*ops.Tensor) []*ops.Tensor { return list(f(s[0], s[1], x[2], x[3])) }, x[0], x[1])[0]
				results := tensors{out}
				for i, d := range ops.Grad(ops.Sum(ops.Square(out)), x...) {
					if d == nil { // the result does not depend on it
						d = ops.ZerosLike(x[i])
					}
					results = append(results, d)
				}
				return results
			}
		}
		in := []opstest.Array{opstest.Random(1, -2, 2, 5, 4, 3), opstest.Random(2, -2, 2, 5, 4, 3), opstest.Random(3, -2, 2, 4, 3), opstest.Random(4, -2, 2, 3, 2)}
		got, want := opstest.Eval(t, run(ops.VectorizedMap), in...), opstest.Eval(t, run(ops.Map), in...)
		for i := range want {
			opstest.Near(t, fmt.Sprint(name, " ", i), got[i], want[i], 1e-12, 1e-12)
		}
		p, err := opstest.Trace(run(ops.VectorizedMap), types(in)...)
		require.NoError(t, err)
		loops := 0
		for i := range p.Nodes {
			if p.Nodes[i].Op == ir.Scan {
				loops++
			}
		}
		require.Equal(t, byLoop[name], loops > 0, name)
	}
}

// squares are steps of random functions, which keep the shape of a square matrix.
var squares = []func(x, y *ops.Tensor) *ops.Tensor{
	func(x, y *ops.Tensor) *ops.Tensor { return ops.Matmul(x, y) },
	func(x, y *ops.Tensor) *ops.Tensor { return ops.Einsum("ij,kj->ki", x, y) },
	func(x, y *ops.Tensor) *ops.Tensor { return ops.Multiply(x, ops.KeepDims(ops.Sum(y, 0), y, 0)) },
	func(x, y *ops.Tensor) *ops.Tensor { return ops.Transpose(ops.Softmax(ops.Add(x, y), -1)) },
	func(x, y *ops.Tensor) *ops.Tensor {
		return ops.Reshape(ops.Concatenate(0, ops.SliceAxis(x, 0, 0, 1), ops.SliceAxis(y, 0, 1, 3)), 3, 3)
	},
	func(x, y *ops.Tensor) *ops.Tensor {
		return ops.Where(ops.Greater(x, y), ops.Cumsum(x, 1), ops.Flip(y, 0))
	},
	func(x, y *ops.Tensor) *ops.Tensor {
		return ops.Pad(ops.SliceAxis(ops.Tanh(x), 1, 1, 3), []int{0, 1}, []int{0, 0}, 0.25)
	},
	func(x, y *ops.Tensor) *ops.Tensor { return ops.Sort(ops.Subtract(y, x), 1) },
	func(x, y *ops.Tensor) *ops.Tensor { return ops.Take(x, ops.Argmin(y, 0), 1) },
}

// TestVectorizedMapOfRandomFunctions draws functions of slices and of captured tensors.
func TestVectorizedMapOfRandomFunctions(t *testing.T) {
	for seed := range uint64(200) {
		run := func(each func(func([]*ops.Tensor) []*ops.Tensor, ...*ops.Tensor) []*ops.Tensor) opstest.Func {
			r := rand.New(rand.NewPCG(seed, 1129))
			return func(g *ops.Graph, x tensors) tensors {
				return each(func(s []*ops.Tensor) []*ops.Tensor {
					known := append(slices.Clone(s), x[2])
					for range 1 + r.IntN(5) {
						known = append(known, squares[r.IntN(len(squares))](known[r.IntN(len(known))], known[r.IntN(len(known))]))
					}
					return known[3:]
				}, x[0], x[1])
			}
		}
		in := []opstest.Array{opstest.Random(1, -2, 2, 4, 3, 3), opstest.Random(2, -2, 2, 4, 3, 3), opstest.Random(3, -2, 2, 3, 3)}
		got, want := opstest.Eval(t, run(ops.VectorizedMap), in...), opstest.Eval(t, run(ops.Map), in...)
		for i := range want {
			opstest.Near(t, fmt.Sprint(seed, " ", i), got[i], want[i], 1e-9, 1e-9)
		}
	}
}

// TestVectorizedMapOfMaps widens nested maps, with several results, and with zero or an unknown number of slices.
func TestVectorizedMapOfMaps(t *testing.T) {
	both := func(g *ops.Graph, x tensors) tensors {
		return ops.VectorizedMap(func(s []*ops.Tensor) []*ops.Tensor {
			rows := ops.VectorizedMap(func(r []*ops.Tensor) []*ops.Tensor { return list(ops.Sum(ops.Multiply(r[0], s[0]))) }, s[0])
			return list(rows[0], ops.Max(s[0]))
		}, x[0])
	}
	got := opstest.Eval(t, both, opstest.Floats([]int{2, 2, 2}, 1, 2, 3, 4, 5, 6, 7, 8))
	opstest.Near(t, "sums", got[0], opstest.Floats([]int{2, 2}, 1+4+3+8, 3+8+9+16, 25+36+35+48, 35+48+49+64), 0, 0)
	opstest.Near(t, "maxima", got[1], opstest.Floats([]int{2}, 4, 8), 0, 0)
	got = opstest.Eval(t, both, opstest.Floats([]int{0, 2, 2}))
	require.Equal(t, []int{0, 2}, got[0].Shape)
	open := dim.Symbol("n")
	p, err := opstest.Trace(both, ir.Type{DType: ir.Float32, Shape: ir.Shape{open, 2, 2}})
	require.NoError(t, err)
	require.Equal(t, ir.Shape{open, 2}, p.Type(p.Outputs[0].Value).Shape)
}

// TestVectorizedMapKeepsGradients runs functions with a custom gradient slice by slice, which preserves it.
func TestVectorizedMapKeepsGradients(t *testing.T) {
	stopped := func(g *ops.Graph, x tensors) tensors {
		y := ops.VectorizedMap(func(s []*ops.Tensor) []*ops.Tensor { return list(ops.Multiply(s[0], ops.StopGradient(s[0]))) }, x[0])[0]
		return list(ops.Grad(ops.Sum(y), x[0])[0])
	}
	custom := func(g *ops.Graph, x tensors) tensors {
		y := ops.VectorizedMap(func(s []*ops.Tensor) []*ops.Tensor {
			return ops.CustomGradient(func(xs ...*ops.Tensor) ([]*ops.Tensor, func([]*ops.Tensor) []*ops.Tensor) {
				return xs, func(dys []*ops.Tensor) []*ops.Tensor { return list(ops.Multiply(dys[0], xs[0])) }
			}, s...)
		}, x[0])[0]
		return list(ops.Grad(ops.Sum(y), x[0])[0])
	}
	x := opstest.Floats([]int{2, 2}, 1, 2, 3, 4)
	opstest.Near(t, "custom", opstest.Eval(t, custom, x)[0], x, 0, 0)
	opstest.Near(t, "half of the gradient", opstest.Eval(t, stopped, x)[0], x, 0, 0)
	require.ErrorContains(t, opstest.EvalError(func(g *ops.Graph, x tensors) tensors { return ops.VectorizedMap(nil, x[0]) }, x), "the function is nil")
	require.ErrorContains(t, opstest.EvalError(func(g *ops.Graph, x tensors) tensors {
		return ops.VectorizedMap(func(s []*ops.Tensor) []*ops.Tensor { return s }, ops.Sum(x[0]))
	}, x), "vectorized_map: stacked tensor 0 has shape []")
}

func types(arrays []opstest.Array) (out []ir.Type) {
	for _, a := range arrays {
		out = append(out, a.Type())
	}
	return out
}
