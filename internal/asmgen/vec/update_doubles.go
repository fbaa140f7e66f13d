package main

import . "github.com/gokeras/gokeras/internal/asmgen/vector"

// optimizers64 emits the update steps in the package's optimizer.go for float64. They round every product before it is
// added, like the loop without vectors.
func (m machine) optimizers64() {
	number := func(scalars Scalar, index int) Vector {
		v := m.vector()
		Broadcast(v, Memory{Base: scalars, Offset: 8 * index})
		return v
	}
	m.begin("", "adam64", "w, m, v, gradient unsafe.Pointer, n uintptr, scalars unsafe.Pointer", "")
	Float64()
	w, mom, vel, g, n, scalars := param("w"), param("m"), param("v"), param("gradient"), param("n"), param("scalars")
	alpha, beta1, beta2 := number(scalars, 0), number(scalars, 1), number(scalars, 2)
	epsilon, scale, decay := number(scalars, 3), number(scalars, 4), number(scalars, 5)
	at := where(0)
	m.doubleLoop(n, []Scalar{w, mom, vel, g}, func() {
		gi, mi, vi, wi, t := m.vector(), m.vector(), m.vector(), m.vector(), m.vector()
		Multiply(gi, scale, at(g))
		Load(mi, at(mom))
		Load(vi, at(vel))
		Load(wi, at(w))
		Subtract(t, gi, mi)
		Multiply(t, t, beta1)
		Add(mi, mi, t)
		Multiply(gi, gi, gi)
		Subtract(gi, gi, vi)
		Multiply(gi, gi, beta2)
		Add(vi, vi, gi)
		Store(at(mom), mi)
		Store(at(vel), vi)
		Sqrt(vi, vi)
		Add(vi, vi, epsilon)
		Multiply(mi, mi, alpha)
		Divide(mi, mi, vi)
		Multiply(t, wi, decay)
		Subtract(wi, wi, t)
		Subtract(wi, wi, mi)
		Store(at(w), wi)
	})

	for _, nesterov := range []bool{false, true} {
		name := "momentum64"
		if nesterov {
			name = "nesterov64"
		}
		m.begin("", name, "w, v, gradient unsafe.Pointer, n uintptr, scalars unsafe.Pointer", "")
		Float64()
		w, vel, g, n, scalars := param("w"), param("v"), param("gradient"), param("n"), param("scalars")
		rate, mu, decay := number(scalars, 0), number(scalars, 1), number(scalars, 2)
		m.doubleLoop(n, []Scalar{w, vel, g}, func() {
			step, vi, wi, t := m.vector(), m.vector(), m.vector(), m.vector()
			Multiply(step, rate, at(g))
			Multiply(vi, mu, at(vel))
			Subtract(vi, vi, step)
			Store(at(vel), vi)
			if nesterov {
				Multiply(vi, vi, mu)
				Subtract(vi, vi, step)
			}
			Load(wi, at(w))
			Multiply(t, wi, decay)
			Subtract(wi, wi, t)
			Add(wi, wi, vi)
			Store(at(w), wi)
		})
	}
}
