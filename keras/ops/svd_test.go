package ops_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
)

func init() {
	// Results that do not depend on the signs of the vectors.
	factors := func(full bool) func(_ *ops.Graph, in tensors) tensors {
		return func(_ *ops.Graph, in tensors) tensors {
			u, s, vh := ops.Svd(in[0], full)
			k := s.Dim(-1)
			u, vh = ops.SliceAxis(u, -1, 0, k), ops.SliceAxis(vh, -2, 0, k)
			return tensors{ops.Square(u), s, ops.Square(vh), ops.Matmul(u, vh)}
		}
	}
	for _, shape := range [][]int{{4, 4}, {5, 3}, {2, 4}, {2, 3, 2}} {
		addCase(fmt.Sprint("svd ", shape), len(shape) == 2 && shape[0] == 5, factors(false), opstest.Normal(21, shape...))
	}
	addCase("svd full", false, factors(true), opstest.Normal(22, 4, 2))
	addCase("singular values", false, unary(ops.SingularValues), opstest.Normal(23, 3, 4))
	addCase("norm 2", false, unary(func(x *ops.Tensor) *ops.Tensor { return ops.MatrixNorm(x, 2, 2, 0) }), opstest.Normal(24, 3, 2, 4))
	addCase("norm -2", false, unary(func(x *ops.Tensor) *ops.Tensor { return ops.MatrixNorm(x, -2, 0, 1) }), opstest.Normal(25, 3, 4))
	addCase("norm nuc", false, unary(func(x *ops.Tensor) *ops.Tensor { return ops.NuclearNorm(x, 0, 1) }), opstest.Normal(26, 3, 4))
	addCase("eigh", true, func(_ *ops.Graph, in tensors) tensors {
		w, v := ops.Eigh(in[0])
		return tensors{w, ops.Square(v)}
	}, opstest.Normal(27, 4, 4))
	addCase("eigh stack", false, func(_ *ops.Graph, in tensors) tensors {
		w, v := ops.Eigh(in[0])
		return tensors{w, ops.Square(v)}
	}, opstest.Normal(28, 2, 3, 3))
	for _, shape := range [][]int{{4, 4}, {5, 3}, {2, 2, 4}} {
		addCase(fmt.Sprint("pinv ", shape), false, unary(func(x *ops.Tensor) *ops.Tensor { return ops.Pinv(x, nil) }), opstest.Normal(29, shape...))
	}
	addCase("lstsq", false, binary(func(a, b *ops.Tensor) *ops.Tensor { return ops.Lstsq(a, b, nil) }), opstest.Normal(30, 5, 3), opstest.Normal(31, 5, 2))
	addCase("lstsq vector", false, binary(func(a, b *ops.Tensor) *ops.Tensor { return ops.Lstsq(a, b, nil) }), opstest.Normal(32, 3, 4), opstest.Normal(33, 3))
	for i, s := range [][3]int{{12, 3, 2}, {5, 4, 2}, {4, 4, 4}, {3, 5, 2}, {20, 2, 9}} {
		m, n, k, seed := s[0], s[1], s[2], 300+2*i
		addCase(fmt.Sprint("lstsq ", s), i == 0, binary(func(a, b *ops.Tensor) *ops.Tensor { return ops.Lstsq(a, b, nil) }), opstest.Normal(seed, m, n), opstest.Normal(seed+1, m, k))
	}
	for _, shape := range [][]int{{4, 4}, {2, 4, 3}, {2, 3, 5}, {2, 2, 3, 3}, {1, 1}, {5, 1}} {
		addCase(fmt.Sprint("lu factor ", shape), len(shape) == 2, unary(func(x *ops.Tensor) *ops.Tensor { lu, _ := ops.LuFactor(x); return lu }), opstest.Normal(34, shape...))
	}
}

// gram is the product of a's transpose and a.
func gram(a *ops.Tensor) *ops.Tensor { return ops.Matmul(ops.SwapAxes(a, -1, -2), a) }

// TestSvdFactors checks for matrices of many shapes and ranks that factors are orthonormal and ordered, and that their
// product is the matrix.
func TestSvdFactors(t *testing.T) {
	for _, shape := range [][2]int{{1, 1}, {2, 2}, {3, 3}, {7, 7}, {16, 16}, {33, 20}, {5, 31}, {1, 4}, {6, 1}} {
		for _, kind := range []string{"normal", "graded", "rank 2", "zero", "equal"} {
			m, n := shape[0], shape[1]
			x := opstest.Normal(m*100+n, m, n)
			left, right := opstest.Normal(1, m, 2), opstest.Normal(2, 2, n)
			for i := range m {
				for j := range n {
					at := &x.F[i*n+j]
					switch kind {
					case "graded":
						*at *= math.Pow(10, float64(-i%7))
					case "rank 2":
						*at = left.F[i*2]*right.F[j] + left.F[i*2+1]*right.F[n+j]
					case "zero":
						*at = 0
					case "equal":
						*at = map[bool]float64{true: 3, false: 0}[i == n-1-j]
					}
				}
			}
			for _, full := range []bool{false, true} {
				t.Run(fmt.Sprint(m, "x", n, " ", kind, " full ", full), func(t *testing.T) {
					k := min(m, n)
					got := opstest.Eval(t, func(g *ops.Graph, in tensors) tensors {
						u, s, vh := ops.Svd(in[0], full)
						product := ops.Matmul(ops.Multiply(ops.SliceAxis(u, -1, 0, k), s), ops.SliceAxis(vh, -2, 0, k))
						return tensors{product, gram(u), gram(ops.Transpose(vh)), s}
					}, x)
					scale := 0.0
					for _, v := range x.F {
						scale = max(scale, math.Abs(v))
					}
					opstest.Near(t, "product", got[0], x, 0, 1e-13*scale*float64(m+n))
					wide, tall := k, k
					if full {
						wide, tall = m, n
					}
					opstest.Near(t, "uᵀu", got[1], identity(wide), 0, 1e-12)
					opstest.Near(t, "vᵀv", got[2], identity(tall), 0, 1e-12)
					for i, s := range got[3].F {
						assert.True(t, s >= 0 && (i == 0 || s <= got[3].F[i-1]), "singular values %v", got[3].F)
					}
				})
			}
		}
	}
}

