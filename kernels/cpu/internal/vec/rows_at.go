package vec

// AddRowsAt adds rows of x to rows of dst, c elements each, one after the other. A pair holds the indices of the first
// elements of a row of dst and of the row of x that is added to it. It is the gradient of an embedding.
func AddRowsAt[T Float](dst, x []T, pairs [][2]int, c int) {
	if c <= 0 {
		return
	}
	for _, p := range pairs {
		_, _ = dst[p[0]:][:c], x[p[1]:][:c]
	}
	done := addRowsAt(floatBytes[T](), start(dst), start(x), pairs, c)
	if done == c {
		return
	}
	for _, p := range pairs {
		to := dst[p[0]+done:][:c-done]
		for k, v := range x[p[1]+done:][:len(to)] {
			to[k] += v
		}
	}
}

// DescendRowsAt subtracts rate times rows of x, c elements each, from rows of dst; see AddRowsAt. Products are rounded
// before they are subtracted, so that results are the same on all processors and in rows of every length.
func DescendRowsAt(dst, x []float32, pairs [][2]int, c int, rate float32) {
	if c <= 0 {
		return
	}
	for _, p := range pairs {
		_, _ = dst[p[0]:][:c], x[p[1]:][:c]
	}
	done := descendRowsAt32(dst, x, pairs, c, rate)
	if done == c {
		return
	}
	for _, p := range pairs {
		to := dst[p[0]+done:][:c-done]
		for k, v := range x[p[1]+done:][:len(to)] {
			to[k] -= float32(rate * v)
		}
	}
}
