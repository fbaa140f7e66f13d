package vec

import (
	"math"
	"unsafe"
)

// pairRows interleaves as many pairs of rows as can be read in whole vectors, and returns how many.
func pairRows(dst []uint32, x []uint16, columns, pairs, to, from int) int {
	wide, ok := vectors()
	if !ok {
		return 0
	}
	whole := (columns + 15) / 16 * 16
	if to < whole || from < 0 {
		return 0
	}
	for pairs > 0 && ((2*pairs-1)*from+whole > len(x) || (pairs-1)*to+whole > len(dst)) {
		pairs--
	}
	most := max(callElements/whole, 1)
	for i := 0; i < pairs; i += most {
		callPairRows(wide, unsafe.Pointer(&dst[i*to]), unsafe.Pointer(&x[2*i*from]), uintptr(whole), uintptr(min(most, pairs-i)), uintptr(4*to), uintptr(2*from))
	}
	return pairs
}

// roundAdd is RoundAdd as a chain; it reports whether chains run.
func (h Half) roundAdd(dst []uint16, x, y []float32, relu bool) bool {
	if !Chains() {
		return false
	}
	round, store := ChainRoundBF16, ChainStoreBF16
	if h == f16 {
		round, store = ChainRoundF16, ChainStoreF16
	}
	steps := [6]ChainStep{{Op: ChainLoad, X: unsafe.Pointer(&x[0])}, {Op: round}, {Op: ChainAdd, X: unsafe.Pointer(&y[0])}, {Op: round},
		{Op: store, X: unsafe.Pointer(&dst[0])}}
	n := 5
	if relu {
		steps[4], steps[5], n = ChainStep{Op: ChainRelu}, steps[4], 6
	}
	Chain(steps[:n], len(dst))
	return true
}

var floors = [2]float32{float32(math.Inf(-1)), 0}

// roundAddRows does so with a bias.
func (h Half) roundAddRows(dst []uint16, x, y []float32, columns, rows, to, from int, relu bool) int {
	whole, wide, ok := wholeVectors(columns, rows)
	if !ok {
		return 0
	}
	_, _, _ = dst[(rows-1)*to+whole-1], x[(rows-1)*from+whole-1], y[whole-1]
	floor := &floors[0]
	if relu {
		floor = &floors[1]
	}
	most := max(callElements/whole, 1)
	for i := 0; i < rows; i += most {
		n := uintptr(min(most, rows-i))
		if h == f16 {
			callNarrowRowsAddedF16(wide, unsafe.Pointer(&dst[i*to]), &x[i*from], &y[0], floor, uintptr(whole), n, uintptr(2*to), uintptr(4*from))
		} else {
			callNarrowRowsAddedBF16(wide, unsafe.Pointer(&dst[i*to]), &x[i*from], &y[0], floor, uintptr(whole), n, uintptr(2*to), uintptr(4*from))
		}
	}
	return whole
}

// subtractRows does the whole vectors of SubtractRows, and returns how many columns those are.
func (h Half) subtractRows(dst, x []float32, rate float32, columns, rows, to, from int) int {
	whole, wide, ok := wholeVectors(columns, rows)
	if !ok {
		return 0
	}
	_, _ = dst[(rows-1)*to+whole-1], x[(rows-1)*from+whole-1]
	factor, most := -rate, max(callElements/whole, 1)
	for i := 0; i < rows; i += most {
		n := uintptr(min(most, rows-i))
		if h == f16 {
			callSubtractRowsF16(wide, &dst[i*to], &x[i*from], &factor, uintptr(whole), n, uintptr(4*to), uintptr(4*from))
		} else {
			callSubtractRowsBF16(wide, &dst[i*to], &x[i*from], &factor, uintptr(whole), n, uintptr(4*to), uintptr(4*from))
		}
	}
	return whole
}
