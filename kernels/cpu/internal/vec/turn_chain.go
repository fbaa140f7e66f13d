package vec

// TurnChain turns the last of turns+1 rows with the one before it, what becomes of that one with the one before it, and
// so on: with cosine c and sine s, row y and the turned one x behind it become c·y - s·x and s·y + c·x. Angles has c
// and s of each time. The rows begin stride numbers apart, and width, a multiple of [ProductColumns], of each are
// turned.
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
