package vec

// Drop stores x·scale where a random word, as a number in [0, 1) of 24 bits, is at least threshold/2²⁴, and 0
// elsewhere. x and words have dst's length.
func Drop(dst, x []float32, words []uint32, scale float32, threshold uint32) {
	done := drop32(dst, x, words, scale, threshold)
	for i := done; i < len(dst); i++ {
		y := x[i] * scale
		if words[i]>>8 < threshold {
			y = 0
		}
		dst[i] = y
	}
}

// RandomWords stores whole blocks of Philox4x32-10 (package philox). The first block has the given key and counter; for
// each next one, the counter's lowest word, which wraps around, increases by one. It returns how many words it stored:
// a multiple of 16, or none if there is no assembly.
func RandomWords(dst []uint32, counter [4]uint32, key [2]uint32) int {
	return randomWords32(dst, counter, key)
}
