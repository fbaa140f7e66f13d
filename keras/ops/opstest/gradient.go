package opstest

import (
	"math"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// CheckGradients compares the gradients that package ops derives for fn with central differences in float64,
//
//	(f(x+h) - f(x-h)) / 2h with h = 6e-6 · max(1, |x|) and f = Σ w·y over all results, w being fixed numbers of order 1,
//
// for each element of each float input, which should be of type float64. The differences of a smooth function are good
// to about 1e-10 times its size; a gradient passes within 1e-6 times the difference's size, at least 1e-6, and never
// where one of both is not finite. Integer inputs and results take no part.
func CheckGradients(t T, fn Func, inputs ...Array) {
	t.Helper()
	check(t, fn, 1e-6, inputs)
}

// CheckSecondGradients is CheckGradients for the gradients of fn themselves: the gradient of Σ v·(d fn/dx), v being
// fixed numbers.
func CheckSecondGradients(t T, fn Func, inputs ...Array) {
	t.Helper()
	check(t, gradientOf(fn), 1e-5, inputs)
}

// gradientOf returns the function from the inputs of fn to its gradients.
func gradientOf(fn Func) Func {
	return func(g *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
		var floats []*ops.Tensor
		for _, x := range in {
			if x.DType().IsFloat() {
				floats = append(floats, x)
			}
		}
		grads := ops.VJP([]*ops.Tensor{weightedSum(g, fn(g, in), 3)}, []*ops.Tensor{ops.Ones(g, ir.Float64)}, floats...)
		for i, grad := range grads {
			if grad == nil {
				grads[i] = ops.ZerosLike(floats[i])
			}
		}
		return grads
	}
}

// weightedSum is Σ w·y over the float results.
func weightedSum(g *ops.Graph, ys []*ops.Tensor, seed int) *ops.Tensor {
	total := ops.Zeros(g, ir.Float64)
	for i, y := range ys {
		if !y.DType().IsFloat() {
			continue
		}
		w := Random(seed+i, 0.5, 1.5, y.Shape()...)
		weights := ops.Constant(g, ir.Float64, y.Shape(), w.F)
		total = ops.Add(total, ops.Sum(ops.Multiply(ops.Cast(y, ir.Float64), weights)))
	}
	return total
}

func check(t T, fn Func, tolerance float64, inputs []Array) {
	t.Helper()
	target := func(g *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
		return []*ops.Tensor{weightedSum(g, fn(g, in), 17)}
	}
	var which []int
	for i, a := range inputs {
		if a.DType.IsFloat() {
			which = append(which, i)
		}
	}
	derived := Eval(t, func(g *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
		var sources []*ops.Tensor
		for _, i := range which {
			sources = append(sources, in[i])
		}
		grads := ops.Grad(target(g, in)[0], sources...)
		for j, grad := range grads {
			if grad == nil {
				grads[j] = ops.ZerosLike(sources[j])
			}
		}
		return grads
	}, inputs...)
	p := mustTrace(t, target, inputs)
	for j, i := range which {
		for k := range inputs[i].F {
			want := difference(t, p, inputs, i, k)
			got := derived[j].F[k]
			if diff := math.Abs(got - want); !(diff <= tolerance*max(1, math.Abs(want))) || math.IsInf(diff, 1) {
				t.Errorf("gradient of input %d, element %d (x = %v): derived %v, central difference %v", i, k, inputs[i].F[k], got, want)
				return
			}
		}
	}
}

// difference is the central difference of the scalar that p computes in element k of input i.
func difference(t T, p *ir.Program, inputs []Array, i, k int) float64 {
	t.Helper()
	x := inputs[i].F[k]
	h := 6e-6 * max(1, math.Abs(x))
	at := func(v float64) float64 {
		moved := append([]Array{}, inputs...)
		moved[i].F = append([]float64{}, inputs[i].F...)
		moved[i].F[k] = v
		return run(t, p, moved)[0].F[0]
	}
	return (at(x+h) - at(x-h)) / ((x + h) - (x - h))
}
