package micro

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// rowProductElements limits the part of b that one assembly call reads, so that a call takes some tens of microseconds.
const rowProductElements = 1 << 18

// AddRowProduct adds to each dst[c] the sum Σ_k x[k]·b[k·stride + c]: a row times a matrix whose rows are stride
// elements apart. A [Tile] goes down the columns of a panel, but this reads b in the order of memory: with a single row
// of x, each number of b is read once, so the time is that of reading b. The products of a column are added one by one,
// in order.
func AddRowProduct[T Float](dst, x, b []T, stride int) {
	if len(dst) == 0 || len(x) == 0 {
		return
	}
	if need := (len(x)-1)*stride + len(dst); stride < 0 || need > len(b) {
		panic(fmt.Sprintf("micro: B has %d elements, the product of a row needs %d", len(b), need))
	}
	if rowProduct(dst, x, b, stride) {
		return
	}
	for k, v := range x {
		row := b[k*stride:][:len(dst)]
		for c, w := range row {
			dst[c] += v * w
		}
	}
}

// AddRowPanels is [AddRowProduct] for a matrix of len(x) rows in panels, one after the other. The last panel may have
// fewer than [PanelWidth] columns in use. The bits are the same.
func AddRowPanels[T Float](dst, x, panels []T) {
	if len(dst) == 0 || len(x) == 0 {
		return
	}
	width := PanelWidth[T]()
	if need := (len(dst) + width - 1) / width * width * len(x); need > len(panels) {
		panic(fmt.Sprintf("micro: the panels have %d elements, the product of a row needs %d", len(panels), need))
	}
	for c := rowPanels(dst, x, panels); c < len(dst); c += width {
		AddRowProduct(dst[c:min(c+width, len(dst))], x, panels[c*len(x):], width)
	}
}

// AddRowHalfPanels is [AddRowPanels] for panels of 16-bit numbers, with the bits of panels of the same numbers in
// float32. If there are no kernels for it, it returns false and has done nothing. dst must have the columns of whole
// panels.
func AddRowHalfPanels(dst, x []float32, panels []uint16, h vec.Half) bool {
	if len(dst) == 0 || len(x) == 0 {
		return true
	}
	width := PanelWidth[float32]()
	if need := len(dst) * len(x); need > len(panels) || len(dst)%width != 0 {
		panic(fmt.Sprintf("micro: the panels have %d elements for %d columns, the product of a row needs %d in whole panels", len(panels), len(dst), need))
	}
	return rowHalfPanels(dst, x, panels, h)
}
