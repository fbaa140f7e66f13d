package rows

import "github.com/gokeras/gokeras/kernels/cpu/internal/vec"

// The functions below are steps of optimizers on some elements of a variable: w are its values, g their gradient, and
// the rest is what the optimizer keeps for each element. Every product is rounded before it is added, so that the
// result is the same on all processors, wherever an element lies. They panic if a slice is shorter than w.

// Adagrad performs n += g², w −= rate·g/√(n+ε).
func Adagrad(w, n, g []float32, rate, epsilon float32) { vec.RuleAdagrad(w, n, g, rate, epsilon) }

// Adam performs m += (g−m)·rest1, v += (g²−v)·rest2, w −= α·m/(√v+ε): rest1 is 1−β₁, rest2 is 1−β₂, and α the learning
// rate with the correction of the bias.
func Adam(w, m, v, g []float32, alpha, rest1, rest2, epsilon float32) {
	vec.RuleAdam(w, m, v, g, alpha, rest1, rest2, epsilon)
}

// Momentum performs m = μ·m − rate·g and w += m, or, with nesterov, w += μ·m − rate·g with the new m.
func Momentum(w, m, g []float32, rate, mu float32, nesterov bool) {
	vec.RuleMomentum(w, m, g, rate, mu, nesterov)
}

// RMSprop performs v = ρ·v + rest·g² and w −= rate·g/√(v+ε): rest is 1−ρ. With average, which becomes
// ρ·average + rest·g, the square of it is taken from v under the root. With m, that becomes μ·m plus what would be
// taken from w, and is taken from it instead. Both may be nil.
func RMSprop(w, v, m, average, g []float32, rate, rho, rest, epsilon, mu float32) {
	vec.RuleRMSprop(w, v, m, average, g, rate, rho, rest, epsilon, mu)
}

// FTRL performs a step of the regularized leader whose learning rate falls with the root of n. From σ = (√(n+g²) −
// √n)/rate it performs n += g², z += g + shrinkage·w − σ·w and w = (min(max(z, −l1), l1) − z)/(√n/rate + l2).
func FTRL(w, n, z, g []float32, rate, l1, l2, shrinkage float32) {
	vec.RuleFTRL(w, n, z, g, rate, l1, l2, shrinkage)
}
