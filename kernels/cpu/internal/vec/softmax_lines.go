package vec

// SoftmaxLines stores the softmax of rows of cols numbers without gaps, each like [Softmax]; dst may be x.
func SoftmaxLines[T Float](dst, x []T, cols int) {
	if cols <= 0 {
		return
	}
	x = x[:len(dst)]
	if single[T]() && softmaxLines32(as32(dst), as32(x), cols) {
		return
	}
	for ; len(dst) >= cols; dst, x = dst[cols:], x[cols:] {
		Softmax(dst[:cols], x[:cols])
	}
}

// SoftmaxLinesGrad stores y·(dy − Σ y·dy) for rows of cols numbers without gaps: the gradient of the softmax whose
// result is y. dst may be y or dy.
func SoftmaxLinesGrad[T Float](dst, y, dy []T, cols int) {
	if cols <= 0 {
		return
	}
	y, dy = y[:len(dst)], dy[:len(dst)]
	if single[T]() && softmaxLinesGrad32(as32(dst), as32(y), as32(dy), cols) {
		return
	}
	for ; len(dst) >= cols; dst, y, dy = dst[cols:], y[cols:], dy[cols:] {
		AffineMul(dst[:cols], dy[:cols], y[:cols], 1, -Dot(y[:cols], dy[:cols]))
	}
}
