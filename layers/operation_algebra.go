package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
)

func init() {
	define("numpy", "Tensordot", "tensordot(x1, x2, *axes=2)", oneResult(func(a *operands) *ops.Tensor {
		x, y := a.pair("x1", "x2")
		return inPromoted(func(_, _ *ops.Tensor) *ops.Tensor { return tensordot(a) })(x, y)
	}))
	define("numpy", "Cross", "cross(x1, x2, *axisa=-1, *axisb=-1, *axisc=-1, *axis=null)", oneResult(func(a *operands) *ops.Tensor {
		a.refuse("axisa", int64(-1))
		a.refuse("axisb", int64(-1))
		a.refuse("axisc", int64(-1))
		a.refuse("axis", nil, int64(-1))
		return ops.Cross(a.pair("x1", "x2"))
	}))
	define("numpy", "Einsum", "einsum(*subscripts, ...operands)", oneResult(func(a *operands) *ops.Tensor {
		return einsum(a.text("subscripts"), a.asTensors("operands", a.rest)...)
	}))
	define("math", "CDist", "cdist(x, y)", oneResult(func(a *operands) *ops.Tensor { return amongFloats(ops.Cdist)(a.pair("x", "y")) }))
}

func tensordot(a *operands) *ops.Tensor {
	x, y := a.pair("x1", "x2")
	if pairs, ok := a.values["axes"].([]any); ok {
		if len(pairs) != 2 {
			a.fail("axes", "a number or two lists of axes")
		}
		list := func(v any) []int {
			return (&operands{graph: a.graph, values: map[string]any{"axes": v}}).integers("axes")
		}
		return ops.Tensordot(x, y, list(pairs[0]), list(pairs[1]))
	}
	n := a.integer("axes")
	if n < 0 || n > x.Rank() || n > y.Rank() {
		ops.Failf(a.graph, "tensordot: cannot sum over %d axes of %v and %v", n, x.Shape(), y.Shape())
	}
	var left, right []int
	for i := range n {
		left, right = append(left, x.Rank()-n+i), append(right, i)
	}
	return ops.Tensordot(x, y, left, right)
}

func init() {
	onMatrix := func(class, name string, f func(x *ops.Tensor) []*ops.Tensor) {
		define("linalg", class, name+"(x)", func(a *operands) []*ops.Tensor { return f(a.tensor("x")) })
	}
	onMatrix("Det", "det", func(x *ops.Tensor) []*ops.Tensor { return []*ops.Tensor{ops.Det(x)} })
	onMatrix("Inv", "inv", func(x *ops.Tensor) []*ops.Tensor { return []*ops.Tensor{ops.Inv(x)} })
	slogdet := func(x *ops.Tensor) []*ops.Tensor {
		sign, logarithm := ops.Slogdet(x)
		return []*ops.Tensor{sign, logarithm}
	}
	define("numpy", "Slogdet", "slogdet(x)", func(a *operands) []*ops.Tensor { return slogdet(a.tensor("x")) })
	define("math", "Logdet", "logdet(x)", unaryOf(ops.Logdet))
	define("linalg", "Cholesky", "cholesky(x, *upper=false)", oneResult(func(a *operands) *ops.Tensor { return ops.Cholesky(a.tensor("x"), a.boolean("upper")) }))
	define("linalg", "CholeskyInverse", "cholesky_inverse(x, *upper=false)", oneResult(func(a *operands) *ops.Tensor {
		return ops.CholeskyInverse(a.tensor("x"), a.boolean("upper"))
	}))
	define("linalg", "Solve", "solve(a, b)", oneResult(func(a *operands) *ops.Tensor { return ops.Solve(a.tensor("a"), a.tensor("b")) }))
	define("linalg", "SolveTriangular", "solve_triangular(a, b, *lower=false)", oneResult(func(a *operands) *ops.Tensor {
		return ops.SolveTriangular(a.tensor("a"), a.tensor("b"), a.boolean("lower"))
	}))
	define("linalg", "Qr", `qr(x, *mode="reduced")`, func(a *operands) []*ops.Tensor {
		a.refuse("mode", "reduced", "complete")
		q, r := ops.Qr(a.tensor("x"), a.text("mode") == "complete")
		return []*ops.Tensor{q, r}
	})
	define("linalg", "Norm", "norm(x, *ord=null, *axis=null, *keepdims=false)", oneResult(norm))
	define("numpy", "Linspace", "linspace(start, stop, *num=50, *endpoint=true, *retstep=false, *dtype=null, *axis=0)", oneResult(func(a *operands) *ops.Tensor {
		a.refuse("retstep", false, nil)
		a.bounded("num", a.integer("num"), maxTable)
		start, stop := a.pair("start", "stop")
		y := ops.LinspaceOf(likeFloat(start, stop), likeFloat(stop, start), a.integer("num"), a.boolean("endpoint"))
		return ops.MoveAxis(ops.Cast(y, a.dtype("dtype", y.DType())), 0, a.integer("axis"))
	}))
}

// norm computes a norm of vectors. It is a norm of matrices if axis names two axes, or if axis is not given, ord is,
// and x has two axes.
func norm(a *operands) *ops.Tensor {
	x := a.tensor("x")
	return a.reduceAxes(x, func(x *ops.Tensor, axes ...int) *ops.Tensor {
		order, numeric := 2.0, true
		switch a.values["ord"].(type) {
		case nil, string:
			a.refuse("ord", nil, "fro", "nuc")
			numeric = false
			if a.values["ord"] == "nuc" {
				if len(axes) != 2 {
					ops.Failf(a.graph, "norm: the order nuc needs two axes, received %v", axes)
				}
				return ops.NuclearNorm(x, axes[0], axes[1])
			}
		default:
			order = a.number("ord")
		}
		switch {
		case !numeric:
			return ops.VectorNorm(x, 2, axes...)
		case len(axes) == 1:
			return ops.VectorNorm(x, order, axes...)
		case len(axes) == 2:
			return ops.MatrixNorm(x, order, axes[0], axes[1])
		}
		ops.Failf(a.graph, "norm: order %v needs one axis or two, received %v", order, axes)
		return nil
	})
}
