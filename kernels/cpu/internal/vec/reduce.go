package vec

import (
	"math"
	"unsafe"
)

// sumBlock is the number of elements of a leaf of a pairwise sum.
const sumBlock = 1024

// Sum returns the sum of x.
func Sum[T Float](x []T) T {
	if len(x) > sumBlock {
		half := split(len(x))
		return Sum(x[:half]) + Sum(x[half:])
	}
	if single[T]() {
		if s, ok := sum32(as32(x)); ok {
			return T(s)
		}
	}
	var s [8]T
	i := 0
	if !single[T]() {
		i = lanes64((*[8]float64)(unsafe.Pointer(&s)), as64(x))
	}
	for ; i+8 <= len(x); i += 8 {
		v := x[i : i+8 : i+8]
		for j := range s {
			s[j] += v[j]
		}
	}
	for j, v := range x[i:] {
		s[j] += v
	}
	return join(&s)
}

// leastProducts64 is the fewest products of float64 that are worth a call.
const leastProducts64 = 48

// Dot returns Σ a·b.
func Dot[T Float](a, b []T) T {
	b = b[:len(a)]
	if len(a) > sumBlock {
		half := split(len(a))
		return Dot(a[:half], b[:half]) + Dot(a[half:], b[half:])
	}
	if single[T]() {
		if s, ok := dot32(as32(a), as32(b)); ok {
			return T(s)
		}
	}
	var s [8]T
	i := 0
	if !single[T]() && len(a) >= leastProducts64 {
		i = products64((*[8]float64)(unsafe.Pointer(&s)), as64(a), as64(b))
	}
	for ; i+8 <= len(a); i += 8 {
		v, w := a[i:i+8:i+8], b[i:i+8:i+8]
		for j := range s {
			s[j] += T(v[j] * w[j]) // rounded, as in the vector kernel
		}
	}
	for j, v := range a[i:] {
		s[j] += T(v * b[i+j])
	}
	return join(&s)
}

// split returns about half of n, in whole blocks.
func split(n int) int { return ((n-1)/sumBlock + 1) / 2 * sumBlock }

func join[T Float](s *[8]T) T {
	return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
}

// MaxOf returns the largest element of x, NaN if there is one, and −Inf for none.
func MaxOf[T Float](x []T) T {
	if single[T]() {
		if m, ok := max32(as32(x)); ok {
			return T(m)
		}
	}
	m, i := T(math.Inf(-1)), 0
	if !single[T]() {
		v, n := extreme64(true, as64(x))
		m, i = T(v), n
	}
	for _, v := range x[i:] {
		if v > m || v != v {
			m = v
		}
	}
	return m
}

// MinOf returns the smallest element of x, NaN if there is one, and +Inf for none.
func MinOf[T Float](x []T) T {
	if single[T]() {
		if m, ok := min32(as32(x)); ok {
			return T(m)
		}
	}
	m, i := T(math.Inf(1)), 0
	if !single[T]() {
		v, n := extreme64(false, as64(x))
		m, i = T(v), n
	}
	for _, v := range x[i:] {
		if v < m || v != v {
			m = v
		}
	}
	return m
}

// Softmax stores eˣ⁻ᵐ / Σ eˣ⁻ᵐ with m the maximum of x. A row that contains NaN or +Inf, or only −Inf, becomes NaN.
func Softmax[T Float](dst, x []T) {
	x = x[:len(dst)]
	if len(dst) == 0 {
		return
	}
	Scale(dst, dst, 1/ExpAffine(dst, x, 1, -MaxOf(x), 1))
}

// ExpAffine stores c·exp(a·x + b) and returns the sum of what it stored.
func ExpAffine[T Float](dst, x []T, a, b, c T) T {
	x = x[:len(dst)]
	if len(dst) > sumBlock {
		half := split(len(dst))
		return ExpAffine(dst[:half], x[:half], a, b, c) + ExpAffine(dst[half:], x[half:], a, b, c)
	}
	if single[T]() {
		if s, ok := expAffine32(as32(dst), as32(x), [3]float32{float32(a), float32(b), float32(c)}); ok {
			return T(s)
		}
	}
	var s [8]T
	done := 0
	if !single[T]() {
		done = expAffine64((*[8]float64)(unsafe.Pointer(&s)), as64(dst), as64(x), [3]float64{float64(a), float64(b), float64(c)})
	}
	rest := dst[done:]
	for i, v := range x[done:] {
		rest[i] = T(a*v) + b
	}
	Exp(rest, rest)
	if c != 1 {
		Scale(rest, rest, c)
	}
	if done == 0 {
		return Sum(dst)
	}
	for i, v := range rest { // like Sum
		s[i] += v
	}
	return join(&s)
}
