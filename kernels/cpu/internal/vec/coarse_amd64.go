package vec

var coarseCalls = [...]func(dst, x *float32, n uintptr){coarseGelu: callCoarseGelu, coarseExp: callCoarseExp, coarseSigmoid: callCoarseSigmoid}

func coarse32(f coarseFunction, dst, x []float32) bool {
	wide, _ := vectors()
	if !wide {
		return false
	}
	n, call := whole(wide, len(dst)), coarseCalls[f]
	for i := 0; i < n; i += callElements {
		call(at(dst, i), at(x, i), uintptr(min(callElements, n-i)))
	}
	if n < len(dst) {
		p := new(buffer)
		copy(p[:], x[n:])
		call(&p[0], &p[0], uintptr(len(p)))
		copy(dst[n:], p[:])
	}
	return true
}

func coarseGeluGrad(dst, dy, x []float32) bool {
	wide, _ := vectors()
	if !wide {
		return false
	}
	n := whole(wide, len(dst))
	for i := 0; i < n; i += callElements {
		callCoarseGeluGrad(at(dst, i), at(dy, i), at(x, i), uintptr(min(callElements, n-i)))
	}
	if n < len(dst) {
		var p, q buffer
		copy(p[:], x[n:])
		copy(q[:], dy[n:])
		callCoarseGeluGrad(&p[0], &q[0], &p[0], uintptr(len(p)))
		copy(dst[n:], p[:])
	}
	return true
}
