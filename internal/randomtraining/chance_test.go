package randomtraining

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// chances is how many draws statistics are of, as in parts.py.
const chances = 24

// statistics are those of one draw, as in parts.py: moments, quantiles, and the squares of means over each choice of
// axes, which show what is drawn together.
func statistics(shape []int, v []float64) []float64 {
	n := float64(len(v))
	var mean, square, size, zeros float64
	for _, x := range v {
		mean += x / n
		square += x * x / n
		size += math.Abs(x) / n
		if x == 0 {
			zeros += 1 / n
		}
	}
	sorted := slices.Sorted(slices.Values(v))
	out := []float64{mean, square, size, zeros, sorted[0], sorted[len(v)-1]}
	for _, k := range []int{1, 2, 4, 6, 7} {
		out = append(out, sorted[len(v)*k/8])
	}
	for k := 1; k < len(shape); k++ {
		for over := range choices(len(shape), k) {
			out = append(out, squareOfMeans(shape, v, over))
		}
	}
	return out
}

// choices yields each choice of k of n axes, as itertools.combinations does.
func choices(n, k int) func(yield func(over []int) bool) {
	return func(yield func(over []int) bool) {
		var from func(start int, over []int) bool
		from = func(start int, over []int) bool {
			if len(over) == k {
				return yield(over)
			}
			for a := start; a < n; a++ {
				if !from(a+1, append(slices.Clone(over), a)) {
					return false
				}
			}
			return true
		}
		from(0, nil)
	}
}

// squareOfMeans is the mean of the squares of means over some axes.
func squareOfMeans(shape []int, v []float64, over []int) float64 {
	sums := map[int]float64{}
	for i, x := range v {
		rest, place, step := i, 0, 1
		for a := len(shape) - 1; a >= 0; a-- {
			if !slices.Contains(over, a) {
				place += rest % shape[a] * step
				step *= shape[a]
			}
			rest /= shape[a]
		}
		sums[place] += x
	}
	each, total := float64(len(v)/len(sums)), 0.0
	for place := range len(sums) {
		total += sums[place] / each * (sums[place] / each)
	}
	return total / float64(len(sums))
}

// chance compares statistics of draws with Keras's: the means of each may be seven of their deviations apart.
func (c *part) chance(shape []int, draws [][]float64) string {
	want, n := c.Answer.Statistics, float64(len(draws))
	all := make([][]float64, len(draws))
	for i, v := range draws {
		all[i] = statistics(shape, v)
	}
	if len(all[0]) != len(want) {
		return fmt.Sprintf("%d statistics, Keras has %d", len(all[0]), len(want))
	}
	for k, both := range want {
		w := [2]float64{float64(both[0]), float64(both[1])}
		if strings.HasSuffix(c.DType, "float16") && 3 <= k && k <= 5 || math.IsNaN(w[0]) || w[0]-w[0] != 0 || w[1]-w[1] != 0 {
			continue // TensorFlow draws in the type itself, of whose few numbers one in a hundred is 0, and none the last one below the bound
		}
		mean, square := 0.0, 0.0
		for _, s := range all {
			mean += s[k] / n
		}
		for _, s := range all {
			square += (s[k] - mean) * (s[k] - mean) / (n - 1)
		}
		reach := 7*math.Sqrt((square+w[1]*w[1])/n) + c.rounding()*(math.Abs(w[0])+w[1]) + 1e-6*(1e-3+math.Abs(w[0]))
		if !(math.Abs(mean-w[0]) <= reach) {
			return fmt.Sprintf("statistic %d of %d draws is %v ± %v, of Keras's %v ± %v", k, len(draws), mean, math.Sqrt(square), w[0], w[1])
		}
	}
	return ""
}
