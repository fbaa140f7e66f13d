//go:build amd64 || arm64

package vec

import (
	"math"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// The functions below run the assembly of the active level, or report that there is none. Assembly works on whole
// vectors; remaining elements go through it in a zero-padded buffer on the stack, so that an element's bits do not
// depend on its position.

// callElements limits an assembly call to some tens of microseconds, because the garbage collector cannot interrupt it.
const callElements = 1 << 14

// buffer holds the remaining elements: less than one vector of either level.
type buffer [16]float32

// vectors reports whether to use assembly, and whether to use that for AVX-512.
func vectors() (wide, ok bool) {
	f := isa.Active()
	return f.Has(isa.Vectors512), f != isa.Portable
}

// vectorBytes is the size of a vector: of AVX-512, or of AVX2 and two of NEON.
func vectorBytes(wide bool) int {
	if wide {
		return 64
	}
	return 32
}

// whole returns the part of n that is whole vectors.
func whole(wide bool, n int) int {
	if wide {
		return n &^ 15
	}
	return n &^ 7
}

func at(x []float32, i int) *float32 {
	return (*float32)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(x)), 4*i))
}

func binary32(op binaryOp, dst, a, b []float32) bool {
	wide, ok := vectors()
	if !ok {
		return false
	}
	n := whole(wide, len(dst))
	for i := 0; i < n; i += callElements {
		callBinary(wide, op, at(dst, i), at(a, i), at(b, i), uintptr(min(callElements, n-i)))
	}
	if n < len(dst) {
		var p, q buffer
		copy(p[:], a[n:])
		copy(q[:], b[n:])
		callBinary(wide, op, &p[0], &p[0], &q[0], uintptr(len(p)))
		copy(dst[n:], p[:])
	}
	return true
}

func mulAdd32(dst, a, b, c []float32) bool {
	wide, ok := vectors()
	if !ok {
		return false
	}
	n := whole(wide, len(dst))
	for i := 0; i < n; i += callElements {
		callMulAdd(wide, at(dst, i), at(a, i), at(b, i), at(c, i), uintptr(min(callElements, n-i)))
	}
	if n < len(dst) {
		var p, q, r buffer
		copy(p[:], a[n:])
		copy(q[:], b[n:])
		copy(r[:], c[n:])
		callMulAdd(wide, &p[0], &p[0], &q[0], &r[0], uintptr(len(p)))
		copy(dst[n:], p[:])
	}
	return true
}

func unary32(op unaryOp, dst, x []float32) bool {
	wide, ok := vectors()
	if !ok {
		return false
	}
	n := whole(wide, len(dst))
	for i := 0; i < n; i += callElements {
		callUnary(wide, op, at(dst, i), at(x, i), uintptr(min(callElements, n-i)))
	}
	if n < len(dst) {
		var p buffer
		copy(p[:], x[n:])
		callUnary(wide, op, &p[0], &p[0], uintptr(len(p)))
		copy(dst[n:], p[:])
	}
	return true
}

func affine32(op scalarOp, dst, x []float32, a, b float32) bool {
	wide, ok := vectors()
	if !ok {
		return false
	}
	scalars := [2]float32{a, b}
	n := whole(wide, len(dst))
	for i := 0; i < n; i += callElements {
		callScalar(wide, op, at(dst, i), at(x, i), uintptr(min(callElements, n-i)), unsafe.Pointer(&scalars))
	}
	if n < len(dst) {
		var p, q buffer
		copy(p[:], x[n:])
		copy(q[:], dst[n:])
		callScalar(wide, op, &q[0], &p[0], uintptr(len(p)), unsafe.Pointer(&scalars))
		copy(dst[n:], q[:])
	}
	return true
}

// sum32 takes at most sumBlock elements; so does dot32.
func sum32(x []float32) (float32, bool) {
	wide, ok := vectors()
	if !ok {
		return 0, false
	}
	n := whole(wide, len(x))
	s := callSum(wide, at(x, 0), uintptr(n))
	if n < len(x) {
		var p buffer
		copy(p[:], x[n:])
		s += callSum(wide, &p[0], uintptr(len(p)))
	}
	return s, true
}

func dot32(x, y []float32) (float32, bool) {
	wide, ok := vectors()
	if !ok {
		return 0, false
	}
	n := whole(wide, len(x))
	s := callDot(wide, at(x, 0), at(y, 0), uintptr(n))
	if n < len(x) {
		var p, q buffer
		copy(p[:], x[n:])
		copy(q[:], y[n:])
		s += callDot(wide, &p[0], &q[0], uintptr(len(p)))
	}
	return s, true
}

// expAffine32 takes at most sumBlock elements.
func expAffine32(dst, x []float32, scalars [3]float32) (float32, bool) {
	wide, ok := vectors()
	if !ok {
		return 0, false
	}
	n := whole(wide, len(dst))
	s := callExpAffine(wide, at(dst, 0), at(x, 0), uintptr(n), unsafe.Pointer(&scalars))
	if n < len(dst) {
		var p buffer
		copy(p[:], x[n:])
		callExpAffine(wide, &p[0], &p[0], uintptr(len(p)), unsafe.Pointer(&scalars))
		rest := float32(0)
		for i := range dst[n:] {
			rest += p[i]
			dst[n+i] = p[i]
		}
		s += rest
	}
	return s, true
}

