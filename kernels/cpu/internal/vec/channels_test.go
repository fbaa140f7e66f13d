package vec

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestChannels compares with float64 sums and with the definition of each element.
func TestChannels(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(21, 22))
		for _, rows := range []int{1, 2, 63, 64, 300, 2100} {
			if testing.Short() && rows > 500 {
				continue
			}
			for _, cols := range []int{1, 3, 10, 16, 24, 33, 41, 64, 130, 519, 1100} {
				checkMoments[float32](t, rng, rows, cols, 0x1p-24)
				checkMoments[float64](t, rng, rows, cols, 0x1p-53)
				checkChannels[float32](t, rng, rows, cols, 0x1p-24)
				checkChannels[float64](t, rng, rows, cols, 0x1p-53)
			}
		}
		Moments[float32](nil, nil, nil, 0, 0)
		SumProducts[float32](nil, nil, nil, nil, 5, 0, nil, nil, nil)
		AffineRows[float32](nil, nil, nil, nil, nil, true)
		CombineRows[float32](nil, nil, nil, nil, nil, nil, nil, nil)
		nan := []float32{float32(math.NaN())}
		AffineRows(nan, nan, nil, []float32{1}, []float32{0}, true)
		require.True(t, nan[0] != nan[0])
	})
}

// checkMoments includes columns whose mean is thousands of times their deviation.
func checkMoments[T Float](t *testing.T, rng *rand.Rand, rows, cols int, unit float64) {
	t.Helper()
	x := random[T](rng, rows*cols)
	for i := range x {
		x[i] += T(1000 * (i % cols))
	}
	mean, squares := make([]float64, cols), make([]float64, cols)
	Moments(mean, squares, x, rows, cols)
	for c := range cols {
		about := float64(1000 * c)
		m, s := 0.0, 0.0
		for r := range rows {
			m += (float64(x[r*cols+c]) - about) / float64(rows)
		}
		m += about
		for r := range rows {
			s += math.Pow(float64(x[r*cols+c])-m, 2)
		}
		size := float64(1000*c + 5)
		near(t, m, mean[c], (2*unit+0x1p-46)*size+100*unit, "mean", rows, cols)
		near(t, s, squares[c], (20*unit+0x1p-44)*s+1e-12*size, "squares", rows, cols)
	}
}

func near(t *testing.T, want, got, tolerance float64, what string, rows, cols int) {
	if !(math.Abs(want-got) <= tolerance) {
		t.Fatalf("%d rows of %d: %s is %v, want %v, tolerance %v", rows, cols, what, got, want, tolerance)
	}
}

func checkChannels[T Float](t *testing.T, rng *rand.Rand, rows, cols int, unit float64) {
	t.Helper()
	n, period := rows*cols, Period(cols)
	require.Zero(t, period%cols)
	require.True(t, period%16 == 0 || cols > 32)
	x, y, before := random[T](rng, n), random[T](rng, n), random[T](rng, n)
	tile := func() []T {
		v := make([]T, period)
		Repeat(v, random[T](rng, cols))
		return v
	}
	mean, a, b, c, scale, shift := tile(), tile(), tile(), tile(), tile(), tile()
	for i := range n {
		if math.Abs(float64(x[i])*float64(scale[i%cols])+float64(shift[i%cols])) < 100*unit {
			y[i] = 0 // at the threshold: it may or may not count
		}
	}
	for _, masked := range []bool{false, true} {
		by, to := scale, shift
		if !masked {
			by, to = nil, nil
		}
		counts := func(i int) bool { return !masked || x[i]*scale[i%cols]+shift[i%cols] > 0 }
		sum, product := make([]float64, cols), make([]float64, cols)
		SumProducts(sum, product, y, x, rows, cols, mean, by, to)
		combined := slices.Clone(y)
		CombineRows(combined, x, combined, a, b, c, by, to)
		wantSum, wantProduct := make([]float64, cols), make([]float64, cols)
		for i := range n {
			k, v := i%cols, float64(x[i])
			want := v*float64(a[k]) + float64(c[k])
			if counts(i) {
				wantSum[k] += float64(y[i])
				wantProduct[k] += float64(y[i]) * (v - float64(mean[k]))
				want += float64(y[i]) * float64(b[k])
			}
			near(t, want, float64(combined[i]), 200*unit, "combination", rows, cols)
		}
		for k := range cols {
			near(t, wantSum[k], sum[k], 20*unit*float64(10+rows), "sum", rows, cols)
			near(t, wantProduct[k], product[k], 60*unit*float64(10+rows), "product", rows, cols)
		}
	}
	for _, add := range []bool{false, true} {
		for _, relu := range []bool{false, true} {
			got, addend := slices.Clone(before), y
			if !add {
				addend = nil
			}
			AffineRows(got, x, addend, scale, shift, relu)
			for i := range n {
				want := float64(x[i])*float64(scale[i%cols]) + float64(shift[i%cols])
				if add {
					want += float64(y[i])
				}
				if relu {
					want = max(want, 0)
				}
				near(t, want, float64(got[i]), 100*unit, "affine", rows, cols)
			}
		}
	}
}

// TestMaskOfChannels: the gradient of relu(x·scale + shift) passes exactly where the result is positive, even close to
// 0. All kernels compute the result in the same way, including elements that fill no vector or line.
func TestMaskOfChannels(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(23, 24))
		for _, rows := range []int{1, 2, 5, 17, 70, 331} {
			for cols := 1; cols <= 70; cols++ {
				checkMask[float32](t, rng, rows, cols)
				checkMask[float64](t, rng, rows, cols)
			}
			checkMask[float32](t, rng, rows, 130+rng.IntN(1000))
		}
	})
}

func checkMask[T Float](t *testing.T, rng *rand.Rand, rows, cols int) {
	t.Helper()
	period := Period(cols)
	scale, shift, one, zero := make([]T, period), make([]T, period), make([]T, period), make([]T, period)
	x, dy := make([]T, rows*cols), make([]T, rows*cols)
	means := random[T](rng, cols)
	for i := range period {
		if i < cols {
			scale[i] = 1 + T(rng.Float64())
		}
		scale[i] = scale[i%cols]
		shift[i] = -means[i%cols] * scale[i] // rounded: at the mean the result is 0, or the rounding error
		one[i] = 1
	}
	for i := range x {
		dy[i] = 1
		if x[i] = means[i%cols]; rng.IntN(3) == 0 {
			x[i] += T(rng.IntN(3) - 1)
		}
	}
	y, kept := make([]T, len(x)), make([]T, len(x))
	AffineRows(y, x, nil, scale, shift, true)
	CombineRows(kept, x, dy, zero, one, zero, scale, shift)
	sum, product := make([]float64, cols), make([]float64, cols)
	SumProducts(sum, product, dy, x, rows, cols, zero, scale, shift)
	want := make([]float64, cols)
	for i, v := range y {
		positive := T(0)
		if v > 0 {
			positive = 1
		}
		if kept[i] != positive {
			t.Fatalf("%d rows, %d columns: of element %d, %v, the gradient is %v", rows, cols, i, v, kept[i])
		}
		want[i%cols] += float64(positive)
	}
	if !slices.Equal(want, sum) {
		t.Fatalf("%d rows, %d columns: %v gradients of the channels count, want %v", rows, cols, sum, want)
	}
}
