package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// gru emits the step of a GRU cell and its gradient for n units of one example. The three gates of a unit lie stride bytes apart.
func (m machine) gru() {
	m.gruCell()
	m.gruCellGrad()
}

func gruPlaces(p, stride reg.GPVirtual) [3]Mem {
	at := Mem{Base: p}
	return [3]Mem{at, at.Idx(stride, 1), at.Idx(stride, 2)}
}

func (m machine) gruCell() {
	m.begin("", "gruCell", "next, gates, x, u, h *float32, n, stride uintptr", "")
	next, gates, x, u, h, n, stride := param("next"), param("gates"), param("x"), param("u"), param("h"), param("n"), param("stride")
	m.loop(1, n, []reg.GPVirtual{next, gates, x, u, h}, func([]int) {
		xs, us, to := gruPlaces(x, stride), gruPlaces(u, stride), gruPlaces(gates, stride)
		sums := vectors{m.load(xs[0]), m.load(xs[1])}
		sums.each(func(i int) { VADDPS(us[i], sums[i], sums[i]) })
		s := m.gates(sums)
		inner := m.load(us[2])
		VFMADD213PS(xs[2], s[1], inner)
		VMOVUPS(s[0], to[0])
		VMOVUPS(s[1], to[1])
		g := m.squash(vectors{inner})[0]
		VMOVUPS(g, to[2])
		// z·h + (1 − z)·g
		rest := m.vector()
		VMOVUPS(one(), rest)
		VSUBPS(s[0], rest, rest)
		VMULPS(g, rest, rest)
		VFMADD231PS(Mem{Base: h}, s[0], rest)
		VMOVUPS(rest, Mem{Base: next})
	})
	end()
}

func (m machine) gruCellGrad() {
	m.begin("", "gruCellGrad", "dx, du, dh, gates, u, h, dnext *float32, n, stride uintptr", "")
	dx, du, dh, gates := param("dx"), param("du"), param("dh"), param("gates")
	u, h, dnext, n, stride := param("u"), param("h"), param("dnext"), param("n"), param("stride")
	m.loop(1, n, []reg.GPVirtual{dx, du, dh, gates, u, h, dnext}, func([]int) {
		from, xs, us := gruPlaces(gates, stride), gruPlaces(dx, stride), gruPlaces(du, stride)
		z, r, g, up, inner := m.load(from[0]), m.load(from[1]), m.load(from[2]), m.load(Mem{Base: dnext}), m.load(gruPlaces(u, stride)[2])
		update, candidate, t := m.load(Mem{Base: h}), m.vector(), m.vector()
		// update: d·(h − g)·z·(1 − z); dh = d·z
		VSUBPS(g, update, update)
		VMULPS(up, update, update)
		VMULPS(m.sigmoidSlope(z), update, update)
		VMULPS(z, up, t)
		VMOVUPS(t, Mem{Base: dh})
		// candidate: d·(1 − z)·(1 − g²)
		VMOVUPS(one(), candidate)
		VSUBPS(z, candidate, candidate)
		VMULPS(up, candidate, candidate)
		VFNMADD213PS(one(), g, g)
		VMULPS(g, candidate, candidate)
		// reset: candidate·u·r·(1 − r)
		VMULPS(candidate, inner, inner)
		VMULPS(m.sigmoidSlope(r), inner, inner)
		for _, place := range [][3]Mem{xs, us} {
			VMOVUPS(update, place[0])
			VMOVUPS(inner, place[1])
		}
		VMOVUPS(candidate, xs[2])
		VMULPS(r, candidate, candidate)
		VMOVUPS(candidate, us[2])
	})
	end()
}
