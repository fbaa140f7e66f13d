package main

import (
	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// rules emits the update rules in the package's rules.go. Unlike those of optimizer.go, they round every product before
// it is added, like the loop without vectors.
func (m machine) rules() {
	m.ruleAdagrad()
	m.ruleAdam()
	m.ruleMomentum("ruleMomentum", false)
	m.ruleMomentum("ruleNesterov", true)
	m.ruleRMSprop("ruleRMSprop", false, false)
	m.ruleRMSprop("ruleRMSpropMomentum", true, false)
	m.ruleRMSprop("ruleRMSpropCentered", false, true)
	m.ruleRMSprop("ruleRMSpropCenteredMomentum", true, true)
	m.ruleFTRL()
}

// where returns the memory at an offset from a pointer.
func where(o int) func(p Scalar) Memory {
	return func(p Scalar) Memory { return Memory{Base: p, Offset: o} }
}

func (m machine) ruleAdagrad() {
	m.begin("", "ruleAdagrad", "w, sum, gradient *float32, n uintptr, scalars unsafe.Pointer", "")
	w, sum, g, n, scalars := param("w"), param("sum"), param("gradient"), param("n"), param("scalars")
	rate, epsilon := m.broadcast(scalars, 0), m.broadcast(scalars, 1)
	m.loop(2, n, []Scalar{w, sum, g}, func(offsets []int) {
		for _, o := range offsets {
			at := where(o)
			gi, t, wi := m.vector(), m.vector(), m.vector()
			Load(gi, at(g))
			Multiply(t, gi, gi)
			Add(t, t, at(sum))
			Store(at(sum), t)
			Add(t, t, epsilon)
			Sqrt(t, t)
			Multiply(gi, gi, rate)
			Divide(gi, gi, t)
			Load(wi, at(w))
			Subtract(wi, wi, gi)
			Store(at(w), wi)
		}
	})
	End()
}

func (m machine) ruleAdam() {
	m.begin("", "ruleAdam", "w, m, v, gradient *float32, n uintptr, scalars unsafe.Pointer", "")
	w, mom, vel, g, n, scalars := param("w"), param("m"), param("v"), param("gradient"), param("n"), param("scalars")
	alpha, rest1, rest2, epsilon := m.broadcast(scalars, 0), m.broadcast(scalars, 1), m.broadcast(scalars, 2), m.broadcast(scalars, 3)
	m.loop(2, n, []Scalar{w, mom, vel, g}, func(offsets []int) {
		for _, o := range offsets {
			at := where(o)
			gi, mi, vi, t := m.vector(), m.vector(), m.vector(), m.vector()
			Load(gi, at(g))
			Load(mi, at(mom))
			Load(vi, at(vel))
			Subtract(t, gi, mi)
			Multiply(t, t, rest1)
			Add(mi, mi, t)
			Store(at(mom), mi)
			Multiply(gi, gi, gi)
			Subtract(gi, gi, vi)
			Multiply(gi, gi, rest2)
			Add(vi, vi, gi)
			Store(at(vel), vi)
			Sqrt(vi, vi)
			Add(vi, vi, epsilon)
			Multiply(mi, mi, alpha)
			Divide(mi, mi, vi)
			Load(t, at(w))
			Subtract(t, t, mi)
			Store(at(w), t)
		}
	})
	End()
}

func (m machine) ruleMomentum(name string, nesterov bool) {
	m.begin("", name, "w, m, gradient *float32, n uintptr, scalars unsafe.Pointer", "")
	w, mom, g, n, scalars := param("w"), param("m"), param("gradient"), param("n"), param("scalars")
	rate, mu := m.broadcast(scalars, 0), m.broadcast(scalars, 1)
	m.loop(2, n, []Scalar{w, mom, g}, func(offsets []int) {
		for _, o := range offsets {
			at := where(o)
			step, mi, wi := m.vector(), m.vector(), m.vector()
			Multiply(step, rate, at(g))
			Multiply(mi, mu, at(mom))
			Subtract(mi, mi, step)
			Store(at(mom), mi)
			if nesterov {
				Multiply(mi, mi, mu)
				Subtract(mi, mi, step)
			}
			Load(wi, at(w))
			Add(wi, wi, mi)
			Store(at(w), wi)
		}
	})
	End()
}

func (m machine) ruleRMSprop(name string, momentum, centered bool) {
	m.begin("", name, "w, v, m, average, gradient *float32, n uintptr, scalars unsafe.Pointer", "")
	w, vel, mom, average, g := param("w"), param("v"), param("m"), param("average"), param("gradient")
	n, scalars := param("n"), param("scalars")
	rate, rho, rest, epsilon := m.broadcast(scalars, 0), m.broadcast(scalars, 1), m.broadcast(scalars, 2), m.broadcast(scalars, 3)
	mu := Vector{}
	pointers := []Scalar{w, vel, g}
	if momentum {
		mu, pointers = m.broadcast(scalars, 4), append(pointers, mom)
	}
	if centered {
		pointers = append(pointers, average)
	}
	m.loop(1, n, pointers, func(offsets []int) {
		at := where(offsets[0])
		gi, vi, t, wi := m.vector(), m.vector(), m.vector(), m.vector()
		Load(gi, at(g))
		Multiply(vi, rho, at(vel))
		Multiply(t, rest, gi)
		if centered {
			ai, square := m.vector(), m.vector()
			Multiply(ai, rho, at(average))
			Add(ai, ai, t)
			Store(at(average), ai)
			Multiply(square, ai, ai)
			Multiply(t, t, gi)
			Add(vi, vi, t)
			Store(at(vel), vi)
			Subtract(vi, vi, square)
		} else {
			Multiply(t, t, gi)
			Add(vi, vi, t)
			Store(at(vel), vi)
		}
		Add(vi, vi, epsilon)
		Sqrt(vi, vi)
		Multiply(gi, gi, rate)
		Divide(gi, gi, vi)
		if momentum {
			Multiply(t, mu, at(mom))
			Add(gi, t, gi)
			Store(at(mom), gi)
		}
		Load(wi, at(w))
		Subtract(wi, wi, gi)
		Store(at(w), wi)
	})
	End()
}

func (m machine) ruleFTRL() {
	m.begin("", "ruleFTRL", "w, sum, linear, gradient *float32, n uintptr, scalars unsafe.Pointer", "")
	w, sum, linear, g, n, scalars := param("w"), param("sum"), param("linear"), param("gradient"), param("n"), param("scalars")
	rate, l1, l2, shrinkage := m.broadcast(scalars, 0), m.broadcast(scalars, 1), m.broadcast(scalars, 2), m.broadcast(scalars, 3)
	lower := m.broadcast(scalars, 4)
	m.loop(1, n, []Scalar{w, sum, linear, g}, func(offsets []int) {
		at := where(offsets[0])
		gi, before, next, wi, z, t := m.vector(), m.vector(), m.vector(), m.vector(), m.vector(), m.vector()
		Load(gi, at(g))
		Load(before, at(sum))
		Load(wi, at(w))
		Multiply(next, gi, gi)
		Add(next, next, before)
		Store(at(sum), next)
		Sqrt(next, next)
		Sqrt(before, before)
		Multiply(t, shrinkage, wi)
		Add(gi, gi, t)
		Subtract(before, next, before)
		Divide(before, before, rate)
		Multiply(before, before, wi)
		Subtract(gi, gi, before)
		Load(z, at(linear))
		Add(z, z, gi)
		Store(at(linear), z)
		Max(t, lower, z) // if both are zeros, or one is NaN, Max returns the second
		Min(t, l1, t)
		Subtract(t, t, z)
		Divide(next, next, rate)
		Add(next, next, l2)
		Divide(t, t, next)
		Store(at(w), t)
	})
	End()
}
