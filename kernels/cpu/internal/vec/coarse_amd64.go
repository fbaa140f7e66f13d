package vec

func (f coarseFunction) call(dst, x *float32, n uintptr) {
	switch f {
	case coarseGelu:
		callCoarseGelu(dst, x, n)
	case coarseExp:
		callCoarseExp(dst, x, n)
	case coarseSigmoid:
		callCoarseSigmoid(dst, x, n)
	}
}

func coarse32(f coarseFunction, dst, x []float32) bool {
	wide, _ := vectors()
	if !wide {
		return false
	}
	n := whole(wide, len(dst))
	for i := 0; i < n; i += callElements {
		f.call(at(dst, i), at(x, i), uintptr(min(callElements, n-i)))
	}
	if n < len(dst) {
		var p buffer
		copy(p[:], x[n:])
		f.call(&p[0], &p[0], uintptr(len(p)))
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
