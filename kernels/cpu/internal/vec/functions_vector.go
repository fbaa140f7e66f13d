//go:build amd64 || arm64

package vec

import "math"

// within32 reports whether no magnitude is above limit; NaN counts as within.
func within32(x []float32, limit float32) bool {
	wide, ok := vectors()
	if !ok {
		return false
	}
	n := whole(wide, len(x))
	for i := 0; i < n; i += callElements {
		if callLargestAbs(wide, at(x, i), uintptr(min(callElements, n-i))) > limit {
			return false
		}
	}
	for _, v := range x[n:] {
		if math.Float32frombits(math.Float32bits(v)&^(1<<31)) > limit {
			return false
		}
	}
	return true
}

// vectorized reports whether there is assembly in force.
func vectorized() bool {
	_, ok := vectors()
	return ok
}

// quotients32 reports whether no |a/b| is above limit; NaN counts as within.
func quotients32(a, b []float32, limit float32) bool {
	wide, ok := vectors()
	if !ok {
		return false
	}
	n := whole(wide, len(a))
	for i := 0; i < n; i += callElements {
		if callLargestQuotient(wide, at(a, i), at(b, i), uintptr(min(callElements, n-i))) > limit {
			return false
		}
	}
	for i, v := range a[n:] {
		if q := v / b[n+i]; q > limit || q < -limit {
			return false
		}
	}
	return true
}