func affineMul32(dst, x, y []float32, scalars [2]float32) bool {
	wide, ok := vectors()
	if !ok {
		return false
	}
	n := whole(wide, len(dst))
	for i := 0; i < n; i += callElements {
		callAffineMul(wide, at(dst, i), at(x, i), at(y, i), uintptr(min(callElements, n-i)), unsafe.Pointer(&scalars))
	}
	if n < len(dst) {
		var p, q buffer
		copy(p[:], x[n:])
		copy(q[:], y[n:])
		callAffineMul(wide, &p[0], &p[0], &q[0], uintptr(len(p)), unsafe.Pointer(&scalars))
		copy(dst[n:], p[:])
	}
	return true
}

func max32(x []float32) (float32, bool) {
	wide, ok := vectors()
	if !ok {
		return 0, false
	}
	m := float32(math.Inf(-1))
	n := whole(wide, len(x))
	for i := 0; i < n; i += callElements {
		if v := callLargest(wide, at(x, i), uintptr(min(callElements, n-i))); v > m || v != v {
			m = v
		}
	}
	for _, v := range x[n:] {
		if v > m || v != v {
			m = v
		}
	}
	return m, true
}

func min32(x []float32) (float32, bool) {
	wide, ok := vectors()
	if !ok {
		return 0, false
	}
	m := float32(math.Inf(1))
	n := whole(wide, len(x))
	for i := 0; i < n; i += callElements {
		if v := callSmallest(wide, at(x, i), uintptr(min(callElements, n-i))); v < m || v != v {
			m = v
		}
	}
	for _, v := range x[n:] {
		if v < m || v != v {
			m = v
		}
	}
	return m, true
}

func adam32(w, m, v, g []float32, scalars [6]float32) bool {
	wide, ok := vectors()
	if !ok {
		return false
	}
	n := whole(wide, len(w))
	for i := 0; i < n; i += callElements {
		callAdam(wide, at(w, i), at(m, i), at(v, i), at(g, i), uintptr(min(callElements, n-i)), unsafe.Pointer(&scalars))
	}
	if n < len(w) {
		var p, q, r, s buffer
		copy(p[:], w[n:])
		copy(q[:], m[n:])
		copy(r[:], v[n:])
		copy(s[:], g[n:])
		callAdam(wide, &p[0], &q[0], &r[0], &s[0], uintptr(len(p)), unsafe.Pointer(&scalars))
		copy(w[n:], p[:])
		copy(m[n:], q[:])
		copy(v[n:], r[:])
	}
	return true
}

func momentum32(w, velocity, g []float32, scalars [3]float32, nesterov bool) bool {
	wide, ok := vectors()
	if !ok {
		return false
	}
	n := whole(wide, len(w))
	for i := 0; i < n; i += callElements {
		length := uintptr(min(callElements, n-i))
		if nesterov {
			callNesterov(wide, at(w, i), at(velocity, i), at(g, i), length, unsafe.Pointer(&scalars))
		} else {
			callMomentum(wide, at(w, i), at(velocity, i), at(g, i), length, unsafe.Pointer(&scalars))
		}
	}
	if n < len(w) {
		var p, q, r buffer
		copy(p[:], w[n:])
		copy(q[:], velocity[n:])
		copy(r[:], g[n:])
		if nesterov {
			callNesterov(wide, &p[0], &q[0], &r[0], uintptr(len(p)), unsafe.Pointer(&scalars))
		} else {
			callMomentum(wide, &p[0], &q[0], &r[0], uintptr(len(p)), unsafe.Pointer(&scalars))
		}
		copy(w[n:], p[:])
		copy(velocity[n:], q[:])
	}
	return true
}

func widen(kind halfKind, wide bool, dst *float32, x *uint16, n int) {
	if kind == f16 {
		callWidenF16(wide, dst, unsafe.Pointer(x), uintptr(n))
	} else {
		callWidenBF16(wide, dst, unsafe.Pointer(x), uintptr(n))
	}
}

func narrow(kind halfKind, wide bool, dst *uint16, x *float32, n int) {
	if kind == f16 {
		callNarrowF16(wide, unsafe.Pointer(dst), x, uintptr(n))
	} else {
		callNarrowBF16(wide, unsafe.Pointer(dst), x, uintptr(n))
	}
}

func widen32(kind halfKind, dst []float32, x []uint16) bool {
	wide, ok := vectors()
	if !ok {
		return false
	}
	n := whole(wide, len(dst))
	for i := 0; i < n; i += callElements {
		widen(kind, wide, &dst[i], &x[i], min(callElements, n-i))
	}
	if n < len(dst) {
		var p [16]uint16
		var q buffer
		copy(p[:], x[n:])
		widen(kind, wide, &q[0], &p[0], len(p))
		copy(dst[n:], q[:])
	}
	return true
}

func narrow32(kind halfKind, dst []uint16, x []float32) bool {
	wide, ok := vectors()
	if !ok {
		return false
	}
	n := whole(wide, len(dst))
	for i := 0; i < n; i += callElements {
		narrow(kind, wide, &dst[i], &x[i], min(callElements, n-i))
	}
	if n < len(dst) {
		var p [16]uint16
		var q buffer
		copy(q[:], x[n:])
		narrow(kind, wide, &p[0], &q[0], len(p))
		copy(dst[n:], p[:])
	}
	return true
}

// divides reports whether c channels are whole vectors, and whether they are whole vectors of AVX-512.
func divides(c int) (wide, ok bool) {
	wide, ok = vectors()
	return wide && c%16 == 0, ok && c%8 == 0
}

// fills reports whether c elements fill at least one vector, so that the last vector of a row may overlap the one
// before it, and whether they fill one of AVX-512.
func fills(c int) (wide, ok bool) {
	wide, ok = vectors()
	return wide && c >= 16, ok && c >= 8
}
