package rows

import "github.com/gokeras/gokeras/kernels/cpu/internal/vec"

// together is how many rows are worked on in one call.
const together = 64

// Add adds rows of so many numbers, one after the other: row i of src to row places[i] of dst. It panics if one of them
// lies outside.
func Add(dst, src []float32, width int, places []int32) {
	var pairs [together][2]int
	for from := 0; from < len(places); from += together {
		some := places[from:min(from+together, len(places))]
		for i, p := range some {
			pairs[i] = [2]int{int(p) * width, (from + i) * width}
		}
		vec.AddRowsAt(dst, src, pairs[:len(some)], width)
	}
}

// Take copies rows of so many numbers: row i of dst becomes row places[i] of src. It panics if one of them lies
// outside.
func Take(dst, src []float32, width int, places []int32) {
	var pairs [together][2]int
	for from := 0; from < len(places); from += together {
		some := places[from:min(from+together, len(places))]
		for i, p := range some {
			pairs[i] = [2]int{(from + i) * width, int(p) * width}
		}
		vec.CopyRowsAt(dst, src, pairs[:len(some)], width)
	}
}

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
	const group = 16
	var pairs [group][2]int
	ahead := func(from int) {
		if 4*width > fetchMaxRow || 4*len(dst) < fetchMinFrom {
			return
		}
		for _, p := range places[min(from, len(places)):min(from+group, len(places))] {
			Fetch(dst[int(p)*width : (int(p)+1)*width])
		}
	}
	ahead(0)
	for from := 0; from < len(places); from += group {
		ahead(from + group)
		some := places[from:min(from+group, len(places))]
		for i, p := range some {
			pairs[i] = [2]int{int(p) * width, (from + i) * width}
		}
		vec.DescendRowsAt(dst, src, pairs[:len(some)], width, rate)
	}
}
