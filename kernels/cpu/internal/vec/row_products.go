package vec

// ProductColumns divides the number of columns of [AddProducts].
const ProductColumns = 16

// AddProducts adds a product of small matrices: dst[r, c] += Σ_k f[r, k]·x[k, c], in the order of k. The strides are
// the distances of rows. rows and depth are at least 1, cols is a multiple of [ProductColumns], and f and x are only
// read.
func AddProducts[T Float](dst, f, x []T, rows, depth, cols, dstStride, fStride, xStride int) {
	dst, f, x = dst[:(rows-1)*dstStride+cols], f[:(rows-1)*fStride+depth], x[:(depth-1)*xStride+cols]
	if productVectors(start(dst), start(f), start(x), floatBytes[T](), rows, depth, cols, dstStride, fStride, xStride) {
		return
	}
	for r := range rows {
		row := dst[r*dstStride:][:cols]
		for k, by := range f[r*fStride:][:depth] {
			for i, v := range x[k*xStride:][:cols] {
				row[i] += by * v
			}
		}
	}
}
