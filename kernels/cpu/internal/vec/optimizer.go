package vec

import "math"

// AdamArgs is one step of Adam on one variable, in Keras's form:
//
//	w −= decay·w
//	m += (g − m)·(1 − β₁)
//	v += (g² − v)·(1 − β₂)
//	w −= α·m / (√v + ε)          α = rate·√(1 − β₂ᵗ)/(1 − β₁ᵗ)
//
// The gradient is first multiplied by GradientScale. Decay is rate·weight_decay (AdamW), or 0.
type AdamArgs[T Float] struct {
	W, M, V []T // the variable, its momentum and its velocity, which are updated
	G       []T // the gradient, which is only read

	Alpha, OneMinusBeta1, OneMinusBeta2, Epsilon T

	GradientScale, Decay T // 1 and 0 for the plain step
}

// Adam performs the step. All four slices have the length of W.
func Adam[T Float](a *AdamArgs[T]) {
	w := a.W
	m, v, g := a.M[:len(w)], a.V[:len(w)], a.G[:len(w)]
	if single[T]() && adam32(as32(w), as32(m), as32(v), as32(g), [6]float32{float32(a.Alpha), float32(a.OneMinusBeta1),
		float32(a.OneMinusBeta2), float32(a.Epsilon), float32(a.GradientScale), float32(a.Decay)}) {
		return
	}
	done := 0
	if !single[T]() {
		done = adam64(as64(w), as64(m), as64(v), as64(g), [6]float64{float64(a.Alpha), float64(a.OneMinusBeta1), float64(a.OneMinusBeta2), float64(a.Epsilon),
			float64(a.GradientScale), float64(a.Decay)})
	}
	for i := done; i < len(w); i++ {
		gi := g[i] * a.GradientScale
		mi := m[i] + (gi-m[i])*a.OneMinusBeta1
		vi := v[i] + (gi*gi-v[i])*a.OneMinusBeta2
		m[i], v[i] = mi, vi
		wi := w[i] - w[i]*a.Decay
		w[i] = wi - a.Alpha*mi/(T(math.Sqrt(float64(vi)))+a.Epsilon)
	}
}

// SGD performs w −= decay·w, then w −= rate·g. Decay is rate·weight_decay, or 0.
func SGD[T Float](w, g []T, rate, decay T) {
	g = g[:len(w)]
	if decay == 0 {
		Axpy(w, -rate, g)
		return
	}
	for i := range w {
		wi := w[i] - w[i]*decay
		w[i] = wi - rate*g[i]
	}
}

// Momentum performs a step of stochastic gradient descent with momentum μ:
//
//	w −= decay·w;  velocity = μ·velocity − rate·g;  w += velocity
//
// or, with nesterov, w += μ·velocity − rate·g with the new velocity.
func Momentum[T Float](w, velocity, g []T, rate, mu, decay T, nesterov bool) {
	velocity, g = velocity[:len(w)], g[:len(w)]
	if single[T]() && momentum32(as32(w), as32(velocity), as32(g), [3]float32{float32(rate), float32(mu), float32(decay)}, nesterov) {
		return
	}
	done := 0
	if !single[T]() {
		done = momentum64(as64(w), as64(velocity), as64(g), [3]float64{float64(rate), float64(mu), float64(decay)}, nesterov)
	}
	for i := done; i < len(w); i++ {
		step := rate * g[i]
		v := velocity[i]*mu - step
		velocity[i] = v
		if nesterov {
			v = v*mu - step
		}
		w[i] = w[i] - w[i]*decay + v
	}
}
