package quant

import "testing"

// TestZeroPointsThatFitBytes checks each zero point at each position among others that fit.
func TestZeroPointsThatFitBytes(t *testing.T) {
	for _, excess := range []int32{nibbleZero, zeroByte} {
		for n := range 20 {
			for at := range n {
				for v := -128; v < 128; v++ {
					zero := make([]int8, n)
					for i := range zero {
						zero[i] = int8(nibbleZero - excess)
					}
					zero[at] = int8(v)
					difference := int32(v) + excess - nibbleZero
					if want := difference >= -maxZeroPoint && difference < maxZeroPoint; fitBytes(zero, excess) != want {
						t.Fatalf("zero point %d with the excess %d at %d of %d: received %v", v, excess, at, n, !want)
					}
				}
			}
		}
	}
}
