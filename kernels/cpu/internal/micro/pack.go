package micro

// PackPanel writes a zero-padded panel of the vector operand: dst[k·PanelWidth + c] = src[k·stepK + c·stepC] for k in [0, rows),
// c in [0, cols), and 0 for c in [cols, PanelWidth). Dst must have rows·PanelWidth elements. One of the steps should be 1.
func PackPanel[T Float](dst, src []T, rows, cols, stepK, stepC int) {
	width := PanelWidth[T]()
	dst = dst[:rows*width]
	switch {
	case stepC == 1 && cols == width && copyPanel(dst, src, rows, stepK):
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
	c := 0
	if stepK == 1 {
		c = transpose(dst, src, rows, cols, stepC)
	}
	for ; c < cols; c++ {
		i := c * stepC
		for j := c; j < len(dst); j += width {
			dst[j] = src[i]
			i += stepK
		}
	}
}
