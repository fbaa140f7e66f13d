package ops

import "github.com/gokeras/gokeras/kernels/ir"

// Gcd returns the greatest common divisors of integers, which are never negative; that of 0 and 0 is 0. It uses
// Euclid's algorithm.
func Gcd(a, b *Tensor) *Tensor {
	a, b = wholeNumbers("gcd", a, b)
	out := WhileLoop(func(s []*Tensor) *Tensor {
		return Any(CompareScalar(ir.Ne, s[1], 0))
	}, func(s []*Tensor) []*Tensor {
		done := CompareScalar(ir.Eq, s[1], 0)
		rest := Fmod(s[0], Where(done, OnesLike(s[1]), s[1])) // 0 where the divisor is 0 already
		return []*Tensor{Where(done, s[0], s[1]), rest}
	}, a, b)
	if a.DType().IsSigned() { // the smallest number is its own absolute value, and leaves negative remainders
		return Abs(out[0])
	}
	return out[0]
}

// Lcm returns the least common multiples of integers, which are never negative; with 0 the result is 0.
func Lcm(a, b *Tensor) *Tensor {
	a, b = wholeNumbers("lcm", a, b)
	divisor := MaximumScalar(Gcd(a, b), 1)
	return Multiply(apply1(ir.Div, nil, a, divisor), b) // the division is exact
}

func wholeNumbers(what string, a, b *Tensor) (*Tensor, *Tensor) {
	a, b = common(a, b)
	if !a.DType().IsInteger() {
		Failf(graphOf(a, b), "%s: needs whole numbers, received %v", what, a.DType())
	}
	if a.DType().IsSigned() {
		a, b = Abs(a), Abs(b)
	}
	return a, b
}
