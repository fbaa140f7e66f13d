//go:build !amd64 && !arm64

package quant

// nibbleRows is the number of rows that the next kernel takes.
func (f family) nibbleRows(int) int { return 1 }

// nibbles sets the sums of a row of digits times a block of a panel.
func (f family) nibbles(_ int, sums []int32, x []byte, plane int, w []byte, groups int) {
	nibblesGo(sums, x, plane, w, groups)
}

// unpack writes groups of rows of a panel of float32.
func (f family) unpack(dst []float32, w []byte, scale []float32, zero []int8, how *unpacking, _, step int) {
	unpackGo(dst, w, scale, zero, how, step)
}

// lanes is how many numbers are split at a time, at least.
func (f family) lanes() int { return group }

// largest returns the largest bits of x without signs.
func (f family) largest(x []float32) uint32 { return largestGo(x) }

// split writes the digits of x, whole vectors, and adds them to the sums.
func (f family) split(to []byte, plane int, x []float32, how *splitting, sums *digitSums) {
	splitGo(to, plane, x, how, sums)
}

// combine adds what the sums of a block stand for to y.
func (f family) combine(y []float32, sums []int32, zero []int8, scale []float32, x *digitSums, how joining) {
	combineGo(y, sums, zero, scale, x, how)
}
