package vec

// GruCell computes one step of a GRU cell, with the reset gate after the product, for one example with len(h) units. x
// and u hold the sums of the gates update, reset and candidate, one after the other, x those from the input and u those
// from the state:
//
//	z, r = sigmoid(x + u)
//	g    = tanh(x + r·u)
//	next = z·h + (1 − z)·g
//
// gates (z, r, g) may be x or u, and next may be h.
func GruCell[T Float](next, gates, x, u, h []T) {
	n := len(h)
	next, gates, x, u = next[:n], gates[:3*n], x[:3*n], u[:3*n]
	done := 0
	if single[T]() {
		done = gruCell32(as32(next), as32(gates), as32(x), as32(u), as32(h))
	}
	for from := done; from < n; from += cellUnits {
		gruUnits(next, gates, x, u, h, from, min(from+cellUnits, n))
	}
}

// cellUnits is the number of units whose gates are computed together in plain Go around vectors.
const cellUnits = 64

// gruUnits is GruCell for some units.
func gruUnits[T Float](next, gates, x, u, h []T, from, to int) {
	n, m := len(h), to-from
	var room [4 * cellUnits]T
	z, r, g, rest := room[:m], room[cellUnits:][:m], room[2*cellUnits:][:m], room[3*cellUnits:][:m]
	Add(z, x[from:to], u[from:to])
	Sigmoid(z, z)
	Add(r, x[n+from:n+to], u[n+from:n+to])
	Sigmoid(r, r)
	Mul(g, r, u[2*n+from:2*n+to])
	Add(g, g, x[2*n+from:2*n+to])
	Tanh(g, g)
	y := next[from:to]
	Mul(y, z, h[from:to])
	AffineMul(rest, z, g, -1, 1)
	Add(y, y, rest)
	copy(gates[from:to], z)
	copy(gates[n+from:n+to], r)
	copy(gates[2*n+from:2*n+to], g)
}

// GruCellGrad computes the gradient of [GruCell] with respect to x, u and h, from its gates, u, h, and the gradient of
// next. dx or du may be gates or u, and dh may be h or dnext.
func GruCellGrad[T Float](dx, du, dh, gates, u, h, dnext []T) {
	n := len(h)
	dx, du, dh, gates, u, dnext = dx[:3*n], du[:3*n], dh[:n], gates[:3*n], u[:3*n], dnext[:n]
	done := 0
	if single[T]() {
		done = gruCellGrad32(as32(dx), as32(du), as32(dh), as32(gates), as32(u), as32(h), as32(dnext))
	} else {
		done = gruCellGrad64(as64(dx), as64(du), as64(dh), as64(gates), as64(u), as64(h), as64(dnext))
	}
	for i := done; i < n; i++ {
		z, r, g, d := gates[i], gates[n+i], gates[2*n+i], dnext[i]
		update := d * (h[i] - g) * (z * (1 - z))
		candidate := d * (1 - z) * (1 - g*g)
		reset := candidate * u[2*n+i] * (r * (1 - r))
		dx[i], dx[n+i], dx[2*n+i] = update, reset, candidate
		du[i], du[n+i], du[2*n+i] = update, reset, candidate*r
		dh[i] = d * z
	}
}
