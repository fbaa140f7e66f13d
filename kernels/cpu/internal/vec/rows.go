package vec

// The functions of this file walk over the rows of matrices [rows, cols] whose rows are stride elements apart, with numbers that
// belong to the columns: in NHWC arrays the channels. All matrices of a call have the same stride. The sums are added in blocks of
// 64 rows. To use several workers, sum blocks of rows whose size depends on the problem alone and add the results, or split the
// columns.

const (
	rowsBlock = 64 // rows that are summed before the sum goes to memory
	colsBlock = 64
	rowsCall  = 1024 // bounds one assembly call
)

// extent is the number of elements from the first to the last of a matrix.
func extent(rows, cols, stride int) int {
	if rows <= 0 || cols <= 0 {
		return 0
	}
	return (rows-1)*stride + cols
}

// SumRows stores the sums of the columns: dst[c] = Σ_r x[r·stride + c] for c in [0, cols). It is the gradient of a bias.
func SumRows[T Float](dst, x []T, rows, cols, stride int) {
	var block [colsBlock]T
	x, dst = x[:extent(rows, cols, stride)], dst[:cols]
	for c := 0; c < cols; c += colsBlock {
		out := dst[c:min(c+colsBlock, cols)]
		sums := block[:len(out)]
		clear(out)
		for r := 0; r < rows; r += rowsBlock {
			n := min(rowsBlock, rows-r)
			sumRowsBlock(sums, x[r*stride+c:], n, stride)
			for i, v := range sums {
				out[i] += v
			}
		}
	}
}

func sumRowsBlock[T Float](sums, x []T, rows, stride int) {
	done := 0
	if single[T]() {
		done = addRows32(as32(sums), as32(x), rows, stride)
	}
	if done == len(sums) {
		return
	}
	sums = sums[done:]
	clear(sums)
	for r := range rows {
		row := x[r*stride+done:][:len(sums)]
		for i := range sums {
			sums[i] += row[i]
		}
	}
}

// SumSquaresRows stores the sums of squared differences: dst[c] = Σ_r (x[r·stride + c] − mean[c])². Divided by rows it is the
// variance of batch normalisation.
func SumSquaresRows[T Float](dst, x, mean []T, rows, cols, stride int) {
	var block [colsBlock]T
	x, dst, mean = x[:extent(rows, cols, stride)], dst[:cols], mean[:cols]
	for c := 0; c < cols; c += colsBlock {
		out := dst[c:min(c+colsBlock, cols)]
		sums := block[:len(out)]
		clear(out)
		for r := 0; r < rows; r += rowsBlock {
			sumSquaresBlock(sums, x[r*stride+c:], mean[c:c+len(out)], min(rowsBlock, rows-r), stride)
			for i, v := range sums {
				out[i] += v
			}
		}
	}
}

func sumSquaresBlock[T Float](sums, x, mean []T, rows, stride int) {
	done := 0
	if single[T]() {
		done = squareRows32(as32(sums), as32(x), as32(mean), rows, stride)
	}
	if done == len(sums) {
		return
	}
	sums, mean = sums[done:], mean[done:]
	clear(sums)
	for r := range rows {
		row := x[r*stride+done:][:len(sums)]
		for i := range sums {
			d := row[i] - mean[i]
			sums[i] += d * d
		}
	}
}

// SumProductsRows stores the two sums of the gradient of batch normalisation: sum[c] = Σ_r y[r·stride + c] and
// product[c] = Σ_r y[r·stride + c]·(x[r·stride + c] − mean[c]).
func SumProductsRows[T Float](sum, product, y, x, mean []T, rows, cols, stride int) {
	var first, second [colsBlock]T
	n := extent(rows, cols, stride)
	x, y, sum, product, mean = x[:n], y[:n], sum[:cols], product[:cols], mean[:cols]
	for c := 0; c < cols; c += colsBlock {
		end := min(c+colsBlock, cols)
		sums, products := first[:end-c], second[:end-c]
		clear(sum[c:end])
		clear(product[c:end])
		for r := 0; r < rows; r += rowsBlock {
			sumProductsBlock(sums, products, y[r*stride+c:], x[r*stride+c:], mean[c:end], min(rowsBlock, rows-r), stride)
			for i := range sums {
				sum[c+i] += sums[i]
				product[c+i] += products[i]
			}
		}
	}
}

func sumProductsBlock[T Float](sums, products, y, x, mean []T, rows, stride int) {
	done := 0
	if single[T]() {
		done = productRows32(as32(sums), as32(products), as32(y), as32(x), as32(mean), rows, stride)
	}
	if done == len(sums) {
		return
	}
	sums, products, mean = sums[done:], products[done:], mean[done:]
	clear(sums)
	clear(products)
	for r := range rows {
		rowX, rowY := x[r*stride+done:][:len(sums)], y[r*stride+done:][:len(sums)]
		for i := range sums {
			sums[i] += rowY[i]
			products[i] += rowY[i] * (rowX[i] - mean[i])
		}
	}
}

// RowsAffine stores x·scale + shift, with one scale and shift per column, and max(·, 0) of it if relu is set: normalisation, or the
// addition of a bias. Dst may be x.
func RowsAffine[T Float](dst, x, scale, shift []T, rows, cols, stride int, relu bool) {
	n := extent(rows, cols, stride)
	dst, x, scale, shift = dst[:n], x[:n], scale[:cols], shift[:cols]
	done := 0
	if single[T]() {
		done = rowsAffine32(as32(dst), as32(x), as32(scale), as32(shift), rows, stride, relu)
	}
	if done == cols {
		return
	}
	scale, shift = scale[done:], shift[done:]
	for r := range rows {
		in, out := x[r*stride+done:][:len(scale)], dst[r*stride+done:][:len(scale)]
		for i, v := range in {
			v = v*scale[i] + shift[i]
			if relu && v < 0 {
				v = 0
			}
			out[i] = v
		}
	}
}

// RowsCombine stores x·a + y·b + c, with one a, b and c per column: the gradient of batch normalisation. Dst may be x or y.
func RowsCombine[T Float](dst, x, a, y, b, c []T, rows, cols, stride int) {
	n := extent(rows, cols, stride)
	dst, x, y, a, b, c = dst[:n], x[:n], y[:n], a[:cols], b[:cols], c[:cols]
	done := 0
	if single[T]() {
		done = rowsCombine32(as32(dst), as32(x), as32(a), as32(y), as32(b), as32(c), rows, stride)
	}
	if done == cols {
		return
	}
	a, b, c = a[done:], b[done:], c[done:]
	for r := range rows {
		rowX, rowY, out := x[r*stride+done:][:len(a)], y[r*stride+done:][:len(a)], dst[r*stride+done:][:len(a)]
		for i := range out {
			out[i] = rowX[i]*a[i] + (rowY[i]*b[i] + c[i])
		}
	}
}
