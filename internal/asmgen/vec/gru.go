package main

import (
	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// gru emits the step of a GRU cell and its gradient for n units of one example. The three gates of a unit are stride
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
	m.begin("", "gruCell", "next, gates, x, u, h *float32, n, stride, rest uintptr", "")
	next, gates, x, u, h, n, stride := param("next"), param("gates"), param("x"), param("u"), param("h"), param("n"), param("stride")
	m.units("unit", n, []Scalar{next, gates, x, u, h}, func(p places) {
		xs, us, to := gruPlaces(x, stride), gruPlaces(u, stride), gruPlaces(gates, stride)
		sums := vectors{p.load(xs[0]), p.load(xs[1])}
		sums.each(func(i int) { Add(sums[i], sums[i], p.operand(us[i])) })
		s := m.gates(sums)
		inner := p.load(us[2])
		MultiplyAdd(inner, s[1], p.operand(xs[2]))
		p.store(to[0], s[0])
		p.store(to[1], s[1])
		g := m.squash(vectors{inner})[0]
		p.store(to[2], g)
		// z·h + (1 − z)·g
		rest := m.vector()
		Load(rest, one())
		Subtract(rest, rest, s[0])
		Multiply(rest, rest, g)
		AddProduct(rest, s[0], p.operand(Memory{Base: h}))
		p.store(Memory{Base: next}, rest)
	})
	End()
}

func (m machine) gruCellGrad() {
	m.begin("", "gruCellGrad", "dx, du, dh, gates, u, h, dnext *float32, n, stride, rest uintptr", "")
	dx, du, dh, gates := param("dx"), param("du"), param("dh"), param("gates")
	u, h, dnext, n, stride := param("u"), param("h"), param("dnext"), param("n"), param("stride")
	m.units("unit", n, []Scalar{dx, du, dh, gates, u, h, dnext}, func(p places) {
		from, xs, us := gruPlaces(gates, stride), gruPlaces(dx, stride), gruPlaces(du, stride)
		z, r, g, up, inner := p.load(from[0]), p.load(from[1]), p.load(from[2]), p.load(Memory{Base: dnext}), p.load(gruPlaces(u, stride)[2])
		update, candidate, t := p.load(Memory{Base: h}), m.vector(), m.vector()
		// update: d·(h − g)·z·(1 − z); dh = d·z
		Subtract(update, update, g)
		Multiply(update, update, up)
		Multiply(update, update, m.sigmoidSlope(z))
		Multiply(t, up, z)
		p.store(Memory{Base: dh}, t)
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
			p.store(place[0], update)
			p.store(place[1], inner)
		}
		p.store(xs[2], candidate)
		Multiply(candidate, candidate, r)
		p.store(us[2], candidate)
	})
	End()
}
