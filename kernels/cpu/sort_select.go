package cpu

import (
	"math"
	"slices"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/ir"
)

const (
	fewFirst     = 16 // largest number of first elements that are kept in order while the line is read
	fewFirstWide = 48 // the same for 64-bit elements
	manyTimes    = 8  // ratio of the line's length to k from which on most elements are dropped while the line is read
	keysAhead    = 64 // pairs that are then loaded at a time
)

// insertFirst returns the first k elements of a line in order. It keeps them in order while it reads the line.
func (l *sortedLine) insertFirst(k int) []uint64 {
	best := l.pairs[:k]
	l.load(best, 0, l.stride)
	insertionSort(best)
	for base := k; base < l.n; base += keysAhead {
		block := l.spare[:min(keysAhead, l.n-base)]
		l.load(block, base, l.stride)
		last := best[k-1]
		for _, pair := range block {
			if pair >= last {
				continue
			}
			i := k - 1
			for ; i > 0 && pair < best[i-1]; i-- {
				best[i] = best[i-1]
			}
			best[i] = pair
			last = best[k-1]
		}
	}
	return best
}

// insertFirstWide is insertFirst for 64-bit keys.
func (l *sortedLine) insertFirstWide(k int) []uint64 {
	keys, best := l.spare[:k], l.pairs[:k]
	have, float, last := 0, l.d == ir.Float64, uint64(0)
	flip := l.sign ^ (uint64(l.down)<<32 | uint64(l.down))
	for at := range l.n {
		key := *(*uint64)(unsafe.Add(l.x, at*l.stride*8))
		if float {
			key = doubleKey(key)
		}
		if key ^= flip; key >= last && have == k {
			continue
		}
		i := have
		if have == k {
			i--
		} else {
			have++
		}
		for ; i > 0 && key < keys[i-1]; i-- {
			keys[i], best[i] = keys[i-1], best[i-1]
		}
		keys[i], best[i] = key, uint64(at)
		last = keys[have-1]
	}
	return best
}

// filterFirst moves the first k elements to the front, in any order. While it reads the line, it drops elements that
// come after k others.
func (l *sortedLine) filterFirst(k int) {
	have, limit := 0, uint64(math.MaxUint64)
	for base := 0; base < l.n; base += keysAhead {
		block := l.spare[:min(keysAhead, l.n-base)]
		l.load(block, base, l.stride)
		for _, pair := range block {
			if pair < limit {
				l.pairs[have] = pair
				have++
			}
		}
		if have >= 2*k+keysAhead && l.n-base > keysAhead {
			selectPairs(l.pairs[:have], l.spare, k-1, l.digits())
			have, limit = k, l.pairs[k-1]
		}
	}
	selectPairs(l.pairs[:have], l.spare, k-1, l.digits())
}

// partition moves the elements for the places kth, which are strictly increasing, to where sorting would put them, with
// all smaller elements before them.
func (l *sortedLine) partition(kth []int) {
	begin := 0
	for _, k := range kth {
		pairs, k := l.pairs[begin:], k-begin
		if l.wide() {
			l.selectWide(pairs, k)
		} else {
			selectPairs(pairs, l.spare, k, l.digits())
		}
		begin += k + 1
	}
}

// selectWide is selectPairs for 64-bit keys. It selects by the upper halves, and then by the lower halves of the pairs
// that share the upper half of the k-th.
func (l *sortedLine) selectWide(pairs []uint64, k int) {
	lo, hi := divide(pairs, l.spare, k, 4, 32)
	if hi-lo <= fewPairs {
		slices.Sort(pairs[lo:hi])
		for pairs[lo]>>32 != pairs[k]>>32 {
			lo++
		}
		hi = lo + runOf(pairs[lo:hi])
	}
	run := pairs[lo:hi]
	if len(run) == 1 {
		return
	}
	l.reload(run, l.stride, true)
	selectPairs(run, l.spare, k-lo, 4)
	l.reload(run, l.stride, false)
}

// selectPairs moves the k-th of the pairs to its place, with smaller ones before it. Among these, equal keys keep their
// order. Keys have the given number of 8-bit digits.
func selectPairs(pairs, spare []uint64, k, digits int) {
	switch last := len(pairs) - 1; k {
	case 0:
		least := 0
		for i, pair := range pairs {
			if pair < pairs[least] {
				least = i
			}
		}
		pairs[0], pairs[least] = pairs[least], pairs[0]
	case last:
		most := 0
		for i, pair := range pairs {
			if pair > pairs[most] {
				most = i
			}
		}
		pair := pairs[most]
		copy(pairs[most:], pairs[most+1:])
		pairs[last] = pair
	default:
		lo, hi := divide(pairs, spare, k, digits, 0)
		slices.Sort(pairs[lo:hi])
	}
}

// fewPairs is the largest number of pairs that are sorted rather than divided further.
const fewPairs = 24

// divide narrows down the range that contains the k-th of the pairs, with smaller pairs before it and larger ones after
// it. It stops at a few pairs, or at pairs that agree in all bits from end up. It divides the pairs by their highest
// digit, and those with the digit of the k-th by the next digit. The time is therefore linear for any input.
func divide(pairs, spare []uint64, k, digits, end int) (lo, hi int) {
	hi = len(pairs)
	for shift := 24 + 8*digits; shift >= end && hi-lo > fewPairs; shift -= 8 {
		var count [256]uint32
		for _, pair := range pairs[lo:hi] {
			count[uint8(pair>>shift)]++
		}
		digit, below := 0, lo
		for ; below+int(count[digit]) <= k; digit++ {
			below += int(count[digit])
		}
		if same := int(count[digit]); same < hi-lo {
			scatterByDigit(pairs[lo:hi], spare, shift, digit, below-lo, below-lo+same)
			lo, hi = below, below+same
		}
	}
	return lo, hi
}

// scatterByDigit orders the pairs by whether their digit is smaller than, equal to or larger than the given one. Equal
// ones begin at place equal, larger ones at place above.
func scatterByDigit(pairs, spare []uint64, shift, digit, equal, above int) {
	var class [256]uint8
	for i := range class {
		switch {
		case i == digit:
			class[i] = 1
		case i > digit:
			class[i] = 2
		}
	}
	to := [4]int{0, equal, above}
	for _, pair := range pairs {
		at := &to[class[uint8(pair>>shift)]&3]
		spare[*at] = pair
		*at++
	}
	copy(pairs, spare)
}
