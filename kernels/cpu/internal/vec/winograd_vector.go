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

// callParts cuts count times c columns of six numbers, whose steps are given, into calls of assembly: f gets the first
// time, their number, the first column and their number.
func callParts(count, c int, f func(t, n, k, columns int)) {
	columns := min(c, callElements/6/64*64)
	n := max(callElements/6/columns, 1)
	for t := 0; t < count; t += n {
		for k := 0; k < c; k += columns {
			f(t, min(n, count-t), k, min(columns, c-k))
		}
	}
}

func winogradSixes32(dst, x []float32, count, c, step, plane, xStep, xLine int) bool {
	wide, ok := divides(c)
	if ok {
		callParts(count, c, func(t, n, k, columns int) {
			callWinogradSixes(wide, &dst[t*step+k], &x[t*xStep+k], uintptr(n), uintptr(4*columns), uintptr(4*(step-columns)), uintptr(4*plane), uintptr(4*(xStep-columns)), uintptr(4*xLine))
		})
	}
	return ok
}

func winogradFours32(dst, x, bias []float32, relu bool, count, c, step, plane, xStep, xLine int) bool {
	wide, ok := divides(c)
	if !ok {
		return false
	}
	callParts(count, c, func(t, n, k, columns int) {
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
