package quant

import "math"

// RowCoding quantizes rows of floats, each with a scale of its own:
//
//	scale = Numerator / (max |x| + Epsilon)      q = min(max(round(x·scale), Low), High)
//
// Ties are rounded to even. A number that is infinite or NaN makes scale 0 or NaN.
type RowCoding struct {
	Numerator, Epsilon float32
	Low, High          int32 // within int8
}

// Run writes the bytes and the scales of rows of x, each of n numbers.
func (c *RowCoding) Run(to []int8, scales, x []float32, n int) {
	rows := len(scales)
	if rows == 0 || n == 0 {
		return
	}
	_, _ = to[:rows*n], x[:rows*n]
	if n < codeLanes() {
		for i := range scales {
			scales[i] = c.row(to[i*n:][:n], x[i*n:][:n])
		}
		return
	}
	c.vectors(to, scales, x, n)
	for i, s := range scales {
		if s != s || s == 0 { // a number of the row is not finite
			scales[i] = c.row(to[i*n:][:n], x[i*n:][:n])
		}
	}
}

// row quantizes one row and returns its scale.
func (c *RowCoding) row(to []int8, x []float32) float32 {
	top := math.Float32frombits(largestGo(x)) // NaN is larger than all numbers
	scale := c.Numerator / float32(top+c.Epsilon)
	for i, v := range x {
		switch y := math.RoundToEven(float64(float32(v * scale))); {
		case y != y:
			to[i] = 0
		case y < float64(c.Low):
			to[i] = int8(c.Low)
		default:
			to[i] = int8(min(y, float64(c.High)))
		}
	}
	return scale
}

// codeLimits is what kernels read.
type codeLimits struct {
	numerator, epsilon float32
	low, high          int32
}

// codeSteps says how a row of n numbers is divided into vectors: so many numbers fill vectors, and if tail is not 0,
// one more vector begins so many bytes after the row.
func codeSteps(n, lanes int) (whole, tail, last uintptr) {
	whole = uintptr(n / lanes * lanes)
	if n%lanes != 0 {
		last = uintptr(n - lanes)
		tail = 4 * last
	}
	return whole, tail, last
}
