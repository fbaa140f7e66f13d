package vec

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAddOuter(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(31, 32))
		checkAddOuter[float32](t, rng, 0x1p-23)
		checkAddOuter[float64](t, rng, 0x1p-52)
	})
}

// checkAddOuter compares with float64, and checks that nothing changes outside of the rows.
func checkAddOuter[T Float](t *testing.T, rng *rand.Rand, unit float64) {
	t.Helper()
	for _, c := range []struct{ rows, cols, dstStride, fStride int }{{1, 1, 16, 16}, {3, 5, 96, 32}, {17, 2, 40, 16}, {130, 20, 330, 330}} {
		dst, f, x := random[T](rng, c.rows*c.dstStride+c.cols*Lanes), random[T](rng, c.rows*c.fStride+Lanes), random[T](rng, c.cols*Lanes)
		want := make([]float64, len(dst))
		for i, v := range dst {
			want[i] = float64(v)
		}
		for r := range c.rows {
			for i, v := range x {
				want[r*c.dstStride+i] += float64(f[r*c.fStride+i%Lanes]) * float64(v)
			}
		}
		AddOuter(dst, f, x, c.rows, c.cols, c.dstStride, c.fStride)
		for i, v := range dst {
			near(t, want[i], float64(v), 16*unit, "element", i, c.cols)
		}
	}
}

func TestButterfly(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(33, 34))
		for _, radix := range []int{2, 3, 4, 5, 7, 8} {
			for _, count := range []int{1, 3, 40} {
				for _, run := range []int{16, 48, 192} {
					checkButterfly[float32](t, rng, radix, count, run, 0x1p-23)
					checkButterfly[float64](t, rng, radix, count, run, 0x1p-52)
				}
			}
			checkButterfly[float32](t, rng, radix, 2, 10000, 0x1p-23)
			checkButterfly[float64](t, rng, radix, 1, 20000, 0x1p-52)
		}
	})
}

// checkButterfly compares with the sums of the definition.
func checkButterfly[T Float](t *testing.T, rng *rand.Rand, radix, count, run int, unit float64) {
	t.Helper()
	n := radix * count * run
	x := Runs[T]{random[T](rng, n), random[T](rng, n), run, count * run}
	y := Runs[T]{make([]T, n), make([]T, n), radix * run, run}
	if apart := rng.IntN(100); rng.IntN(2) > 0 { // with gaps between the runs, whose order differs
		x = Runs[T]{random[T](rng, 2*n+100*n/run), random[T](rng, 2*n+100*n/run), run*radix + apart*radix, run + apart}
		y = Runs[T]{make([]T, 2*n+100*n/run), make([]T, 2*n+100*n/run), run + apart, count * (run + apart)}
	}
	w, roots := random[T](rng, 2*(radix-1)*count), make([]T, 2*radix)
	turn := func(k int) complex128 {
		s, c := math.Sincos(2 * math.Pi * float64(k%radix) / float64(radix))
		return complex(c, -s)
	}
	for j := range radix {
		roots[2*j], roots[2*j+1] = T(real(turn(j))), T(imag(turn(j)))
	}
	factors := w
	if rng.IntN(3) == 0 {
		factors = nil
	}
	Butterfly(y, x, factors, roots, radix, count, run)
	for p := range count {
		for k := range radix {
			by := complex(1, 0)
			if k > 0 && factors != nil {
				i := 2 * ((radix-1)*p + k - 1)
				by = complex(float64(w[i]), float64(w[i+1]))
			}
			for q := range run {
				var sum complex128
				for j := range radix {
					at := p*x.Step + j*x.Part + q
					sum += complex(float64(x.Re[at]), float64(x.Im[at])) * turn(j*k)
				}
				sum *= by
				at := p*y.Step + k*y.Part + q
				near(t, real(sum), float64(y.Re[at]), 200*unit, "real part", radix, run)
				near(t, imag(sum), float64(y.Im[at]), 200*unit, "imaginary part", radix, run)
			}
		}
	}
}

func TestTurnRows(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(37, 38))
		for _, rows := range []int{1, 3, 70} {
			for _, width := range []int{1, 16, 37, 320, 20000} {
				checkTurnRows[float32](t, rng, rows, width, 0x1p-23)
				checkTurnRows[float64](t, rng, rows, width, 0x1p-52)
			}
		}
	})
}

func checkTurnRows[T Float](t *testing.T, rng *rand.Rand, rows, width int, unit float64) {
	t.Helper()
	of := func(step int, fill func(n int) []T) Runs[T] {
		n := (rows-1)*step + width
		return Runs[T]{Re: fill(n), Im: fill(n), Step: step}
	}
	numbers := func(n int) []T { return random[T](rng, n) }
	x, v, s := of(width+rng.IntN(9), numbers), of(rng.IntN(2)*width, numbers), numbers(2*rows)
	y := of(width+rng.IntN(9), func(n int) []T { return make([]T, n) })
	TurnRows(y, x, v, s, rows, width)
	number := func(r Runs[T], row, i int) complex128 {
		return complex(float64(r.Re[row*r.Step+i]), float64(r.Im[row*r.Step+i]))
	}
	for r := range rows {
		for i := range width {
			want, got := number(x, r, i)*complex(float64(s[2*r]), float64(s[2*r+1]))*number(v, r, i), number(y, r, i)
			near(t, real(want), real(got), 60*unit, "real part", r, i)
			near(t, imag(want), imag(got), 60*unit, "imaginary part", r, i)
		}
	}
	for i := width; i < min(y.Step, len(y.Re)); i++ {
		require.Zero(t, y.Re[i], "between the rows")
	}
}

func TestSplitReal(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(35, 36))
		for _, m := range []int{1, 2, 3, 4, 9, 64, 5001} {
			for _, width := range []int{1, Lanes, 3 * Lanes} {
				checkSplitReal[float32](t, rng, m, width, 0x1p-23)
				checkSplitReal[float64](t, rng, m, width, 0x1p-52)
			}
		}
	})
}

// checkSplitReal compares with the definition, and inverts the result.
func checkSplitReal[T Float](t *testing.T, rng *rand.Rand, m, width int, unit float64) {
	t.Helper()
	zre, zim, last := random[T](rng, m*width), random[T](rng, m*width), make([]T, width)
	re, im := append([]T{}, zre...), append([]T{}, zim...)
	var w, back []T
	for k := range m/2 + 1 {
		s, c := math.Sincos(math.Pi * float64(k) / float64(m))
		w, back = append(w, T(c), T(-s)), append(back, T(c), T(s))
	}
	SplitReal(re, im, last, w, m, width)
	for k := range m + 1 {
		s, c := math.Sincos(math.Pi * float64(k) / float64(m))
		for l := range width {
			f, b := k%m*width+l, (m-k)%m*width+l
			z, y := complex(float64(zre[f]), float64(zim[f])), complex(float64(zre[b]), -float64(zim[b]))
			want := (z+y)/2 + complex(c, -s)*(z-y)/complex(0, 2)
			if k == m {
				near(t, real(want), float64(last[l]), 16*unit, "last", l, m)
				continue
			}
			near(t, real(want), float64(re[f]), 16*unit, "real part", k, m)
			near(t, imag(want), float64(im[f]), 16*unit, "imaginary part", k, m)
		}
	}
	JoinReal(re, im, last, back, m, width)
	for i := range zre {
		near(t, 2*float64(zre[i]), float64(re[i]), 32*unit, "real part, back", i, m)
		near(t, 2*float64(zim[i]), float64(im[i]), 32*unit, "imaginary part, back", i, m)
	}
}
