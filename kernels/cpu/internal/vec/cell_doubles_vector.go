//go:build amd64 || arm64

package vec

import "unsafe"

// The functions below are the gradients of LSTM and GRU cells in float64: multiples of eight units in place, and the
// remaining units in lines of eight.

// eightLines copies the last units of each gate into lines of 8.
//
//go:noinline
func eightLines(dst, gates []float64, n, done int) {
	for g := range len(gates) / n {
		copy(dst[8*g:8*g+8], gates[g*n+done:(g+1)*n])
	}
}

// fromEightLines copies them back.
//
//go:noinline
func fromEightLines(gates, src []float64, n, done int) {
	for g := range len(gates) / n {
		copy(gates[g*n+done:(g+1)*n], src[8*g:])
	}
}

func lstmCellGrad64(dz, dcarry, gates, carry, dh, dnext []float64) (done int) {
	wide, ok := vectors()
	if !ok {
		return 0
	}
	n := len(carry)
	m := n &^ 7
	for i := 0; i < m; i += functionElements {
		callLstmCellGradDoubles(wide, place(dz, i), place(dcarry, i), place(gates, i), place(carry, i), place(dh, i), place(dnext, i), uintptr(min(functionElements, m-i)), uintptr(8*n))
	}
	if m < n {
		var p [32]float64
		var q, r, s [8]float64
		eightLines(p[:], gates, n, m)
		copy(q[:], carry[m:])
		copy(r[:], dh[m:])
		copy(s[:], dnext[m:])
		line, c, up := unsafe.Pointer(&p), unsafe.Pointer(&q), unsafe.Pointer(&s)
		callLstmCellGradDoubles(wide, line, up, line, c, unsafe.Pointer(&r), up, 8, 64)
		copy(dcarry[m:], s[:])
		fromEightLines(dz, p[:], n, m)
	}
	return n
}

func gruCellGrad64(dx, du, dh, gates, u, h, dnext []float64) (done int) {
	wide, ok := vectors()
	if !ok {
		return 0
	}
	n := len(h)
	m := n &^ 7
	for i := 0; i < m; i += functionElements {
		callGruCellGradDoubles(wide, place(dx, i), place(du, i), place(dh, i), place(gates, i), place(u, i), place(h, i), place(dnext, i), uintptr(min(functionElements, m-i)), uintptr(8*n))
	}
	if m < n {
		var p, q [24]float64
		var r, s [8]float64
		eightLines(p[:], gates, n, m)
		eightLines(q[:], u, n, m)
		copy(r[:], h[m:])
		copy(s[:], dnext[m:])
		line, lineU, state := unsafe.Pointer(&p), unsafe.Pointer(&q), unsafe.Pointer(&r)
		callGruCellGradDoubles(wide, line, lineU, state, line, lineU, state, unsafe.Pointer(&s), 8, 64)
		copy(dh[m:], r[:])
		fromEightLines(dx, p[:], n, m)
		fromEightLines(du, q[:], n, m)
	}
	return n
}
