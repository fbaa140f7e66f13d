package keras_test

import (
	"fmt"
	"testing"
)

// BenchmarkQuantized predicts with a Dense layer of 4096 units on 4096 features, in float32, 8 bits and 4 bits.
func BenchmarkQuantized(b *testing.B) {
	const n = 4096
	for _, batch := range []int{1, 64} {
		for _, mode := range []string{"float32", "mixed_bfloat16", "int8", "int4"} {
			b.Run(fmt.Sprintf("%s/%d", mode, batch), func(b *testing.B) {
				predict := quantizedDense(b, mode, 128, batch, n, n)
				for range 3 {
					predict()
				}
				b.SetBytes(n * n * map[string]int64{"float32": 8, "mixed_bfloat16": 4, "int8": 2, "int4": 1}[mode] / 2)
				b.ReportAllocs()
				for b.Loop() {
					predict()
				}
			})
		}
	}
}
