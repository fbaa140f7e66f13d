//go:build !amd64 && !arm64

package quant

// nibbleRows returns how many rows the next kernel takes.
func (f family) nibbleRows(int) int { return 1 }

// nibbles computes the sums of a row of digits times a block of a panel.
func (f family) nibbles(_ int, sums []int32, x []byte, plane int, w []byte, groups int) {
	nibblesGo(sums, x, plane, w, groups)
}

// unpack writes groups of rows of a panel of float32.
func (f family) unpack(dst []float32, w []byte, scale []float32, zero []int8, how *unpacking, _, step int) {
	unpackGo(dst, w, scale, zero, how, step)
}

// lanes returns the fewest numbers that are split at a time.
func (f family) lanes() int { return group }

// largest returns the largest absolute value in x, as bits.
func (f family) largest(x []float32) uint32 { return largestGo(x) }

// split writes the digits of x, which is whole vectors, and adds them to sums.
func (f family) split(to []byte, plane int, x []float32, how *splitting, sums *digitSums) {
	splitGo(to, plane, x, how, sums)
}

// combine turns the sums of a block into numbers and adds them to y.
func (f family) combine(y []float32, sums []int32, zero []int8, scale []float32, x *digitSums, how joining) {
	combineGo(y, sums, zero, scale, x, how)
}
