package micro

// PackPanel writes a zero-padded panel of the vector operand: dst[k·PanelWidth + c] = src[k·stepK + c·stepC] for k in
// [0, rows), c in [0, cols), and 0 for c in [cols, PanelWidth). dst must have rows·PanelWidth elements. One of the
// steps should be 1.
func PackPanel[T Float](dst, src []T, rows, cols, stepK, stepC int) {
	PackRows(dst, src, rows, cols, PanelWidth[T](), stepK, stepC)
}

// PackRows is PackPanel for panels of another width.
func PackRows[T Float](dst, src []T, rows, cols, width, stepK, stepC int) {
	dst = dst[:rows*width]
	switch {
	case stepC == 1 && cols == PanelWidth[T]() && cols == width && copyPanel(dst, src, rows, stepK):
		return
	case stepC == 1:
		for k := range rows {
			row := dst[k*width : k*width+width]
			copy(row, src[k*stepK:k*stepK+cols])
			clear(row[cols:])
		}
		return
	case cols < width:
		clear(dst)
	}
	if stepK == 1 {
		Transpose(dst, src, cols, rows, width, stepC)
		return
	}
	for c := range cols {
		i := c * stepC
		for j := c; j < len(dst); j += width {
			dst[j] = src[i]
			i += stepK
		}
	}
}

// PackColumns is PackPanel for contiguous columns. In place of the zeros, it leaves whatever follows the columns in
// memory: copying whole vectors takes a fraction of the time.
func PackColumns[T Float](dst, src []T, rows, cols, stepK int) {
	whole, width := 0, PanelWidth[T]()
	if spare := len(src) - width; spare >= 0 {
		whole = min(spare/max(stepK, 1)+1, rows)
		if !copyPanel(dst, src, whole, stepK) {
			whole = 0
		}
	}
	if whole < rows {
		PackPanel(dst[whole*width:], src[whole*stepK:], rows-whole, cols, stepK, 1)
	}
}

// Transpose stores the transpose of a matrix of the given rows and columns: dst[c·to + r] = src[r·from + c].
func Transpose[T Float](dst, src []T, rows, cols, to, from int) {
	for r := transpose(dst, src, cols, rows, to, from); r < rows; r++ {
		row := src[r*from : r*from+cols]
		j := r
		for _, v := range row {
			dst[j] = v
			j += to
		}
	}
}

// TransposeShort transposes a few rows into lines of a few elements, which are less than a block of the transposition
// apart: dst[c·to + r] = src[r·from + c]. It works in whole blocks as far as it can. Their lines are longer and
// overwrite what follows them within dst. It returns how many lines it stored. src must continue for a block of rows,
// of any contents.
func TransposeShort[T Float](dst, src []T, rows, cols, to, from int) int {
	if to < rows {
		return 0
	}
	return transposeShort(dst, src, rows, cols, to, from)
}
