//go:build amd64 || arm64

package vec

// callTiles returns how many tiles of c channels one assembly call takes.
func callTiles(c int) int { return max(callElements/(16*c), 1) }

func winogradInput32(dst, x []float32, count, c, step, plane, line int) bool {
	wide, ok := divides(c)
	for i := 0; ok && i < count; i += callTiles(c) {
		n := min(callTiles(c), count-i)
		callWinogradInput(wide, &dst[i*step], &x[2*i*c], uintptr(n), uintptr(4*c), uintptr(4*step), uintptr(4*plane), uintptr(4*line))
	}
	return ok
}

func winogradGradient32(dst, x []float32, count, c, step, plane, line, pixel int) bool {
	wide, ok := divides(c)
	for i := 0; ok && i < count; i += callTiles(c) {
		n := min(callTiles(c), count-i)
		callWinogradGradient(wide, &dst[i*step], &x[2*i*pixel], uintptr(n), uintptr(4*c), uintptr(4*step), uintptr(4*plane), uintptr(4*line), uintptr(4*pixel))
	}
	return ok
}

func winogradOutput32(dst, x, bias []float32, relu bool, count, c, step, plane, line int) bool {
	wide, ok := divides(c)
	run := callWinogradOutput
	if relu {
		run = callWinogradOutputRelu
	}
	for i := 0; ok && i < count; i += callTiles(c) {
		n := min(callTiles(c), count-i)
		run(wide, &dst[2*i*c], &x[i*step], &bias[0], uintptr(n), uintptr(4*c), uintptr(4*step), uintptr(4*plane), uintptr(4*line))
	}
	return ok
}

// columnLanes returns how many columns a vector of the kernels below has, or 0 if there is no kernel. The c columns are
// computed in whole vectors and, if the source is not overwritten, a last vector that overlaps the one before it.
func columnLanes(c int, overwrites bool) (wide bool, lanes int) {
	wide, ok := vectors()
	switch {
	case !ok || c < 8 || overwrites && c%8 != 0:
		return false, 0
	case wide && c >= 16 && (c%16 == 0 || !overwrites):
		return true, 16
	}
	return false, 8
}

// callParts cuts count times c columns of six numbers into calls of assembly. f gets the first time, the number of
// times, the first column and the number of columns.
func callParts(count, c, lanes int, f func(t, n, k, columns int)) {
	whole := c - c%lanes
	columns := min(whole, callElements/6/64*64)
	n := max(callElements/6/columns, 1)
	for t := 0; t < count; t += n {
		for k := 0; k < whole; k += columns {
			f(t, min(n, count-t), k, min(columns, whole-k))
		}
	}
	n = callElements / 6 / lanes
	for t := 0; whole < c && t < count; t += n {
		f(t, min(n, count-t), c-lanes, lanes)
	}
}

func winogradSixes32(dst, x []float32, count, c, step, plane, xStep, xLine int) bool {
	wide, lanes := columnLanes(c, &dst[0] == &x[0])
	if lanes == 0 {
		return false
	}
	callParts(count, c, lanes, func(t, n, k, columns int) {
		callWinogradSixes(wide, &dst[t*step+k], &x[t*xStep+k], uintptr(n), uintptr(4*columns), uintptr(4*(step-columns)), uintptr(4*plane), uintptr(4*(xStep-columns)), uintptr(4*xLine))
	})
	return true
}

func winogradFours32(dst, x, bias []float32, relu bool, count, c, step, plane, xStep, xLine int) bool {
	wide, lanes := columnLanes(c, &dst[0] == &x[0])
	if lanes == 0 {
		return false
	}
	callParts(count, c, lanes, func(t, n, k, columns int) {
		to, from := &dst[t*step+k], &x[t*xStep+k]
		size, next, xNext := uintptr(4*columns), uintptr(4*(step-columns)), uintptr(4*(xStep-columns))
		switch {
		case bias == nil:
			callWinogradFours(wide, to, from, uintptr(n), size, next, uintptr(4*plane), xNext, uintptr(4*xLine))
		case relu:
			callWinogradFoursRelu(wide, to, from, &bias[k], uintptr(n), size, next, uintptr(4*plane), xNext, uintptr(4*xLine))
		default:
			callWinogradFoursBias(wide, to, from, &bias[k], uintptr(n), size, next, uintptr(4*plane), xNext, uintptr(4*xLine))
		}
	})
	return true
}
