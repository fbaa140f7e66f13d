package vec

// DotRows stores the sums of products of x and rows of y, which begin stride numbers apart. The rows have as many
// numbers as x, a multiple of [ProductColumns].
func DotRows[T Float](dst, x, y []T, stride int) {
	if len(dst) == 0 {
		return
	}
	y = y[:(len(dst)-1)*stride+len(x)]
	if len(x) > 0 && dotRowVectors(start(dst), start(x), start(y), floatBytes[T](), len(dst), len(x), stride) {
		return
	}
	for r := range dst {
		dst[r] = Dot(x, y[r*stride:][:len(x)])
	}
}
