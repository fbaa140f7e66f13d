//go:build amd64 || arm64

package vec

import "unsafe"

// adam64 is a step of Adam for whole vectors. It returns how many elements are done.
func adam64(w, m, v, g []float64, scalars [6]float64) int {
	wide, ok := vectors()
	if !ok {
		return 0
	}
	n := len(w) &^ 7
	for i := 0; i < n; i += functionElements {
		callAdam64(wide, unsafe.Pointer(&w[i]), unsafe.Pointer(&m[i]), unsafe.Pointer(&v[i]), unsafe.Pointer(&g[i]), uintptr(min(functionElements, n-i)), unsafe.Pointer(&scalars))
	}
	return n
}

// momentum64 is adam64 for momentum.
func momentum64(w, velocity, g []float64, scalars [3]float64, nesterov bool) int {
	wide, ok := vectors()
	if !ok {
		return 0
	}
	n := len(w) &^ 7
	for i := 0; i < n; i += functionElements {
		length := uintptr(min(functionElements, n-i))
		if nesterov {
			callNesterov64(wide, unsafe.Pointer(&w[i]), unsafe.Pointer(&velocity[i]), unsafe.Pointer(&g[i]), length, unsafe.Pointer(&scalars))
		} else {
			callMomentum64(wide, unsafe.Pointer(&w[i]), unsafe.Pointer(&velocity[i]), unsafe.Pointer(&g[i]), length, unsafe.Pointer(&scalars))
		}
	}
	return n
}
