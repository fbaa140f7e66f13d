package micro

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/amx"
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// These functions make operands of pairs of bfloat16 for matrix registers. [TurnPairs] needs a processor with
// [Matrices]; the others run on all processors that multiply pairs in 512-bit vectors.

// TurnsPairs reports whether [TurnRows] and [CopyPairs] run.
func TurnsPairs() bool { return isa.Active().Has(isa.Vectors512) && pairs().Lanes > 1 }

// StepPairs is the number of pairs of a step of matrix registers.
const StepPairs = amx.Words

// TurnPairs makes rows of A from a matrix that is stored the other way. Its rows are from numbers apart. Pairs of rows
// become parts of [StepPairs] pairs of all columns, one part after the other. Zeros fill the last part up.
func TurnPairs(dst []float32, src []uint16, columns, rows, from int) {
	if columns <= 0 || rows <= 0 {
		return
	}
	dst, src = dst[:(rows+2*StepPairs-1)/(2*StepPairs)*StepPairs*columns], src[:(rows-1)*from+columns]
	amx.TurnPairs(unsafe.Pointer(&dst[0]), unsafe.Pointer(&src[0]), columns, rows, 2*from)
}

// TurnRows makes a panel of B from a matrix that is stored the other way: rows of that many numbers, from numbers
// apart, become columns of pairs. It stores whole vectors; what is behind the columns becomes zero or keeps its value.
func TurnRows(panel []float32, src []uint16, rows, numbers, from int) {
	width := PanelWidth[float32]()
	if rows <= 0 || numbers <= 0 {
		return
	}
	panel, src = panel[:(numbers+1)/2*width], src[:(rows-1)*from+numbers]
	amx.TurnRows(unsafe.Pointer(&panel[0]), unsafe.Pointer(&src[0]), min(rows, width), numbers, 2*from)
}

// CopyPairs copies rows of that many numbers, from numbers apart, to rows of pairs, to pairs apart. Pairs without
// numbers, up to the end of a whole step, are zeros.
func CopyPairs(dst []float32, src []uint16, rows, numbers, pairs, to, from int) {
	if rows <= 0 || numbers <= 0 {
		return
	}
	if need := (numbers + 1) / 2; pairs < need || pairs > (need+StepPairs-1)/StepPairs*StepPairs {
		panic("micro: pairs that are not those of the numbers, or of whole steps")
	}
	dst, src = dst[:(rows-1)*to+pairs], src[:(rows-1)*from+numbers]
	amx.CopyRows(unsafe.Pointer(&dst[0]), unsafe.Pointer(&src[0]), rows, numbers, pairs, 4*to, 2*from)
}
