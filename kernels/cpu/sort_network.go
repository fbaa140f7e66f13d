package cpu

import (
	"math"
	"math/bits"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/geometry"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// Many short lines are sorted side by side. A block of lines is transposed: the first elements of all lines are
// contiguous, then the second ones, and so on. Vector kernels then run a network of comparisons, which is the same
// whatever the elements are, on all lines at once.

const (
	networkLength = 128     // longest lines that are sorted this way
	networkBits   = 7       // bits of a position in such a line
	networkLines  = 16      // least number of lines
	networkBlock  = 8 << 10 // about how many elements are sorted at a time
	networkPiece  = 512     // how many elements are compared in one call
)

// sortsByNetwork reports whether a network finds the first k elements of the given number of lines of n. It does not if
// a few elements of long lines are kept in order while the lines are read, or if a few places are found without
// sorting.
func sortsByNetwork(lines, n, k int, kth []int) bool {
	if lines < networkLines || n < 2 || n > networkLength {
		return false
	}
	if len(kth) > 0 {
		return n <= networkLength/2
	}
	return k > fewFirst || 4*k >= n
}

// network sorts blocks of lines.
type network struct {
	sortKeys
	n, k, inner    int // elements of a line; how many are stored; distance between neighbours
	at             []int32
	columns, spare []uint64
	base, to       []uint64 // by line: where its first elements are in x and y
}

// sortByNetwork is sortLines for many short lines.
func sortByNetwork[T uint8 | uint16 | uint32 | uint64](b *build, g geometry.AxisGroup, k int, keys sortKeys) func() {
	in, values, positions := b.in(0), b.out(0), b.out(1)
	n, lines := g.Length, g.Outer*g.Inner
	most := min(max(networkBlock/n&^15, 16), lines)
	words := (n+2)*most + networkPiece
	b.rt().need(8 * words)
	return b.rt().parallel((lines+most-1)/most, grain(20*n*most), func(w *worker, lo, hi int) {
		scratch := scratchOf[uint64](w, words)
		s := network{sortKeys: keys, n: n, k: k, inner: g.Inner, at: plan.Data[int32](positions), spare: scratch[(n+2)*most:]}
		x, y := plan.Data[T](in), plan.Data[T](values)
		s.x = unsafe.Pointer(unsafe.SliceData(x))
		for block := lo; block < hi; block++ {
			first := block * most
			count := min(most, lines-first)
			s.columns, s.base, s.to = scratch[:n*count], scratch[n*most:][:count], scratch[(n+1)*most:][:count]
			s.place(first)
			mask := uint64(math.MaxUint32)
			if s.wide() {
				mask = 1<<networkBits - 1
				s.sortWide()
			} else {
				loadNetwork(&s, x)
				s.compare()
			}
			storeNetwork(&s, y, x, mask)
		}
	})
}

// place determines where lines are, from line first on, as many as there are bases.
func (s *network) place(first int) {
	o, c := first/s.inner, first%s.inner
	for i := range s.base {
		s.base[i], s.to[i] = uint64(o*s.n*s.inner+c), uint64(o*s.k*s.inner+c)
		if c++; c == s.inner {
			o, c = o+1, 0
		}
	}
}

// sortWide sorts lines with 64-bit keys.
func (s *network) sortWide() {
	exact := s.loadWide()
	s.compare()
	if !exact {
		s.order()
	}
}

// loadNetwork fills the columns with pairs.
func loadNetwork[T uint8 | uint16 | uint32 | uint64](s *network, all []T) {
	flip, float := uint32(s.sign)^s.down, s.isFloat()
	for j := range s.n {
		c := s.column(j)
		x := all[j*s.inner:]
		if float {
			for i, at := range s.base {
				c[i] = uint64(floatKey(uint32(x[at]))^s.down)<<32 | uint64(j)
			}
			continue
		}
		for i, at := range s.base {
			c[i] = uint64(uint32(x[at])^flip)<<32 | uint64(j)
		}
	}
}

func (s *network) column(j int) []uint64 { return s.columns[j*len(s.base):][:len(s.base)] }

// loadWide fills the columns with 64-bit keys, relative to the least key, with the position in the lowest bits. If that
// takes too many bits, it drops the lowest bits of the keys and returns false.
func (s *network) loadWide() (exact bool) {
	least, most := uint64(math.MaxUint64), uint64(0)
	for j := range s.n {
		c := s.column(j)
		for i, at := range s.base {
			key := s.wideKey(int(at) + j*s.inner)
			c[i] = key
			least, most = min(least, key), max(most, key)
		}
	}
	shift := max(bits.Len64(most-least)-(64-networkBits), 0)
	for j := range s.n {
		c := s.column(j)
		for i, key := range c {
			c[i] = (key-least)>>shift<<networkBits | uint64(j)
		}
	}
	return shift == 0
}

// compare sorts each line by Batcher's merge exchange, which takes lines of any length (Knuth, The Art of Computer
// Programming, volume 3, section 5.2.2, algorithm M). Neighbouring columns that are compared with neighbouring columns
// share a call.
func (s *network) compare() {
	top := 1 << (bits.Len(uint(s.n-1)) - 1)
	for p := top; p > 0; p /= 2 {
		for q, r, d := top, 0, p; ; q, r, d = q/2, p, q-p {
			for i := r; i < s.n-d; i += 2 * p {
				s.exchange(i, i+d, min(p, s.n-d-i))
			}
			if q == p {
				break
			}
		}
	}
}

// exchange compares and swaps count columns from a on with those from b on.
func (s *network) exchange(a, b, count int) {
	lines := len(s.base)
	x, y := s.columns[a*lines:][:count*lines], s.columns[b*lines:][:count*lines]
	for len(x) > 0 {
		n := min(len(x), networkPiece)
		smaller := s.spare[:n]
		vec.MinUlongs(smaller, x[:n], y[:n])
		vec.MaxUlongs(y[:n], x[:n], y[:n])
		copy(x, smaller)
		x, y = x[n:], y[n:]
	}
}

// order sorts elements that agree in all bits that were compared.
func (s *network) order() {
	lines := len(s.base)
	for i, at := range s.base {
		key := func(pair uint64) uint64 { return s.wideKey(int(at) + int(pair&(1<<networkBits-1))*s.inner) }
		for j := 1; j < s.n; j++ {
			pair := s.columns[j*lines+i]
			if pair>>networkBits != s.columns[(j-1)*lines+i]>>networkBits {
				continue
			}
			k, wide := j, key(pair)
			for ; k > 0 && s.columns[(k-1)*lines+i]>>networkBits == pair>>networkBits && key(s.columns[(k-1)*lines+i]) > wide; k-- {
				s.columns[k*lines+i] = s.columns[(k-1)*lines+i]
			}
			s.columns[k*lines+i] = pair
		}
	}
}

// storeNetwork stores the first elements and their positions, which are in the bits of the mask.
func storeNetwork[T uint8 | uint16 | uint32 | uint64](s *network, all, x []T, mask uint64) {
	for j := range s.k {
		y, at := all[j*s.inner:], s.at[j*s.inner:]
		for i, pair := range s.column(j) {
			from, to := pair&mask, s.to[i]
			y[to], at[to] = x[s.base[i]+from*uint64(s.inner)], int32(from)
		}
	}
}
