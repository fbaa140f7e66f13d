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
