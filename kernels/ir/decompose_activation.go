package ir

import "math"

func init() {
	decompositions[Relu] = func(b *builder, n *Node) []Value {
		return []Value{b.op(Maximum, nil, n.Inputs[0], b.like(n.Inputs[0], 0))}
	}
	decompositions[Gelu] = func(b *builder, n *Node) []Value { return []Value{b.mul(n.Inputs[0], b.normal(n.Inputs[0]))} }
	decompositions[GeluGrad] = func(b *builder, n *Node) []Value {
		x := n.Inputs[0]
		density := b.scale(b.op(Exp, nil, b.scale(b.mul(x, x), -0.5)), 1/math.Sqrt(2*math.Pi))
		return []Value{b.mul(n.Inputs[1], b.add(b.normal(x), b.mul(x, density)))}
	}
}

// activations are the functions that a recurrent cell may name, with Keras's formulas. The argument of a branch that is
// not taken is clipped to the range of the branch, so that gradients stay finite.
var activations = map[string]func(b *builder, x Value) Value{
	"linear":      func(_ *builder, x Value) Value { return x },
	"relu":        func(b *builder, x Value) Value { return b.op(Maximum, nil, x, b.like(x, 0)) },
	"sigmoid":     func(b *builder, x Value) Value { return b.op(Sigmoid, nil, x) },
	"tanh":        func(b *builder, x Value) Value { return b.op(Tanh, nil, x) },
	"exponential": func(b *builder, x Value) Value { return b.op(Exp, nil, x) },
	"silu":        func(b *builder, x Value) Value { return b.mul(x, b.op(Sigmoid, nil, x)) },
	"softsign": func(b *builder, x Value) Value { // x/(1+|x|)
		return b.div(x, b.add(b.like(x, 1), b.op(Abs, nil, x)))
	},
	"hard_sigmoid": func(b *builder, x Value) Value { // clip(x/6+1/2, 0, 1)
		y := b.add(b.scale(x, 1.0/6), b.like(x, 0.5))
		return b.op(Minimum, nil, b.op(Maximum, nil, y, b.like(x, 0)), b.like(x, 1))
	},
	"softplus": func(b *builder, x Value) Value { // log(1+exp(x)) = max(x, 0) + log1p(exp(-|x|))
		tail := b.op(Log1p, nil, b.op(Exp, nil, b.op(Neg, nil, b.op(Abs, nil, x))))
		return b.add(b.op(Maximum, nil, x, b.like(x, 0)), tail)
	},
	"elu": func(b *builder, x Value) Value { return b.elu(x) },
	"selu": func(b *builder, x Value) Value { // scale·(x if x > 0, else alpha·(exp(x)-1)), Klambauer et al. 2017
		const alpha, scale = 1.6732632423543772, 1.0507009873554805
		negative := b.scale(b.op(Expm1, nil, b.op(Minimum, nil, x, b.like(x, 0))), scale*alpha)
		return b.op(Select, nil, b.compare(Gt, x, b.like(x, 0)), b.scale(x, scale), negative)
	},
	"gelu": func(b *builder, x Value) Value { return b.op(Gelu, nil, x) },
}

// normal is the distribution function of the normal distribution, (1 + erf(x/√2))/2.
func (b *builder) normal(x Value) Value {
	return b.scale(b.add(b.like(x, 1), b.op(Erf, nil, b.scale(x, 1/math.Sqrt2))), 0.5)
}

// elu is x for x > 0, else exp(x)-1.
func (b *builder) elu(x Value) Value {
	negative := b.op(Expm1, nil, b.op(Minimum, nil, x, b.like(x, 0)))
	return b.op(Select, nil, b.compare(Gt, x, b.like(x, 0)), x, negative)
}

// KnownActivation reports whether a recurrent cell may name the activation: linear, relu, sigmoid, tanh, softsign,
// hard_sigmoid, softplus, elu, selu, gelu (exact), silu or exponential.
func KnownActivation(name string) bool { return activations[name] != nil }
