package vec

import (
	"math"
	"unsafe"
)

func pairsRows() bool {
	_, ok := vectors()
	return ok
}

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

// roundPairs is RoundPairs for whole pairs of rows, if the processor rounds with an instruction. It returns how many
// rows it processed.
func (h Half) roundPairs(panels []uint32, dst []uint16, x []float32, columns, rows, panel, to, from int) int {
	wide, ok := vectors()
	if rows /= 2; rows == 0 || !ok || !wide || h.rounding() == 0 || columns%16 != 0 || to < columns {
		return 0
	}
	_, _ = dst[(2*rows-1)*to+columns-1], x[(2*rows-1)*from+columns-1]
	_ = panels[(columns-1)/pairColumns*panel+(rows-1)*pairColumns+(columns-1)%pairColumns]
	most := max(callElements/(2*columns), 1)
	for i := 0; i < rows; i += most {
		callRoundPairs(unsafe.Pointer(&panels[i*pairColumns]), unsafe.Pointer(&dst[2*i*to]), &x[2*i*from], uintptr(columns), uintptr(min(most, rows-i)),
			uintptr(4*panel), uintptr(2*to), uintptr(4*from))
	}
	return 2 * rows
}

// roundAdd is RoundAdd as a chain. It returns false if chains cannot run.
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

// roundAddRows is RoundAddRows with a bias. It returns how many rows it could read in whole vectors.
func (h Half) roundAddRows(dst []uint16, x, y []float32, columns, rows, to, from int, relu bool) int {
	wide, ok := vectors()
	if !ok || rows <= 0 {
		return 0
	}
	_, _, _ = dst[(rows-1)*to+columns-1], x[(rows-1)*from+columns-1], y[columns-1]
	if columnsOf(columns, wide, func(wide bool, first, n int) {
		h.roundAddVectors(wide, dst[first:], x[first:], &y[first], n, rows, to, from, relu)
	}) {
		return rows
	}
	var s staged
	var bias [stagedLine]float32
	copy(bias[:], y[:columns])
	return s.rows(dst, len(x), columns, rows, to, from, func(first, n int) {
		h.roundAddVectors(false, s[:], x[first*from:], &bias[0], stagedLine, n, stagedLine, from, relu)
	})
}

// roundAddVectors is RoundAddRows for rows of whole vectors.
func (h Half) roundAddVectors(wide bool, dst []uint16, x []float32, y *float32, columns, rows, to, from int, relu bool) {
	floor := &floors[0]
	if relu {
		floor = &floors[1]
	}
	if rows == 1 {
		to = 0 // there is no next row to prefetch
	}
	most, rounding := max(callElements/columns, 1), h.rounding()
	for i := 0; i < rows; i += most {
		n := uintptr(min(most, rows-i))
		if h == f16 {
			callNarrowRowsAddedF16(wide, unsafe.Pointer(&dst[i*to]), &x[i*from], y, floor, uintptr(columns), n, uintptr(2*to), uintptr(4*from), rounding)
		} else {
			callNarrowRowsAddedBF16(wide, unsafe.Pointer(&dst[i*to]), &x[i*from], y, floor, uintptr(columns), n, uintptr(2*to), uintptr(4*from), rounding)
		}
	}
}

const subtractedRows = 32 // rows whose last columns, less than a vector, are subtracted together

// subtractRows is SubtractRows. It returns how many columns it processed.
func (h Half) subtractRows(dst, x []float32, rate float32, columns, rows, to, from int) int {
	wide, ok := vectors()
	if !ok || rows <= 0 || columns <= 0 {
		return 0
	}
	_, _ = dst[(rows-1)*to+columns-1], x[(rows-1)*from+columns-1]
	whole := columns / 16 * 16
	if whole > 0 {
		h.subtractVectors(wide, dst, x, -rate, whole, rows, to, from)
	}
	var variable, gradient [16 * subtractedRows]float32
	left := columns - whole
	for i := 0; i < rows && left > 0; i += subtractedRows {
		n := min(subtractedRows, rows-i)
		for r := range n {
			copy(variable[16*r:][:left], dst[(i+r)*to+whole:])
			copy(gradient[16*r:][:left], x[(i+r)*from+whole:])
		}
		h.subtractVectors(wide, variable[:], gradient[:], -rate, 16, n, 16, 16)
		for r := range n {
			copy(dst[(i+r)*to+whole:][:left], variable[16*r:])
		}
	}
	return columns
}

// subtractVectors rounds rows of whole vectors and adds factor times them.
func (h Half) subtractVectors(wide bool, dst, x []float32, factor float32, columns, rows, to, from int) {
	most, rounding := max(callElements/columns, 1), h.rounding()
	for i := 0; i < rows; i += most {
		n := uintptr(min(most, rows-i))
		if h == f16 {
			callSubtractRowsF16(wide, &dst[i*to], &x[i*from], &factor, uintptr(columns), n, uintptr(4*to), uintptr(4*from), rounding)
		} else {
			callSubtractRowsBF16(wide, &dst[i*to], &x[i*from], &factor, uintptr(columns), n, uintptr(4*to), uintptr(4*from), rounding)
		}
	}
}
