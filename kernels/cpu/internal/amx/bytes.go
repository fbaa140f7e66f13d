package amx

import "unsafe"

// Bytes is a product of rows of bytes with a sign and panels of bytes without one, with sums of 32 bits:
//
//	C[r, c] = Start[r] + Σ_k A[r, k] · B[k, c]
//
// [StartBytes] sets Start to what takes an excess of 128 from the numbers of B again:
//
//	Start[r] = -128 · Σ_k A[r, k]
//
// A panel is [PanelColumns] columns in groups of four rows of B, which lie side by side, as kernels/cpu/internal/quant
// packs them. Rows of A have [BytesRow] bytes that PadRow has filled up. The operands have to have what their strides
// reach: nothing is checked here.
type Bytes struct {
	A, B, C unsafe.Pointer
	Start   unsafe.Pointer // for each row 16 times the same number of 32 bits

	Rows, Cols, Groups int // Groups of four numbers in each row of A and in each column of B
	ARow               int // bytes
	CRow               int // numbers
}

const (
	// PanelColumns is the number of columns of a panel.
	PanelColumns = 64
	// StartRow is the number of bytes that a row of Start has.
	StartRow = 64

	bytesRow   = 256 // bytes of a group of rows of a panel
	stepBytes  = 64  // of a row of A in a step
	stepGroups = stepBytes / 4
)

// BytesRow returns how many bytes a row of A of so many groups takes.
func BytesRow(groups int) int { return (groups + stepGroups - 1) / stepGroups * stepBytes }

// HasWholeSteps reports whether rows of so many bytes are multiplied as they are, without being filled up.
func HasWholeSteps(row int) bool { return row%stepBytes == 0 || row < stepBytes && row%4 == 0 }

// PadRow fills up a row of A that begins with so many groups. The last step ends with the panel, so that it may begin
// with groups that the step before has added up: they are zeros there.
func PadRow(row []byte, groups int) {
	rest := groups % stepGroups * 4
	switch {
	case rest == 0:
	case groups < stepGroups:
		clear(row[rest:stepBytes])
	default:
		last := row[groups*4-rest:][:stepBytes]
		copy(last[stepBytes-rest:], last[:rest])
		clear(last[:stepBytes-rest])
	}
}