func identity(n int) opstest.Array {
	a := opstest.Floats([]int{n, n}, make([]float64, n*n)...)
	for i := range n {
		a.F[i*n+i] = 1
	}
	return a
}

func TestEighFactors(t *testing.T) {
	for _, n := range []int{1, 2, 3, 6, 17, 32} {
		for _, kind := range []string{"normal", "zero", "identity"} {
			x := opstest.Normal(n, n, n)
			for i := range x.F {
				switch {
				case kind == "zero" || kind == "identity" && i%(n+1) > 0:
					x.F[i] = 0
				case kind == "identity":
					x.F[i] = 1
				}
			}
			got := opstest.Eval(t, func(_ *ops.Graph, in tensors) tensors {
				a := ops.MultiplyScalar(ops.Add(in[0], ops.Transpose(in[0])), 0.5)
				w, v := ops.Eigh(in[0])
				return tensors{ops.Matmul(ops.Multiply(v, w), ops.Transpose(v)), a, gram(v), w}
			}, x)
			opstest.Near(t, "product", got[0], got[1], 0, 1e-13*float64(n+1))
			opstest.Near(t, "vᵀv", got[2], identity(n), 0, 1e-12)
			for i, w := range got[3].F {
				assert.True(t, i == 0 || w >= got[3].F[i-1], "eigenvalues %v", got[3].F)
			}
		}
	}
}

// TestLuFactor: the rows in pivot order are the product of the triangles.
func TestLuFactor(t *testing.T) {
	for _, shape := range [][2]int{{1, 1}, {4, 4}, {6, 3}, {3, 5}, {9, 9}} {
		m, n := shape[0], shape[1]
		x := opstest.Normal(m*10+n, m, n)
		k := min(m, n)
		got := opstest.Eval(t, func(g *ops.Graph, in tensors) tensors {
			lu, p := ops.LuFactor(in[0])
			l := ops.Add(ops.Tril(ops.SliceAxis(lu, -1, 0, k), -1), ops.SliceAxis(ops.Identity(g, ir.Float64, m), -1, 0, k))
			return tensors{ops.Matmul(l, ops.Triu(ops.SliceAxis(lu, -2, 0, k), 0)), p, lu}
		}, x)
		want := append([]float64{}, x.F...)
		for i, p := range got[1].F {
			for j := range n {
				want[i*n+j], want[int(p)*n+j] = want[int(p)*n+j], want[i*n+j]
			}
		}
		opstest.Near(t, "product", got[0], opstest.Floats([]int{m, n}, want...), 0, 1e-13*float64(m+n))
	}
	singular := opstest.Eval(t, unary(func(x *ops.Tensor) *ops.Tensor { lu, _ := ops.LuFactor(x); return lu }), opstest.Floats([]int{2, 2}, 0, 1, 0, 2))
	require.Equal(t, []float64{0, 1, 0, 2}, singular[0].F)
}

// TestSvdOnNumbersThatAreNone: with NaN or infinities it terminates, and its results show them.
func TestSvdOnNumbersThatAreNone(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		got := opstest.Eval(t, unary(ops.SingularValues), opstest.Floats([]int{2, 2}, 1, bad, 0, 1))
		assert.True(t, math.IsNaN(got[0].F[0]) || math.IsInf(got[0].F[0], 0), "%v", got[0].F)
	}
	empty := opstest.Eval(t, func(_ *ops.Graph, in tensors) tensors {
		u, s, vh := ops.Svd(in[0], true)
		return tensors{u, s, vh, ops.MatrixRank(in[0], nil)}
	}, opstest.Floats([]int{2, 3, 0}))
	assert.Equal(t, []int{2, 3, 3}, empty[0].Shape)
	assert.Equal(t, []int{2, 0}, empty[1].Shape)
	assert.Equal(t, []int{2, 0, 0}, empty[2].Shape)
	assert.Equal(t, []float64{0, 0}, empty[3].F)
}

func TestSvdErrors(t *testing.T) {
	x := opstest.Normal(1, 3)
	for want, f := range map[string]func(x *ops.Tensor) *ops.Tensor{
		"svd: needs matrices":         ops.SingularValues,
		"eigh: needs matrices":        func(x *ops.Tensor) *ops.Tensor { w, _ := ops.Eigh(x); return w },
		"pinv: needs matrices":        func(x *ops.Tensor) *ops.Tensor { return ops.Pinv(x, nil) },
		"matrix rank: needs matrices": func(x *ops.Tensor) *ops.Tensor { return ops.MatrixRank(x, nil) },
		"lstsq: needs a matrix":       func(x *ops.Tensor) *ops.Tensor { return ops.Lstsq(x, x, nil) },
		"lu factor: needs matrices":   func(x *ops.Tensor) *ops.Tensor { lu, _ := ops.LuFactor(x); return lu },
	} {
		assert.ErrorContains(t, opstest.EvalError(unary(f), x), want)
	}
}
