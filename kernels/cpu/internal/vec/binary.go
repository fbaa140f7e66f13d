package vec

// Add stores a + b.
func Add[T Float](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	if single[T]() && binary32(opAdd, as32(dst), as32(a), as32(b)) {
		return
	}
	for i := start64(ChainAdd, dst, a, b); i < len(dst); i++ {
		dst[i] = a[i] + b[i]
	}
}

// Sub stores a − b.
func Sub[T Float](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	if single[T]() && binary32(opSub, as32(dst), as32(a), as32(b)) {
		return
	}
	for i := start64(ChainSub, dst, a, b); i < len(dst); i++ {
		dst[i] = a[i] - b[i]
	}
}

// Mul stores a · b.
func Mul[T Float](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	if single[T]() && binary32(opMul, as32(dst), as32(a), as32(b)) {
		return
	}
	for i := start64(ChainMul, dst, a, b); i < len(dst); i++ {
		dst[i] = a[i] * b[i]
	}
}

// Div stores a / b.
func Div[T Float](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	if single[T]() && binary32(opDiv, as32(dst), as32(a), as32(b)) {
		return
	}
	for i := start64(ChainDiv, dst, a, b); i < len(dst); i++ {
		dst[i] = a[i] / b[i]
	}
}

// Max stores the larger of a and b, NaN if either is NaN.
func Max[T Float](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	if single[T]() && binary32(opMax, as32(dst), as32(a), as32(b)) {
		return
	}
	for i := start64(ChainMax, dst, a, b); i < len(dst); i++ {
		x, y := a[i], b[i]
		if x > y || x != x {
			y = x
		}
		dst[i] = y
	}
}

// Min stores the smaller of a and b, NaN if either is NaN.
func Min[T Float](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	if single[T]() && binary32(opMin, as32(dst), as32(a), as32(b)) {
		return
	}
	for i := start64(ChainMin, dst, a, b); i < len(dst); i++ {
		x, y := a[i], b[i]
		if x < y || x != x {
			y = x
		}
		dst[i] = y
	}
}

// ReluGrad stores dy where y > 0, else 0: the gradient of relu from its output or its input.
func ReluGrad[T Float](dst, dy, y []T) {
	dy, y = dy[:len(dst)], y[:len(dst)]
	if single[T]() && binary32(opReluGrad, as32(dst), as32(dy), as32(y)) {
		return
	}
	for i := start64(ChainKeepPositive, dst, dy, y); i < len(dst); i++ {
		g := dy[i]
		if !(y[i] > 0) {
			g = 0
		}
		dst[i] = g
	}
}

// Share stores dy where a > b, half of it where they are equal, else 0: the gradient of the larger of a and b, for a.
func Share[T Float](dst, dy, a, b []T) {
	dy, a, b = dy[:len(dst)], a[:len(dst)], b[:len(dst)]
	if single[T]() && share32(as32(dst), as32(dy), as32(a), as32(b)) {
		return
	}
	for i := range dst {
		g := T(0)
		switch x, y := a[i], b[i]; {
		case x > y:
			g = dy[i]
		case x == y:
			g = dy[i] * 0.5
		}
		dst[i] = g
	}
}

// TanhGrad stores dy·(1 − y²), where y is the output of tanh.
func TanhGrad[T Float](dst, dy, y []T) {
	dy, y = dy[:len(dst)], y[:len(dst)]
	if single[T]() && binary32(opTanhGrad, as32(dst), as32(dy), as32(y)) {
		return
	}
	for i := range dst {
		dst[i] = dy[i] * (1 - y[i]*y[i])
	}
}

// SigmoidGrad stores dy·y·(1 − y), where y is the output of sigmoid.
func SigmoidGrad[T Float](dst, dy, y []T) {
	dy, y = dy[:len(dst)], y[:len(dst)]
	if single[T]() && binary32(opSigmoidGrad, as32(dst), as32(dy), as32(y)) {
		return
	}
	for i := range dst {
		dst[i] = dy[i] * (y[i] * (1 - y[i]))
	}
}

// MulAdd stores a·b + c.
func MulAdd[T Float](dst, a, b, c []T) {
	a, b, c = a[:len(dst)], b[:len(dst)], c[:len(dst)]
	if single[T]() && mulAdd32(as32(dst), as32(a), as32(b), as32(c)) {
		return
	}
	if single[T]() {
		for i := range dst {
			dst[i] = a[i]*b[i] + c[i]
		}
		return
	}
	var products [256]T // rounded, on all processors
	for i := 0; i < len(dst); i += len(products) {
		end := min(i+len(products), len(dst))
		p := products[:end-i]
		Mul(p, a[i:end], b[i:end])
		Add(dst[i:end], p, c[i:end])
	}
}
