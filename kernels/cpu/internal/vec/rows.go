package vec

// The functions of this file go through matrices [rows, cols] whose rows are stride elements apart, with numbers for
// each column: in NHWC arrays, columns are channels. All matrices of a call have the same stride. Sums are added in
// blocks of 64 rows. To use several workers, sum blocks of rows whose size depends on the problem alone, and add the
// results; or split the columns. channels.go has the functions of batch normalization, for matrices without gaps.

const (
	rowsBlock = 64 // rows that are summed before the sum goes to memory
	colsBlock = 64
	lastCols  = 16 // if fewer columns are left, they are summed together with some before them, which are then summed twice
)

// extent is the number of elements from the first to the last of a matrix.
func extent(rows, cols, stride int) int {
	if rows <= 0 || cols <= 0 {
		return 0
	}
	return (rows-1)*stride + cols
}

// SumRows stores the sums of the columns: dst[c] = Σ_r x[r·stride + c] for c in [0, cols). It is the gradient of a
// bias.
func SumRows[T Float](dst, x []T, rows, cols, stride int) {
	x, dst = x[:extent(rows, cols, stride)], dst[:cols]
	if rows <= 0 {
		clear(dst)
		return
	}
	for c := 0; c < cols; c += colsBlock {
		first := c
		if c > 0 && cols-c < lastCols {
			first = cols - lastCols
		}
		sumColumns(dst[first:min(c+colsBlock, cols)], x[first:], rows, stride)
	}
}

// sumColumns is SumRows of at most colsBlock columns.
func sumColumns[T Float](out, x []T, rows, stride int) {
	sumRowsBlock(out, x, min(rowsBlock, rows), stride)
	if rows <= rowsBlock {
		return
	}
	var block [colsBlock]T
	sums := block[:len(out)]
	for r := rowsBlock; r < rows; r += rowsBlock {
		sumRowsBlock(sums, x[r*stride:], min(rowsBlock, rows-r), stride)
		Add(out, out, sums)
	}
}

func sumRowsBlock[T Float](sums, x []T, rows, stride int) {
	done := addRows(floatBytes[T](), start(sums), start(x), len(sums), rows, stride)
	if done == len(sums) {
		return
	}
	sums = sums[done:]
	clear(sums)
	r := 0
	for ; r+4 <= rows; r += 4 { // sums go to memory once for four rows
		at := r*stride + done
		a, b, c, d := x[at:][:len(sums)], x[at+stride:][:len(sums)], x[at+2*stride:][:len(sums)], x[at+3*stride:][:len(sums)]
		for i, v := range sums {
			sums[i] = v + a[i] + b[i] + c[i] + d[i]
		}
	}
	for ; r < rows; r++ {
		row := x[r*stride+done:][:len(sums)]
		for i := range sums {
			sums[i] += row[i]
		}
	}
}
