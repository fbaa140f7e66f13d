package vec

import "math"

// The functions below are the steps of optimizers that parameter servers make. Every product is rounded before it is
// added. So an element's bits depend neither on the processor nor on its position: two servers with copies of a
// variable agree, and so do an update of some rows and an update of all. All slices have the length of w.

// RuleAdagrad performs n += g², w −= rate·g/√(n+ε).
func RuleAdagrad(w, n, g []float32, rate, epsilon float32) {
	n, g = n[:len(w)], g[:len(w)]
	for i := ruleAdagrad32(w, n, g, [2]float32{rate, epsilon}); i < len(w); i++ {
		n[i] += float32(g[i] * g[i])
		w[i] -= float32(rate*g[i]) / root(n[i]+epsilon)
	}
}

// RuleAdam performs m += (g−m)·rest1, v += (g²−v)·rest2, w −= α·m/(√v+ε).
func RuleAdam(w, m, v, g []float32, alpha, rest1, rest2, epsilon float32) {
	m, v, g = m[:len(w)], v[:len(w)], g[:len(w)]
	for i := ruleAdam32(w, m, v, g, [4]float32{alpha, rest1, rest2, epsilon}); i < len(w); i++ {
		m[i] += float32((g[i] - m[i]) * rest1)
		v[i] += float32((float32(g[i]*g[i]) - v[i]) * rest2)
		w[i] -= float32(alpha*m[i]) / (root(v[i]) + epsilon)
	}
}

// RuleMomentum performs m = μ·m − rate·g and w += m, or, with nesterov, w += μ·m − rate·g with the new m.
func RuleMomentum(w, m, g []float32, rate, mu float32, nesterov bool) {
	m, g = m[:len(w)], g[:len(w)]
	for i := ruleMomentum32(w, m, g, [2]float32{rate, mu}, nesterov); i < len(w); i++ {
		step := float32(rate * g[i])
		change := float32(mu*m[i]) - step
		m[i] = change
		if nesterov {
			change = float32(mu*change) - step
		}
		w[i] += change
	}
}

// RuleRMSprop performs v = ρ·v + rest·g² and w −= rate·g/√(v+ε). With average, which becomes ρ·average + rest·g, its
// square is subtracted from v under the root. With m, m becomes μ·m plus that change, and is subtracted from w. Both
// may be nil.
func RuleRMSprop(w, v, m, average, g []float32, rate, rho, rest, epsilon, mu float32) {
	v, g = v[:len(w)], g[:len(w)]
	if m != nil {
		m = m[:len(w)]
	}
	if average != nil {
		average = average[:len(w)]
	}
	for i := ruleRMSprop32(w, v, m, average, g, [5]float32{rate, rho, rest, epsilon, mu}); i < len(w); i++ {
		part := float32(rest * g[i])
		v[i] = float32(rho*v[i]) + float32(part*g[i])
		under := v[i]
		if average != nil {
			average[i] = float32(rho*average[i]) + part
			under -= float32(average[i] * average[i])
		}
		change := float32(rate*g[i]) / root(under+epsilon)
		if m != nil {
			change = float32(mu*m[i]) + change
			m[i] = change
		}
		w[i] -= change
	}
}

// RuleFTRL performs a step of the regularized leader, whose learning rate decreases with the root of n:
//
//	σ = (√(n+g²) − √n)/rate,  n += g²
//	z += g + shrinkage·w − σ·w
//	w = (min(max(z, −l1), l1) − z) / (√n/rate + l2)
func RuleFTRL(w, n, z, g []float32, rate, l1, l2, shrinkage float32) {
	n, z, g = n[:len(w)], z[:len(w)], g[:len(w)]
	for i := ruleFTRL32(w, n, z, g, [5]float32{rate, l1, l2, shrinkage, -l1}); i < len(w); i++ {
		before := root(n[i])
		n[i] += float32(g[i] * g[i])
		after := root(n[i])
		z[i] += g[i] + float32(shrinkage*w[i]) - float32((after-before)/rate*w[i])
		w[i] = (min(max(z[i], -l1), l1) - z[i]) / (after/rate + l2)
	}
}

func root(x float32) float32 { return float32(math.Sqrt(float64(x))) }
