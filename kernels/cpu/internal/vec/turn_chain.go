package vec

// TurnChain rotates the last of turns+1 rows with the one before it, the resulting one with the one before that, and so
// on. With cosine c and sine s, row y and the rotated row x behind it become c·y - s·x and s·y + c·x. angles has c and
// s of each rotation. Rows begin stride numbers apart, and width numbers of each, a multiple of [ProductColumns], are
// rotated.
func TurnChain[T Float](x, angles []T, turns, width, stride int) {
	if turns == 0 {
		return
	}
	x, angles = x[:turns*stride+width], angles[:2*turns]
	if chainVectors(start(x), start(angles), floatBytes[T](), turns, width, stride) {
		return
	}
	for k := range turns {
		c, s := angles[2*k], angles[2*k+1]
		row, behind := x[(turns-1-k)*stride:][:width], x[(turns-k)*stride:][:width]
		for i, v := range row {
			w := behind[i]
			row[i], behind[i] = c*v-s*w, s*v+c*w
		}
	}
}
