package cpu

import (
	"math"
	"math/bits"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
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
	networkBlock  = 4 << 10 // about how many elements are sorted at a time
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
	n, k, inner   int // elements of a line; how many are stored; distance between neighbours
	at            []int32
	columns, rows []uint64 // a block, column by column, and memory for it line by line
	base, to      []uint64 // by line: where its first elements are in x and y
}

// sortByNetwork is sortLines for many short lines.
func sortByNetwork[T uint8 | uint16 | uint32 | uint64](b *build, g geometry.AxisGroup, k int, keys sortKeys) func() {
	in, values, positions := b.in(0), b.out(0), b.out(1)
	n, lines := g.Length, g.Outer*g.Inner
	most := min(max(networkBlock/n&^15, 16), lines)
	if most%128 == 0 {
		most -= 8 // columns this far apart would evict each other from the cache
	}
	words := (2*n + 2) * most
	b.rt().need(8 * words)
	return b.rt().parallel((lines+most-1)/most, grain(20*n*most), func(w *worker, lo, hi int) {
		scratch := scratchOf[uint64](w, words)
		s := network{sortKeys: keys, n: n, k: k, inner: g.Inner, at: plan.Data[int32](positions)}
		x, y := plan.Data[T](in), plan.Data[T](values)
		s.x = unsafe.Pointer(unsafe.SliceData(x))
		for block := lo; block < hi; block++ {
			first := block * most
			count := min(most, lines-first)
			s.columns, s.rows = scratch[:n*count], scratch[n*most:][:n*count]
			s.base, s.to = scratch[2*n*most:][:count], scratch[(2*n+1)*most:][:count]
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

// networkSign makes a key of a number with a sign, in the same order. These are compared by fewer instructions.
const networkSign = 1 << 63

// loadNetwork fills the columns with pairs.
func loadNetwork[T uint8 | uint16 | uint32 | uint64](s *network, all []T) {
	flip, float := uint32(s.sign)^s.down, s.isFloat()
	columns := s.transposed(all)
	for j := range s.n {
		c := s.column(j)
		x := all[j*s.inner:]
		switch {
		case float && columns != nil:
			for i, v := range columns[j*len(c):][:len(c)] {
				c[i] = (uint64(floatKey(v)^s.down)<<32 | uint64(j)) ^ networkSign
			}
		case columns != nil:
			for i, v := range columns[j*len(c):][:len(c)] {
				c[i] = (uint64(v^flip)<<32 | uint64(j)) ^ networkSign
			}
		case float:
			for i, at := range s.base {
				c[i] = (uint64(floatKey(uint32(x[at]))^s.down)<<32 | uint64(j)) ^ networkSign
			}
		default:
			for i, at := range s.base {
				c[i] = (uint64(uint32(x[at])^flip)<<32 | uint64(j)) ^ networkSign
			}
		}
	}
}

// transposed returns the columns of contiguous lines of 32-bit elements; else nil.
func (s *network) transposed(all any) []uint32 {
	x, ok := all.([]uint32)
	if !ok || s.inner > 1 {
		return nil
	}
	lines := len(s.base)
	columns := block.View[float32](unsafe.Pointer(unsafe.SliceData(s.rows)), s.n*lines)
	transposeRows(columns, block.View[float32](unsafe.Pointer(&x[s.base[0]]), s.n*lines), s.n, lines, lines, s.n)
	return block.View[uint32](unsafe.Pointer(unsafe.SliceData(columns)), len(columns))
}

func (s *network) column(j int) []uint64 { return s.columns[j*len(s.base):][:len(s.base)] }

// loadWide fills the columns with 64-bit keys, relative to the least key, with the position in the lowest bits. If that
// takes too many bits, it drops the lowest bits of the keys and returns false.
func (s *network) loadWide() (exact bool) {
	lines := len(s.base)
	if s.inner == 1 {
		x := block.View[float64](unsafe.Add(s.x, 8*s.base[0]), s.n*lines)
		transposeRows(block.View[float64](unsafe.Pointer(unsafe.SliceData(s.columns)), len(x)), x, s.n, lines, lines, s.n)
	} else {
		for j := range s.n {
			c := s.column(j)
			for i, at := range s.base {
				c[i] = *(*uint64)(unsafe.Add(s.x, 8*(int(at)+j*s.inner)))
			}
		}
	}
	if s.wideRange() {
		for j := range s.n {
			s.cutKeys(s.column(j), uint64(j)^networkSign)
		}
		return false
	}
	least, most := s.wideKeys(s.columns)
	shift := max(bits.Len64(most-least)-(64-networkBits), 0)
	for j := range s.n {
		c := s.column(j)
		for i, key := range c {
			c[i] = ((key-least)>>(shift&63)<<networkBits | uint64(j)) ^ networkSign
		}
	}
	return shift == 0
}

// wideRange reports whether the keys of the first line alone need more bits than there are, as those of floats with
// both signs do.
func (s *network) wideRange() bool {
	least, most := uint64(math.MaxUint64), uint64(0)
	for j := range s.n {
		key := s.wideKey(int(s.base[0]) + j*s.inner)
		least, most = min(least, key), max(most, key)
	}
	return bits.Len64(most-least) > 64-networkBits
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
	vec.OrderLongs(block.View[int64](unsafe.Pointer(&s.columns[a*lines]), count*lines), block.View[int64](unsafe.Pointer(&s.columns[b*lines]), count*lines))
}

// order sorts elements that agree in all bits that were compared.
func (s *network) order() {
	for j := 1; j < s.n; j++ {
		before := s.column(j - 1)
		for i, pair := range s.column(j) {
			if (pair^before[i])>>networkBits == 0 {
				s.insert(i, j)
			}
		}
	}
}

// insert moves element j of a line to its place among those before it that agree with it in all bits that were
// compared.
func (s *network) insert(line, j int) {
	lines, at := len(s.base), int(s.base[line])
	key := func(pair uint64) uint64 { return s.wideKey(at + int(pair&(1<<networkBits-1))*s.inner) }
	pair, k := s.columns[j*lines+line], j
	wide := key(pair)
	for ; k > 0; k-- {
		other := s.columns[(k-1)*lines+line]
		if (other^pair)>>networkBits != 0 || key(other) <= wide {
			break
		}
		s.columns[k*lines+line] = other
	}
	s.columns[k*lines+line] = pair
}

// storeNetwork stores the first elements and their positions, which are in the bits of the mask.
func storeNetwork[T uint8 | uint16 | uint32 | uint64](s *network, all, x []T, mask uint64) {
	if s.inner == 1 && (s.n > 2 || unsafe.Sizeof(x[0]) > 2) {
		storeSorted(s, all, x, mask)
		return
	}
	for j := range s.k {
		y, at := all[j*s.inner:], s.at[j*s.inner:]
		for i, pair := range s.column(j) {
			from, to := pair&mask, s.to[i]
			y[to], at[to] = x[s.base[i]+from*uint64(s.inner)], int32(from)
		}
	}
}

// storeSorted is storeNetwork for contiguous lines.
func storeSorted[T uint8 | uint16 | uint32 | uint64](s *network, all, x []T, mask uint64) {
	lines, k := len(s.base), s.k
	size := lines * k
	rows := block.View[float64](unsafe.Pointer(unsafe.SliceData(s.rows)), size)
	transposeRows(rows, block.View[float64](unsafe.Pointer(unsafe.SliceData(s.columns)), size), lines, k, k, lines)
	pairs, y, at := s.rows[:size], all[s.to[0]:][:size], s.at[s.to[0]:][:size]
	for x = x[s.base[0]:]; len(pairs) > 0; pairs, y, at, x = pairs[k:], y[k:], at[k:], x[s.n:] {
		line := unsafe.Pointer(unsafe.SliceData(x[:s.n]))
		to, places := y[:k], at[:k]
		for j, pair := range pairs[:k] {
			from := uintptr(pair & mask) // of an element of the line
			to[j], places[j] = *(*T)(unsafe.Add(line, from*unsafe.Sizeof(to[j]))), int32(from)
		}
	}
}
