package tensorboard

import "math"

const buckets = 30

// Histogram counts numbers in 30 buckets of equal width from the least to the largest, as TensorBoard's histogram
// summary does: rows (left edge, right edge, count), of which the last includes its right edge. If all numbers are
// equal, all edges are that number and the last row counts them. Without numbers everything is zero. NaN and infinities
// are left out.
func Histogram(values []float64) []float64 {
	low, high, count := math.Inf(1), math.Inf(-1), 0
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			low, high = min(low, v), max(high, v)
			count++
		}
	}
	rows := make([]float64, 3*buckets)
	if count == 0 {
		return rows
	}
	if low == high {
		for i := range buckets {
			rows[3*i], rows[3*i+1] = low, low
		}
		rows[len(rows)-1] = float64(count)
		return rows
	}
	scale := 1.0
	if math.IsInf(high-low, 0) {
		scale = 0.5 // of the largest numbers even the distance must fit
	}
	width := (high*scale - low*scale) / buckets
	for i := range buckets {
		rows[3*i] = (low*scale + float64(i)*width) / scale
		rows[3*i+1] = (low*scale + float64(i+1)*width) / scale
	}
	rows[len(rows)-2] = high
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			i := buckets - 1
			if width > 0 { // it may be too small for a number
				i = int(min(math.Floor((v*scale-low*scale)/width), buckets-1))
			}
			rows[3*i+2]++
		}
	}
	return rows
}
