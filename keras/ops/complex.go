package ops

// Polar returns the complex numbers with the given absolute values and angles, as real and imaginary parts:
//
//	re = abs·cos(angle),   im = abs·sin(angle)
func Polar(abs, angle *Tensor) (re, im *Tensor) {
	abs, angle = common(float(abs), float(angle))
	return Multiply(abs, Cos(angle)), Multiply(abs, Sin(angle))
}

// ViewAsComplex splits the last axis of x (..., 2), which holds the real and imaginary parts of complex numbers.
func ViewAsComplex(x *Tensor) (re, im *Tensor) {
	if x.Rank() < 1 || x.Dim(-1) != 2 {
		Failf(x.g, "view as complex: needs a last axis of 2, the real and the imaginary part, received shape %v", x.Shape())
	}
	x = float(x)
	return Index(x, -1, 0), Index(x, -1, 1)
}

// ViewAsReal stacks real and imaginary parts along a new last axis, (..., 2).
func ViewAsReal(re, im *Tensor) *Tensor {
	re, im = common(re, im)
	return Stack(-1, re, im)
}
