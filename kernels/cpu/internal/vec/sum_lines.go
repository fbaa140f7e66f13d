package vec

// SumLines stores the sums of lines without gaps, one for each number of dst: what [Sum] returns for each line.
func SumLines[T Float](dst, x []T) {
	cols := len(x) / max(len(dst), 1)
	done := 0
	if single[T]() {
		done = lineSums(as32(dst), as32(x), nil, cols)
	}
	for r := done; r < len(dst); r++ {
		dst[r] = Sum(x[r*cols : (r+1)*cols])
	}
}

// DotLines stores the sums of the products of lines of x and y: what [Dot] returns for each pair.
func DotLines[T Float](dst, x, y []T) {
	cols := len(x) / max(len(dst), 1)
	y = y[:len(x)]
	done := 0
	if single[T]() {
		done = lineSums(as32(dst), as32(x), as32(y), cols)
	}
	for r := done; r < len(dst); r++ {
		dst[r] = Dot(x[r*cols:(r+1)*cols], y[r*cols:(r+1)*cols])
	}
}
