//go:build !amd64

package vec

func (h Half) inPlace(int) bool { return false }

func halfMoments(shift, sum, squares []float32, x []uint16, sample, lines, stride int) {}

func halfProducts(sum, product []float32, dy, x []uint16, mean, scale, shift []float32, lines, stride int) {
}

func halfAffine(dst, x, addend []uint16, scale, shift []float32, relu bool) int { return 0 }

func halfCombine(dst, x, dy []uint16, onX, onDy, constant, scale, shift []float32) int { return 0 }

func halfPowers(dst, x []uint16, a, b float32) int { return 0 }
