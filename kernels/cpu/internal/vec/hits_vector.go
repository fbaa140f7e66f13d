//go:build amd64 || arm64

package vec

// hitsCount returns how many columns it counted: all, if they fill a vector.
func hitsCount(acc, x, top []float32, count, step int) (columns int) {
	c, lanes := len(top), pixelLanes(4, len(top))
	if lanes == 0 || c < lanes {
		return 0
	}
	columns = c / lanes * lanes
	countHits(acc, x, top[:columns], count, step)
	if rest := c - columns; rest > 0 { // together with columns that are already counted
		var again [16]float32
		countHits(again[:lanes], x[c-lanes:], top[c-lanes:], count, step)
		for i, n := range again[lanes-rest : lanes] {
			acc[columns+i] += n
		}
	}
	return c
}

// countHits is hitsCount for whole vectors.
func countHits(acc, x, top []float32, count, step int) {
	windowParts(4, 1, count, len(top), false, func(wide bool, i, n, channel, channels int) {
		callHitsCount(wide, &acc[channel], &x[i*step+channel], &top[channel], uintptr(n), uintptr(4*channels), 0, uintptr(4*step))
	})
}

func hitsShare(dst, x, top, share []float32, count, step int) bool {
	return count == windowParts(4, 1, count, len(top), false, func(wide bool, i, n, channel, channels int) {
		at := i*step + channel
		callHitsShare(wide, &dst[at], &x[at], &top[channel], &share[channel], uintptr(n), uintptr(4*channels), uintptr(4*step), 0)
	})
}
