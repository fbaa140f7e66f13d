package vec

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// TestBitsOfDoubles: functions of rows, pixels and windows of float64 give the bits of the loops without vectors at
// every level, also for columns, lines and windows that fill no vector, and for numbers that are not finite.
func TestBitsOfDoubles(t *testing.T) {
	const cases = 120
	want := make([]map[string][]float64, cases)
	portable := isa.Override(isa.Portable)
	for seed := range want {
		want[seed] = doubleResults(uint64(seed))
	}
	portable()
	forLevels(t, func(t *testing.T) {
		for seed := range want {
			for name, got := range doubleResults(uint64(seed)) {
				for i, v := range want[seed][name] {
					if math.Float64bits(v) != math.Float64bits(got[i]) && !(v != v && got[i] != got[i]) {
						require.FailNow(t, "other bits", "%s of seed %d: %v at %d of %d, want %v", name, seed, got[i], i, len(got), v)
					}
				}
			}
		}
	})
}

// doubleResults returns the results of the functions, for random sizes and numbers.
func doubleResults(seed uint64) map[string][]float64 {
	rng := rand.New(rand.NewPCG(seed, 61))
	rows, cols := 1+rng.IntN(40), 1+rng.IntN(40)
	if rng.IntN(4) == 0 {
		cols = 1 + rng.IntN(700)
	}
	if rng.IntN(8) == 0 {
		rows = 1 + rng.IntN(400)
	}
	numbers := func(n int) []float64 {
		x := random[float64](rng, n)
		for i := range x {
			if seed%3 == 0 && rng.IntN(50) == 0 {
				x[i] = float64(special[rng.IntN(len(special))])
			}
		}
		return x
	}
	n, results := rows*cols, map[string][]float64{}
	x, y := numbers(n), numbers(n)
	finite := func(n int) []float64 { return random[float64](rng, n) } // masking in vectors turns an infinity into NaN
	channelResults(rng, results, finite(n), finite(n), rows, cols, finite)
	normResults(results, x, y, rows, cols, numbers)
	for name, f := range map[string]func(dst, x []float64) bool{"products": MulRows[float64], "largest": MaxRows[float64], "smallest": MinRows[float64]} {
		dst := make([]float64, cols)
		if !f(dst, x) { // only computed with vectors
			copy(dst, x[:cols])
			for r := cols; r < n; r += cols {
				for c, v := range x[r : r+cols] {
					dst[c] = map[string]func() float64{"products": func() float64 { return dst[c] * v }, "largest": func() float64 { return max(dst[c], v) }, "smallest": func() float64 { return min(dst[c], v) }}[name]()
				}
			}
		}
		results[name] = dst
	}
	sums := numbers(cols)
	SumRows(sums, x, rows, cols, cols)
	results["sums"] = sums
	imageResults(rng, results, x, y, numbers)
	return results
}

func channelResults(rng *rand.Rand, results map[string][]float64, x, y []float64, rows, cols int, numbers func(int) []float64) {
	tile := func() []float64 {
		v := make([]float64, Period(cols))
		Repeat(v, numbers(cols))
		return v
	}
	mean, scale, shift, by, more := tile(), tile(), tile(), tile(), tile()
	m, s := make([]float64, cols), make([]float64, cols)
	Moments(m, s, x, rows, cols)
	results["mean"], results["squares"] = m, s
	addend := y
	if rng.IntN(2) == 0 {
		addend = nil
	}
	z := make([]float64, len(x))
	AffineRows(z, x, addend, scale, shift, rng.IntN(2) == 0)
	results["affine"] = z
	var maskScale, maskShift []float64
	if rng.IntN(2) == 0 {
		maskScale, maskShift = scale, shift
	}
	sum, product, combined := make([]float64, cols), make([]float64, cols), make([]float64, len(x))
	SumProducts(sum, product, y, x, rows, cols, mean, maskScale, maskShift)
	CombineRows(combined, x, y, by, more, mean, maskScale, maskShift)
	results["sum of gradients"], results["sum of products"], results["combined"] = sum, product, combined
}

func normResults(results map[string][]float64, x, dy []float64, rows, cols int, numbers func(int) []float64) {
	gamma, beta, mean, rstd := numbers(cols), numbers(cols), make([]float64, rows), make([]float64, rows)
	y, dx, dgamma, dbeta := make([]float64, len(x)), make([]float64, len(x)), numbers(cols), numbers(cols)
	LayerNorm(y, x, gamma, beta, mean, rstd, 1e-3)
	LayerNormGrad(dx, dgamma, dbeta, x, gamma, mean, rstd, dy, make([]float64, 2*cols))
	results["normalized"], results["means"], results["rstd"] = y, mean, rstd
	results["dx"], results["dgamma"], results["dbeta"] = dx, dgamma, dbeta
}

// imageResults uses the numbers as pixels of images.
func imageResults(rng *rand.Rand, results map[string][]float64, x, y []float64, numbers func(int) []float64) {
	h, w, c := 2+rng.IntN(6), 2+rng.IntN(9), 1+rng.IntN(20)
	image := numbers(h * w * c)
	for i := range image {
		if rng.IntN(4) == 0 {
			image[i] = image[i/2] // equals
		}
	}
	top := make([]float64, h/2*(w/2)*c)
	MaxPool2x2(top, image, 1, h, w, c)
	dx, dy := make([]float64, len(image)), numbers(len(top))
	MaxPool2x2Backward(dx, dy, image, top, 1, h, w, c, rng.IntN(2) == 0)
	results["pool"], results["pool gradient"] = top, dx
	cells := []int{0, c, w * c, (w + 1) * c}[:1+rng.IntN(4)]
	largest, sums := make([]float64, (w-1)*c), make([]float64, (w-1)*c)
	WindowsMax(largest, image, cells, w-1, c, c, c)
	WindowsSum(sums, image, cells, w-1, c, c, c, 0.3)
	results["windows"], results["sums of windows"] = largest, sums
	left, d := numbers(w*c), numbers(w*c)
	results["larger"], results["added"], results["claimed"], results["left"] = append([]float64(nil), d...), append([]float64(nil), d...), d, left
	PixelsMax(results["larger"], image[w*c:], w, c, c, c)
	PixelsAdd(results["added"], image[w*c:], w, c, c, c)
	PixelsClaim(d, image, left, image[:w*c], w, c, c, c)
	table := numbers(5 * c)
	AddRowsAt(table, image, [][2]int{{0, c}, {2 * c, 0}, {0, 2 * c}, {4 * c, c}}, c)
	results["table"] = table
}
