package rows

import "github.com/gokeras/gokeras/kernels/cpu/internal/vec"

// Add adds rows of so many numbers, one after the other: row i of src to row places[i] of dst. It panics if one of them
// lies outside.
func Add(dst, src []float32, width int, places []int32) {
	var pairs [64][2]int
	for from := 0; from < len(places); from += len(pairs) {
		some := places[from:min(from+len(pairs), len(places))]
		for i, p := range some {
			pairs[i] = [2]int{int(p) * width, (from + i) * width}
		}
		vec.AddRowsAt(dst, src, pairs[:len(some)], width)
	}
}
