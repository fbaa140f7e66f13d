package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/geometry"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
)

// 8-bit and 16-bit integers are sorted by counting. How often each digit occurs determines where the positions of its
// elements go. The elements themselves follow from the digits, so they need not be moved.

// leastByDigits is the length from which on counting pays. For shorter lines, most of the time goes into the 256
// digits.
const leastByDigits = 1 << 12

// mostByDigits is the longest line for which a position and a digit fit into 32 bits.
const mostByDigits = 1 << 24

// sortsByDigits reports whether lines of n elements are sorted by counting. They are not if only a few first elements,
// or a few places, are needed, which takes less work.
func sortsByDigits(d *sortKeys, n, k int, kth []int) bool {
	return d.d.Size() <= 2 && !d.d.IsFloat() && len(kth) == 0 && n >= leastByDigits && n <= mostByDigits && 2*k > n
}

// sortByDigits is sortLines for elements of one or two digits.
func sortByDigits[T uint8 | uint16](b *build, g geometry.AxisGroup, k int, keys sortKeys) func() {
	in, values, positions := b.in(0), b.out(0), b.out(1)
	n, digits := g.Length, keys.digits()
	flip := uint16(uint32(keys.sign) ^ keys.down)
	b.rt().need(4 * n * (digits - 1))
	return b.rt().parallel(g.Outer*g.Inner, grain(4*n*digits), func(w *worker, lo, hi int) {
		x, y, at := plan.Data[T](in), plan.Data[T](values), plan.Data[int32](positions)
		l := digitLine[T]{n: n, k: k, stride: g.Inner, flip: flip, spare: scratchOf[uint32](w, n*(digits-1))}
		for line := lo; line < hi; line++ {
			o, c := line/g.Inner, line%g.Inner
			l.x, l.y, l.at = x[o*n*g.Inner+c:], y[o*k*g.Inner+c:], at[o*k*g.Inner+c:]
			if digits == 1 {
				l.sortBytes()
			} else {
				l.sortWords()
			}
		}
	})
}

// digitLine is a line of n elements, stride apart, of which the first k in order are needed. flip holds the bits that
// turn an element into its key.
type digitLine[T uint8 | uint16] struct {
	n, k, stride int
	flip         uint16
	x, y         []T
	at           []int32
	spare        []uint32
}

// digitPlaces turns counts into the places where the counted elements begin.
func digitPlaces(counts *[256]uint32) {
	at := uint32(0)
	for i, c := range counts {
		counts[i] = at
		at += c
	}
}

// put stores a position, if its place is among those needed.
func (l *digitLine[T]) put(to uint32, position int32) {
	if int(to) < l.k {
		l.at[int(to)*l.stride] = position
	}
}

// fill stores a key at the places from lo to hi that are needed.
func (l *digitLine[T]) fill(lo, hi uint32, key uint16) {
	v := T(key ^ l.flip)
	for i := int(lo); i < min(int(hi), l.k); i++ {
		l.y[i*l.stride] = v
	}
}

func (l *digitLine[T]) sortBytes() {
	if l.stride == 1 && l.k == l.n {
		l.sortAllBytes()
		return
	}
	var counts, next [256]uint32
	flip := uint8(l.flip)
	for i := range l.n {
		counts[uint8(l.x[i*l.stride])^flip]++
	}
	digitPlaces(&counts)
	next = counts
	for i := range l.n {
		to := &next[uint8(l.x[i*l.stride])^flip]
		l.put(*to, int32(i))
		*to++
	}
	for key, lo := range counts {
		l.fill(lo, next[key], uint16(key))
	}
}

// sortAllBytes is sortBytes for a contiguous line whose elements are all needed.
func (l *digitLine[T]) sortAllBytes() {
	var counts, others, next [256]uint32 // two counters, because equal neighbours would wait for each other
	flip, x, at := uint8(l.flip), l.x[:l.n], l.at[:l.n]
	for i := 1; i < len(x); i += 2 {
		counts[uint8(x[i-1])^flip]++
		others[uint8(x[i])^flip]++
	}
	if len(x)%2 == 1 {
		counts[uint8(x[len(x)-1])^flip]++
	}
	for i, c := range others {
		counts[i] += c
	}
	digitPlaces(&counts)
	next = counts
	for i, v := range x {
		to := &next[uint8(v)^flip]
		at[*to] = int32(i)
		*to++
	}
	for key, lo := range counts {
		fillWith(l.y[lo:next[key]], T(uint16(key)^l.flip))
	}
}

// sortWords sorts the positions by the lower digits first, with the upper ones beside them, and then by these.
func (l *digitLine[T]) sortWords() {
	var lower, upper, next [256]uint32
	spare := l.spare[:l.n]
	for i := range l.n {
		key := uint16(l.x[i*l.stride]) ^ l.flip
		lower[uint8(key)]++
		upper[key>>8]++
	}
	digitPlaces(&lower)
	digitPlaces(&upper)
	next = lower
	for i := range l.n {
		key := uint16(l.x[i*l.stride]) ^ l.flip
		to := &next[uint8(key)]
		spare[*to] = uint32(key>>8)<<24 | uint32(i)
		*to++
	}
	for digit, lo := range lower {
		for _, v := range spare[lo:next[digit]] {
			to := &upper[v>>24]
			if int(*to) < l.k {
				l.at[int(*to)*l.stride] = int32(v & (mostByDigits - 1))
				l.y[int(*to)*l.stride] = T((uint16(v>>24)<<8 | uint16(digit)) ^ l.flip)
			}
			*to++
		}
	}
}
