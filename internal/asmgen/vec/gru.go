package main

import (
	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// gru emits the step of a GRU cell and its gradient for n units of one example. The three gates of a unit lie stride
// bytes apart.
func (m machine) gru() {
	m.gruCell()
	m.gruCellGrad()
}

func gruPlaces(p, stride Scalar) [3]Memory {
	at := Memory{Base: p}
	return [3]Memory{at, at.Indexed(stride, 1), at.Indexed(stride, 2)}
}

func (m machine) gruCell() {
	m.begin("", "gruCell", "next, gates, x, u, h *float32, n, stride uintptr", "")
	next, gates, x, u, h, n, stride := param("next"), param("gates"), param("x"), param("u"), param("h"), param("n"), param("stride")
	m.loop(1, n, []Scalar{next, gates, x, u, h}, func([]int) {
		xs, us, to := gruPlaces(x, stride), gruPlaces(u, stride), gruPlaces(gates, stride)
		sums := vectors{m.load(xs[0]), m.load(xs[1])}
		sums.each(func(i int) { Add(sums[i], sums[i], us[i]) })
		s := m.gates(sums)
		inner := m.load(us[2])
		MultiplyAdd(inner, s[1], xs[2])
		Store(to[0], s[0])
		Store(to[1], s[1])
		g := m.squash(vectors{inner})[0]
		Store(to[2], g)
		// z·h + (1 − z)·g
		rest := m.vector()
		Load(rest, one())
		Subtract(rest, rest, s[0])
		Multiply(rest, rest, g)
		AddProduct(rest, s[0], Memory{Base: h})
		Store(Memory{Base: next}, rest)
	})
	End()
}

func (m machine) gruCellGrad() {
	m.begin("", "gruCellGrad", "dx, du, dh, gates, u, h, dnext *float32, n, stride uintptr", "")
	dx, du, dh, gates := param("dx"), param("du"), param("dh"), param("gates")
	u, h, dnext, n, stride := param("u"), param("h"), param("dnext"), param("n"), param("stride")
	m.loop(1, n, []Scalar{dx, du, dh, gates, u, h, dnext}, func([]int) {
		from, xs, us := gruPlaces(gates, stride), gruPlaces(dx, stride), gruPlaces(du, stride)
		z, r, g, up, inner := m.load(from[0]), m.load(from[1]), m.load(from[2]), m.load(Memory{Base: dnext}), m.load(gruPlaces(u, stride)[2])
		update, candidate, t := m.load(Memory{Base: h}), m.vector(), m.vector()
		// update: d·(h − g)·z·(1 − z); dh = d·z
		Subtract(update, update, g)
		Multiply(update, update, up)
		Multiply(update, update, m.sigmoidSlope(z))
		Multiply(t, up, z)
		Store(Memory{Base: dh}, t)
		// candidate: d·(1 − z)·(1 − g²)
		Load(candidate, one())
		Subtract(candidate, candidate, z)
		Multiply(candidate, candidate, up)
		SubtractScaled(g, g, one())
		Multiply(candidate, candidate, g)
		// reset: candidate·u·r·(1 − r)
		Multiply(inner, inner, candidate)
		Multiply(inner, inner, m.sigmoidSlope(r))
		for _, place := range [][3]Memory{xs, us} {
			Store(place[0], update)
			Store(place[1], inner)
		}
		Store(xs[2], candidate)
		Multiply(candidate, candidate, r)
		Store(us[2], candidate)
	})
	End()
}
