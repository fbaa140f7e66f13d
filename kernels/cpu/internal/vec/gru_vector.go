//go:build amd64 || arm64

package vec

func gruCell32(next, gates, x, u, h []float32) (done int) {
	wide, ok := vectors()
	if !ok {
		return 0
	}
	n := len(h)
	m, rest := units(wide, n)
	if m > 0 {
		callGruCell(wide, &next[0], &gates[0], &x[0], &u[0], &h[0], uintptr(m), uintptr(4*n), rest)
	}
	if m < n {
		var p, q [48]float32
		var r buffer
		lanesOf(p[:], x, n, m)
		lanesOf(q[:], u, n, m)
		copy(r[:], h[m:])
		callGruCell(wide, &r[0], &p[0], &p[0], &q[0], &r[0], 16, 64, 0)
		copy(next[m:], r[:])
		fromLanes(gates, p[:], n, m)
	}
	return n
}

func gruCellGrad32(dx, du, dh, gates, u, h, dnext []float32) (done int) {
	wide, ok := vectors()
	if !ok {
		return 0
	}
	n := len(h)
	m, rest := units(wide, n)
	if m > 0 {
		callGruCellGrad(wide, &dx[0], &du[0], &dh[0], &gates[0], &u[0], &h[0], &dnext[0], uintptr(m), uintptr(4*n), rest)
	}
	if m < n {
		var p, q [48]float32
		var r, s buffer
		lanesOf(p[:], gates, n, m)
		lanesOf(q[:], u, n, m)
		copy(r[:], h[m:])
		copy(s[:], dnext[m:])
		callGruCellGrad(wide, &p[0], &q[0], &r[0], &p[0], &q[0], &r[0], &s[0], 16, 64, 0)
		copy(dh[m:], r[:])
		fromLanes(dx, p[:], n, m)
		fromLanes(du, q[:], n, m)
	}
	return n
}
