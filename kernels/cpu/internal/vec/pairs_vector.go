//go:build amd64 || arm64

package vec

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// widenRows widens as many rows as can be read in whole vectors, and returns how many.
func (h Half) widenRows(dst []float32, x []uint16, columns, rows, to, from int) int {
	wide, ok := vectors()
	whole := (columns + 15) / 16 * 16
	if !ok || to < whole || from < 0 {
		return 0
	}
	for rows > 0 && ((rows-1)*from+whole > len(x) || (rows-1)*to+whole > len(dst)) {
		rows--
	}
	most := max(callElements/whole, 1)
	for i := 0; i < rows; i += most {
		n := uintptr(min(most, rows-i))
		if h == f16 {
			callWidenRowsF16(wide, &dst[i*to], unsafe.Pointer(&x[i*from]), uintptr(whole), n, uintptr(4*to), uintptr(2*from))
		} else {
			callWidenRowsBF16(wide, &dst[i*to], unsafe.Pointer(&x[i*from]), uintptr(whole), n, uintptr(4*to), uintptr(2*from))
		}
	}
	return rows
}

// columnsOf calls f for pieces of the columns that are whole vectors. The last piece ends with the last column and may
// overlap the one before it. It returns false if there are fewer columns than a vector of eight.
func columnsOf(columns int, wide bool, f func(wide bool, first, n int)) bool {
	if columns < 8 {
		return false
	}
	width := 8
	if wide = wide && columns >= 16; wide {
		width = 16
	}
	whole := columns / width * width
	f(wide, 0, whole)
	switch left := columns - whole; {
	case left > 8:
		f(wide, columns-width, width)
	case left > 0:
		f(false, columns-8, 8)
	}
	return true
}

const (
	stagedRows = 64
	stagedLine = 8 // numbers of a row in the buffer
)

// staged is a buffer for rows of less than a vector: kernels write whole vectors here.
type staged [stagedRows * stagedLine]uint16

// rows rounds rows of fewer than eight columns. f rounds n rows from row first on, in whole vectors, to rows of
// stagedLine numbers. It returns how many rows could be read in vectors.
func (s *staged) rows(dst []uint16, length, columns, rows, to, from int, f func(first, n int)) int {
	for rows > 0 && (rows-1)*from+stagedLine > length {
		rows--
	}
	for i := 0; i < rows; i += stagedRows {
		n := min(stagedRows, rows-i)
		f(i, n)
		for r := range n {
			row := dst[(i+r)*to:][:columns]
			line := s[r*stagedLine:][:stagedLine]
			for c := range row {
				row[c] = line[c]
			}
		}
	}
	return rows
}

// narrowRows rounds as many rows as can be read in whole vectors, and returns how many.
func (h Half) narrowRows(dst []uint16, x []float32, columns, rows, to, from int) int {
	wide, ok := vectors()
	if !ok || rows <= 0 {
		return 0
	}
	_, _ = dst[(rows-1)*to+columns-1], x[(rows-1)*from+columns-1]
	if columnsOf(columns, wide, func(wide bool, first, n int) {
		h.narrowVectors(wide, dst[first:], x[first:], n, rows, to, from)
	}) {
		return rows
	}
	var s staged
	return s.rows(dst, len(x), columns, rows, to, from, func(first, n int) {
		h.narrowVectors(false, s[:], x[first*from:], stagedLine, n, stagedLine, from)
	})
}

// narrowVectors rounds rows of whole vectors.
func (h Half) narrowVectors(wide bool, dst []uint16, x []float32, columns, rows, to, from int) {
	if rows == 1 {
		to = 0 // there is no next row to prefetch
	}
	most, rounding := max(callElements/columns, 1), h.rounding()
	for i := 0; i < rows; i += most {
		n := uintptr(min(most, rows-i))
		if h == f16 {
			callNarrowRowsF16(wide, unsafe.Pointer(&dst[i*to]), &x[i*from], uintptr(columns), n, uintptr(2*to), uintptr(4*from), rounding)
		} else {
			callNarrowRowsBF16(wide, unsafe.Pointer(&dst[i*to]), &x[i*from], uintptr(columns), n, uintptr(2*to), uintptr(4*from), rounding)
		}
	}
}

// rounding tells kernels that round sums whether the processor has an instruction for it: 0 if it does not. That
// instruction must not be used if a denormal may come from anything but arithmetic, which flushes denormals.
func (h Half) rounding() uintptr {
	if h == bf16 && isa.Active().Has(isa.AVX512BF16Round) {
		return 1
	}
	return 0
}
