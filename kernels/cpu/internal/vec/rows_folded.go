package vec

// rowFold says how rows are combined.
type rowFold int

const (
	multiplying rowFold = iota
	largest
	smallest
)

// MulRows stores the products of the columns, dst[c] = Π_r x[r·len(dst) + c], and returns true. It returns false if
// there is no kernel: there are kernels for float32, from 8 columns on.
func MulRows[T Float](dst, x []T) bool { return foldRows(multiplying, dst, x) }

// MaxRows is MulRows for the largest elements; NaN if there is one.
func MaxRows[T Float](dst, x []T) bool { return foldRows(largest, dst, x) }

// MaxRowsApart is MaxRows of rows that are stride elements apart.
func MaxRowsApart[T Float](dst, x []T, rows, stride int) bool {
	n := len(dst)
	if !single[T]() || n == 0 || rows <= 0 {
		return false
	}
	return foldRows32(largest, as32(dst), as32(x[:extent(rows, n, stride)]), rows, stride) == n
}

// MinRows is MulRows for the smallest elements; NaN if there is one.
func MinRows[T Float](dst, x []T) bool { return foldRows(smallest, dst, x) }

func foldRows[T Float](fold rowFold, dst, x []T) bool {
	n := len(dst)
	return single[T]() && n > 0 && len(x) >= n && foldRows32(fold, as32(dst), as32(x), len(x)/n, n) == n
}
