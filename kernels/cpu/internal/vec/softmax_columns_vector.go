//go:build amd64 || arm64

package vec

// columnBits has the bit of each column.
var columnBits = func() (bits [Columns]uint32) {
	for i := range bits {
		bits[i] = 1 << i
	}
	return bits
}()

// columnRows is the number of rows of one assembly call, which goes through them twice.
const columnRows = callElements / Columns

func (c *ScoreColumns) softmax32(x []float32, scale float32) bool {
	wide, ok := vectors()
	if !ok || len(x) > columnRows*Columns {
		return false
	}
	callSoftmaxColumns(wide, &x[0], &c.state[0][0], &scale, uintptr(len(x)/Columns), uintptr(c.groups()))
	return true
}

func scaleColumns32(y, by []float32, n int, divide bool) bool {
	wide, ok := vectors()
	if !ok {
		return false
	}
	for i := 0; i < len(y); i += columnRows * Columns {
		rows := uintptr(min(columnRows, (len(y)-i)/Columns))
		if divide {
			callDivideColumns(wide, &y[i], &by[0], rows, uintptr(n))
		} else {
			callScaleColumns(wide, &y[i], &by[0], rows, uintptr(n))
		}
	}
	return true
}

func hideColumns32(x []float32, seen []uint32) bool {
	wide, ok := vectors()
	if !ok {
		return false
	}
	for i := 0; i < len(seen); i += columnRows {
		callHideColumns(wide, &x[i*Columns], &seen[i], &columnBits[0], uintptr(min(columnRows, len(seen)-i)))
	}
	return true
}
