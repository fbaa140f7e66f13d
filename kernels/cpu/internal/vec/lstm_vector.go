//go:build amd64 || arm64

package vec

// lanesOf copies the last units of each gate into lines of 16.
func lanesOf(dst, gates []float32, n, done int) {
	for g := range len(gates) / n {
		copy(dst[16*g:16*g+16], gates[g*n+done:(g+1)*n])
	}
}

// fromLanes copies them back.
func fromLanes(gates, src []float32, n, done int) {
	for g := range len(gates) / n {
		copy(gates[g*n+done:(g+1)*n], src[16*g:])
	}
}

// units returns how many of n units the assembly computes in place: all with wide vectors, else whole vectors. It also
// returns a mask with a bit for each unit after the whole vectors.
func units(wide bool, n int) (m int, rest uintptr) {
	if wide {
		return n, 1<<(n%16) - 1
	}
	return whole(wide, n), 0
}

func lstmCell32(h, next, gates, z, carry []float32) (done int) {
	wide, ok := vectors()
	if !ok {
		return 0
	}
	n := len(carry)
	m, rest := units(wide, n)
	if m > 0 {
		callLstmCell(wide, &h[0], &next[0], &gates[0], &z[0], &carry[0], uintptr(m), uintptr(4*n), rest)
	}
	if m < n {
		var p [64]float32
		var q, r buffer
		lanesOf(p[:], z, n, m)
		copy(q[:], carry[m:])
		callLstmCell(wide, &r[0], &q[0], &p[0], &p[0], &q[0], 16, 64, 0)
		copy(h[m:], r[:])
		copy(next[m:], q[:])
		fromLanes(gates, p[:], n, m)
	}
	return n
}

func lstmCellGrad32(dz, dcarry, gates, carry, dh, dnext []float32) (done int) {
	wide, ok := vectors()
	if !ok {
		return 0
	}
	n := len(carry)
	m, rest := units(wide, n)
	if m > 0 {
		callLstmCellGrad(wide, &dz[0], &dcarry[0], &gates[0], &carry[0], &dh[0], &dnext[0], uintptr(m), uintptr(4*n), rest)
	}
	if m < n {
		var p [64]float32
		var q, r, s buffer
		lanesOf(p[:], gates, n, m)
		copy(q[:], carry[m:])
		copy(r[:], dh[m:])
		copy(s[:], dnext[m:])
		callLstmCellGrad(wide, &p[0], &s[0], &p[0], &q[0], &r[0], &s[0], 16, 64, 0)
		copy(dcarry[m:], s[:])
		fromLanes(dz, p[:], n, m)
	}
	return n
}
