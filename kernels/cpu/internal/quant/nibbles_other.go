//go:build !amd64 && !arm64

package quant

// nibbleRows is the number of rows that the next kernel takes.
func (f family) nibbleRows(int) int { return 1 }

// nibbles sets the sums of a row of digits times a block of a panel.
func (f family) nibbles(_ int, sums []int32, x []byte, _ int, w []byte, groups int) {
	nibblesGo(sums, x, w, groups)
}

// combine adds what the sums of a block stand for to y.
func (f family) combine(y []float32, sums []int32, zero []int8, scale []float32, h *head) {
	combineGo(y, sums, zero, scale, h)
}
