package rows

import "github.com/gokeras/gokeras/kernels/cpu/internal/vec"

// Add adds rows of so many numbers, one after the other: row i of src to row places[i] of dst. It panics if one of them
// lies outside.
func Add(dst, src []float32, width int, places []int32) {
	vec.AddPlacedRows(dst, src, width, places, false)
}

// Take copies rows of so many numbers: row i of dst becomes row places[i] of src. It panics if one of them lies
// outside.
func Take(dst, src []float32, width int, places []int32) {
	vec.TakePlacedRows(dst, src, width, places, false)
}

// TakeFar is Take of rows that lie at random in memory that the caches may not hold: where src is large it asks for the
// next rows while it works.
func TakeFar(dst, src []float32, width int, places []int64) {
	vec.TakePlacedRows(dst, src, width, places, far(src, width))
}

// far reports whether rows are worth being asked for in advance.
func far(table []float32, width int) bool {
	return 4*width <= fetchMaxRow && 4*len(table) >= fetchMinFrom
}

// together is how many parts are worked on in one call.
const together = 64

// Descend takes rate times each number of src from that of dst. The product is rounded before it is subtracted, so that
// the result is the same on all processors. It panics if dst is shorter than src.
func Descend(dst, src []float32, rate float32) {
	const part = 256
	dst = dst[:len(src)]
	var pairs [together][2]int
	for len(src) >= part {
		n := min(len(src)/part, together)
		for i := range n {
			pairs[i] = [2]int{i * part, i * part}
		}
		vec.DescendRowsAt(dst, src, pairs[:n], part, rate)
		dst, src = dst[n*part:], src[n*part:]
	}
	for i, v := range src {
		dst[i] -= float32(rate * v)
	}
}

// DescendRows takes rate times rows of so many numbers from other rows: row i of src from row places[i] of dst. It
// panics if one of them lies outside. Where dst is large it asks for the next rows while it works.
func DescendRows(dst, src []float32, width int, places []int64, rate float32) {
	vec.DescendPlacedRows(dst, src, width, places, rate, far(dst, width))
}
