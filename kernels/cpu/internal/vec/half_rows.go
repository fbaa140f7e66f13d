package vec

// If the processor has an instruction that rounds to bfloat16, rows of bfloat16 whose columns are whole blocks of four
// vectors need not be widened first: the loops of batch normalization read and write them directly. They compute the
// bits of those for float32.

// AffineRows is [AffineRows] for 16-bit numbers, for whole lines of the tiles. It returns how many numbers it stored.
// With an addend, x·scale + shift is rounded before that is added.
func (h Half) AffineRows(dst, x, addend []uint16, scale, shift []float32, relu bool) (done int) {
	if !h.inPlace(len(scale)) {
		return 0
	}
	return halfAffine(dst, x, addend, scale, shift, relu)
}

// CombineRows is [CombineRows] for 16-bit numbers, for whole lines of the tiles. It returns how many numbers it stored.
func (h Half) CombineRows(dst, x, dy []uint16, onX, onDy, constant, scale, shift []float32) (done int) {
	if !h.inPlace(len(onX)) {
		return 0
	}
	return halfCombine(dst, x, dy, onX, onDy, constant, scale, shift)
}

// ExpAffine stores b·exp(x + a) of 16-bit numbers in 16 bits, with the exponential of [CoarseExp]. It returns false if
// there is less than a vector, or no kernel.
func (h Half) ExpAffine(dst, x []uint16, a, b float32) bool {
	if !h.inPlace(0) {
		return false
	}
	done := halfPowers(dst, x, a, b)
	if 0 < done && done < len(dst) {
		var rest [16]uint16
		copy(rest[:], x[done:])
		halfPowers(rest[:], rest[:], a, b)
		copy(dst[done:], rest[:])
	}
	return done > 0
}

// inPlace reports whether that many columns of the lines are read in 16 bits, without widening.
func (l *Lines[T]) inPlace(columns int) bool { return l.Halves != nil && l.Of.inPlace(columns) }
