package layers

import (
	"math"
	"slices"
	"sort"
)

// quantileSketch is a summary of numbers from which quantiles are read: sorted values with weights. It is that of
// Keras's Discretization, in the same single precision, so that both find the same boundaries. It must not contain NaN.
type quantileSketch struct {
	epsilon         float64
	values, weights []float32
}

// add adds a batch. Of n sorted numbers, every max(epsilon·n, 1)-th is kept, with that step as its weight.
func (s *quantileSketch) add(batch []float32) {
	sorted := sortedFloats(batch)
	step := max(float64(len(sorted))/(1/s.epsilon), 1)
	var values, weights []float32
	for i := int(step - 1); i < len(sorted); i += int(step) {
		values, weights = append(values, sorted[i]), append(weights, float32(step))
	}
	s.values, s.weights = append(values, s.values...), append(weights, s.weights...)
	sort.Stable(s)
	s.values, s.weights = s.compress(s.epsilon)
}

func (s *quantileSketch) Len() int           { return len(s.values) }
func (s *quantileSketch) Less(i, j int) bool { return s.values[i] < s.values[j] }
func (s *quantileSketch) Swap(i, j int) {
	s.values[i], s.values[j] = s.values[j], s.values[i]
	s.weights[i], s.weights[j] = s.weights[j], s.weights[i]
}

// boundaries returns the inner boundaries of bins that hold equal shares of the numbers.
func (s *quantileSketch) boundaries(bins int) []float64 {
	values, _ := s.compress(1 / float64(bins))
	out := make([]float64, max(len(values)-1, 0))
	for i := range out {
		out[i] = float64(values[i])
	}
	return out
}

// compress returns the sketch with its values at the fractions epsilon, 2·epsilon, ... of the whole weight, by linear
// interpolation between neighbours; a sketch of fewer than 1/epsilon values stays as it is.
func (s *quantileSketch) compress(epsilon float64) (values, weights []float32) {
	if float64(len(s.values))*epsilon < 1 {
		return s.values, s.weights
	}
	n := len(s.weights)
	sums, shares, at := make([]float64, n), make([]float64, n), make([]float64, n)
	var sum float32
	for i, w := range s.weights {
		sum += w
		sums[i], at[i] = float64(sum), float64(s.values[i])
	}
	for i := range shares {
		shares[i] = float64(float32(sums[i]) / sum)
	}
	previous := 0.0
	for i := range int(math.Ceil(1 / epsilon)) {
		share := epsilon + float64(i)*epsilon
		cumulative := interpolate(share, shares, sums)
		values = append(values, float32(interpolate(share, shares, at)))
		weights = append(weights, float32(cumulative-previous))
		previous = cumulative
	}
	return values, weights
}

// interpolate returns the value at x of the function that has the values y at the increasing places xs, linear between
// them and constant outside.
func interpolate(x float64, xs, y []float64) float64 {
	n := len(xs)
	j := sort.Search(n, func(i int) bool { return xs[i] > x }) - 1
	switch {
	case j < 0:
		return y[0]
	case j >= n-1:
		return y[n-1]
	case xs[j] == x:
		return y[j]
	}
	slope := (y[j+1] - y[j]) / (xs[j+1] - xs[j])
	return slope*(x-xs[j]) + y[j]
}

// sortedFloats returns numbers in increasing order; none is NaN. It is a radix sort of eleven bits at a time. The bits
// of floats are in the order of the numbers once those of negative numbers are inverted.
func sortedFloats(values []float32) []float32 {
	const digit, mask = 11, 1<<11 - 1
	if len(values) < 4*mask {
		return slices.Sorted(slices.Values(values))
	}
	keys, other := make([]uint32, len(values)), make([]uint32, len(values))
	var counts [3][mask + 1]int
	for i, v := range values {
		k := math.Float32bits(v)
		k ^= uint32(int32(k)>>31) | 1<<31
		keys[i] = k
		for pass := range counts {
			counts[pass][k>>(digit*pass)&mask]++
		}
	}
	for pass := range counts {
		at := 0
		for d, n := range counts[pass] {
			counts[pass][d], at = at, at+n
		}
		for _, k := range keys {
			d := k >> (digit * pass) & mask
			other[counts[pass][d]] = k
			counts[pass][d]++
		}
		keys, other = other, keys
	}
	out := make([]float32, len(keys))
	for i, k := range keys {
		out[i] = math.Float32frombits(k ^ (^uint32(int32(k)>>31) | 1<<31))
	}
	return out
}
