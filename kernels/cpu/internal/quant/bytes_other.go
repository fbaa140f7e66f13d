//go:build !amd64

package quant

// dotsBytes reports whether an instruction adds four products of a byte without a sign and one with a sign.
func (f family) dotsBytes() bool { return false }

// timeOfDigits is how many times as long as a product of float32 one of many rows and columns takes.
func (f family) timeOfDigits() float64 {
	if f == familyDots {
		return 0.95
	}
	return 0 // and unpacking would take long
}

func unpackBytes([]byte, []byte, []int8, int32, []int32, int) {}

func addDigits(int, int, []float32, int, []byte, int, []byte, []int32, []float32, []float32, int) {}

func joinDigits([]float32, int, []int32, []int32, []float32, []float32) {}
