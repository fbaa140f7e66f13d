//go:build !amd64

package quant

// dotsBytes reports whether an instruction adds four products of an unsigned and a signed byte.
func (f family) dotsBytes() bool { return false }

// digitsTime is the time of a product with digits of many rows and columns, relative to one of float32.
func (f family) digitsTime() float64 {
	if f == familyDots {
		return 0.95
	}
	return 0 // unpacking would take long too
}

func unpackBytes([]byte, []byte, []int8, int32, []int32, int) {}

func addDigits(int, int, []float32, int, []byte, int, []byte, []int32, []float32, []float32, int) {}

func joinDigits([]float32, int, []int32, []int32, []float32, []float32) {}
