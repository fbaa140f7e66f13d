package micro

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// want computes the tile's formula in float64, and the sum of absolute products for the error bound.
func want[T Float](t *Tile[T], r, c int) (sum, size float64) {
	for o := range t.Outer {
		for s := range t.Segments {
			for k := range t.K {
				p := float64(t.A[o*t.AOuter+s*t.ASegment+r*t.ARow+k*t.AK]) * float64(t.B[o*t.BOuter+s*t.BSegment+k*t.BK+c])
				sum += p
				size += math.Abs(p)
			}
		}
	}
	if t.Bias != nil {
		sum += float64(t.Bias[c])
		size += math.Abs(float64(t.Bias[c]))
	}
	if t.Accumulate {
		sum += float64(t.C[r*t.CRow+c])
		size += math.Abs(float64(t.C[r*t.CRow+c]))
	}
	if t.ReLU {
		sum = max(sum, 0)
	}
	return sum, size
}

func random[T Float](rng *rand.Rand, n, slack int) []T {
	x := make([]T, n, n+slack)
	for i := range x {
		x[i] = T(rng.NormFloat64())
	}
	return x
}

func epsilon[T Float]() float64 {
	if PanelWidth[T]() == 32 {
		return 0x1p-23
	}
	return 0x1p-52
}

// forLevels runs test with every set of kernels that this machine supports.
func forLevels(t *testing.T, test func(t *testing.T)) {
	for _, path := range isa.Paths() {
		t.Run(path.String(), func(t *testing.T) {
			defer isa.Override(path)()
			test(t)
		})
	}
}

func TestTileAgainstFloat64(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		t.Run("float32", testTiles[float32])
		t.Run("float64", testTiles[float64])
	})
}

func testTiles[T Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for rows := 1; rows <= 33; rows++ {
		for cols := 1; cols <= PanelWidth[T](); cols++ {
			k, segments, outer := 1+rng.IntN(9), 1+rng.IntN(3), 1+rng.IntN(3)
			tile := Tile[T]{
				Rows: rows, Cols: cols, K: k, Segments: segments, Outer: outer,
				ARow: rng.IntN(5), AK: 1 + rng.IntN(4), ASegment: rng.IntN(40), AOuter: rng.IntN(50),
				BK: cols + rng.IntN(3), BSegment: rng.IntN(40), BOuter: rng.IntN(50), CRow: cols + rng.IntN(4),
				Accumulate: rng.IntN(2) == 0, ReLU: rng.IntN(3) == 0,
			}
			testTile(t, rng, &tile, rng.IntN(2) == 0, rng.IntN(2)*PanelWidth[T]())
			if t.Failed() {
				return
			}
		}
	}
}

// testTile allocates exactly the memory that the tile may access, plus slack readable numbers after B, and checks C and
// what surrounds it.
func testTile[T Float](t *testing.T, rng *rand.Rand, tile *Tile[T], bias bool, slack int) {
	tile.A = random[T](rng, (tile.Outer-1)*tile.AOuter+(tile.Segments-1)*tile.ASegment+(tile.K-1)*tile.AK+(tile.Rows-1)*tile.ARow+1, 0)
	tile.B = random[T](rng, tile.lastB()+tile.Cols, slack)
	for i := len(tile.B); i < cap(tile.B); i++ {
		tile.B[:cap(tile.B)][i] = T(math.NaN()) // what follows B must not matter
	}
	tile.C = random[T](rng, (tile.Rows-1)*tile.CRow+tile.Cols, 0)
	if bias {
		tile.Bias = random[T](rng, tile.Cols, 0)
	}
	before := append([]T(nil), tile.C...)
	expected := *tile
	expected.C = before
	Run(tile)
	for i, got := range tile.C {
		r, c := i/tile.CRow, i%tile.CRow
		if c >= tile.Cols {
			require.Equal(t, before[i], got, "a number between the rows of C changed: %+v", describe(tile))
			continue
		}
		sum, size := want(&expected, r, c)
		bound := epsilon[T]() * float64(tile.K*tile.Segments*tile.Outer+3) * size
		if diff := math.Abs(float64(got) - sum); !(diff <= bound) {
			t.Errorf("row %d column %d: got %v, want %v ± %v; %s", r, c, got, sum, bound, describe(tile))
			return
		}
	}
}

func describe[T Float](t *Tile[T]) string {
	u := *t
	u.A, u.B, u.C = nil, nil, nil
	return fmt.Sprintf("%+v", u)
}

func TestChannelsAgainstFloat64(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		t.Run("float32", testChannels[float32])
		t.Run("float64", testChannels[float64])
	})
}

func testChannels[T Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for cols := 1; cols <= 140; cols++ {
		tile := Tile[T]{
			Rows: 1 + rng.IntN(9), Cols: cols, K: 1 + rng.IntN(4), Segments: 1 + rng.IntN(3), Outer: 1 + rng.IntN(2),
			ARow: rng.IntN(5), AK: 1 + rng.IntN(4), ASegment: rng.IntN(40), AOuter: rng.IntN(50),
			BK: cols + rng.IntN(3), BSegment: rng.IntN(40), BOuter: rng.IntN(50), CRow: cols + rng.IntN(4),
			Accumulate: rng.IntN(2) == 0, ReLU: rng.IntN(3) == 0,
		}
		tile.A = random[T](rng, (tile.Outer-1)*tile.AOuter+(tile.Segments-1)*tile.ASegment+(tile.K-1)*tile.AK+(tile.Rows-1)*tile.ARow+cols, 0)
		tile.B = random[T](rng, tile.lastB()+cols, 0)
		tile.C = random[T](rng, (tile.Rows-1)*tile.CRow+cols, 0)
		if rng.IntN(2) == 0 {
			tile.Bias = random[T](rng, cols, 0)
		}
		expected := tile
		expected.C = append([]T(nil), tile.C...)
		RunChannels(&tile)
		for i, got := range tile.C {
			r, c := i/tile.CRow, i%tile.CRow
			if c >= cols {
				require.Equal(t, expected.C[i], got, "a number between the rows of C changed")
				continue
			}
			expected.A = tile.A[c:] // column c uses A shifted by c, which makes it an ordinary tile
			sum, size := want(&expected, r, c)
			bound := epsilon[T]() * float64(tile.K*tile.Segments*tile.Outer+3) * size
			if diff := math.Abs(float64(got) - sum); !(diff <= bound) {
				t.Fatalf("row %d column %d: got %v, want %v ± %v; %s", r, c, got, sum, bound, describe(&tile))
			}
		}
	}
}

// TestLines compares a call with several lines with one call per line.
func TestLines(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(13, 14))
		for rows := 1; rows < 40; rows++ {
			lines, cols, k := 1+rng.IntN(5), 1+rng.IntN(32), rng.IntN(20)
			tile := Tile[float32]{Rows: rows, Cols: cols, K: k, Segments: 1, Outer: 1, ARow: 7, AK: 1, BK: 32, CRow: cols + 1,
				Lines: lines, ALine: 3, CLine: rows*(cols+1) + 2, Accumulate: rng.IntN(2) == 0}
			panel := rng.IntN(2) * 32 * 20
			tile.A, tile.B = random[float32](rng, lines*3+rows*7+64, 0), random[float32](rng, 32*32+lines*panel, 0)
			tile.C = random[float32](rng, lines*tile.CLine, 0)
			if rng.IntN(3) > 0 {
				tile.BiasLine = rng.IntN(2) * 40
				tile.Bias = random[float32](rng, (lines-1)*tile.BiasLine+cols, 0)
			}
			for i, run := range []func(*Tile[float32]){Run[float32], RunChannels[float32]} {
				if tile.BLine = panel; i > 0 {
					tile.BLine, tile.BiasLine = 0, 0
				}
				want, got := append([]float32(nil), tile.C...), append([]float32(nil), tile.C...)
				u := tile
				u.C = got
				run(&u)
				for line := range lines {
					u := tile
					u.Lines, u.A, u.B, u.C = 0, tile.A[3*line:], tile.B[line*tile.BLine:], want[line*tile.CLine:]
					if u.Bias != nil {
						u.Bias = tile.Bias[line*tile.BiasLine:]
					}
					run(&u)
				}
				require.Equal(t, want, got, "rows %d lines %d of panels %d apart, cols %d k %d", rows, lines, tile.BLine, cols, k)
			}
		}
	})
}

// TestLongCalls checks that work that would take too long for one assembly call is divided.
func TestLongCalls(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		const rows, k = 200, 3000
		rng := rand.New(rand.NewPCG(15, 16))
		tile := Tile[float32]{Rows: rows, Cols: 32, K: k, Segments: 1, Outer: 1, ARow: k, AK: 1, BK: 32, CRow: 32, Lines: 2, ALine: 1, CLine: rows * 32}
		tile.A, tile.B, tile.C = random[float32](rng, rows*k+1, 0), random[float32](rng, 32*k, 0), make([]float32, 2*rows*32)
		tile.Bias, tile.BiasLine = random[float32](rng, 33, 0), 1
		Run(&tile)
		for _, r := range []int{0, 1, 13, 14, 99, 198, 199} {
			for line := range 2 {
				u := tile
				u.A, u.Bias = tile.A[line:], tile.Bias[line:]
				sum, size := want(&u, r, 31)
				require.InDelta(t, sum, float64(tile.C[(line*rows+r)*32+31]), 1e-5*size)
			}
		}
	})
}

func TestLongSums(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 4))
		for _, rows := range []int{1, 5, 14, 29} {
			for _, k := range []int{255, 256, 257, 1000} {
				tile := Tile[float32]{Rows: rows, Cols: 32, K: k, Segments: 2, Outer: 1, ARow: k, AK: 1, ASegment: 3, BK: 32, CRow: 32}
				testTile(t, rng, &tile, true, 0)
			}
		}
	})
}

func TestEmptySum(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		c := []float32{1, -2, 3, -4}
		Run(&Tile[float32]{C: c, Bias: []float32{10, -20}, Rows: 2, Cols: 2, CRow: 2, ReLU: true})
		require.Equal(t, []float32{10, 0, 10, 0}, c)
		Run(&Tile[float32]{C: c, Bias: []float32{1, 1}, Rows: 2, Cols: 2, CRow: 2, K: 3, Segments: 0, Outer: 1, Accumulate: true})
		require.Equal(t, []float32{11, 1, 11, 1}, c)
		RunChannels(&Tile[float32]{C: c, Bias: []float32{1, -9}, Rows: 2, Cols: 2, CRow: 2, ReLU: true})
		require.Equal(t, []float32{1, 0, 1, 0}, c)
		Run(&Tile[float32]{Rows: 0, Cols: 2})
		Run(&Tile[float32]{Rows: 2, Cols: 0})
	})
}

// TestNaN checks that NaN and infinities are preserved, including by ReLU: max(NaN, 0) is NaN in Keras.
func TestNaN(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		nan, inf := float32(math.NaN()), float32(math.Inf(1))
		for cols := 1; cols <= 32; cols++ {
			a := []float32{nan, inf, -inf, 1, 0}
			b := make([]float32, 32)
			for i := range b {
				b[i] = 2
			}
			c := make([]float32, 5*cols)
			Run(&Tile[float32]{A: a, B: b, C: c, Rows: 5, Cols: cols, K: 1, Segments: 1, Outer: 1, ARow: 1, AK: 1, BK: 32, CRow: cols, ReLU: true})
			for i := range cols {
				assert.True(t, math.IsNaN(float64(c[i])), "relu(NaN) = %v", c[i])
				assert.Equal(t, []float32{inf, 0, 2, 0}, []float32{c[cols+i], c[2*cols+i], c[3*cols+i], c[4*cols+i]})
			}
		}
	})
}

// TestBitsIndependentOfTiling computes one matrix as single tiles of different sizes.
func TestBitsIndependentOfTiling(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(5, 6))
		const m, n, k = 41, 32, 77
		a, b := random[float32](rng, m*k, 0), random[float32](rng, k*n, 0)
		whole := make([]float32, m*n)
		Run(&Tile[float32]{A: a, B: b, C: whole, Rows: m, Cols: n, K: k, Segments: 1, Outer: 1, ARow: k, AK: 1, BK: n, CRow: n})
		single := make([]float32, m*n)
		for r := range m {
			Run(&Tile[float32]{A: a[r*k:], B: b, C: single[r*n:], Rows: 1, Cols: n, K: k, Segments: 1, Outer: 1, ARow: k, AK: 1, BK: n, CRow: n})
		}
		require.Equal(t, whole, single)
	})
}

func TestBoundsAreChecked(t *testing.T) {
	ok := func() *Tile[float32] {
		return &Tile[float32]{A: make([]float32, 6), B: make([]float32, 12), C: make([]float32, 8), Rows: 2, Cols: 4, K: 3,
			Segments: 1, Outer: 1, ARow: 3, AK: 1, BK: 4, CRow: 4}
	}
	require.NotPanics(t, func() { Run(ok()) })
	for text, spoil := range map[string]func(*Tile[float32]){
		"A has 5":         func(t *Tile[float32]) { t.A = t.A[:5] },
		"B has 11":        func(t *Tile[float32]) { t.B = t.B[:11] },
		"C has 7":         func(t *Tile[float32]) { t.C = t.C[:7] },
		"bias has 3":      func(t *Tile[float32]) { t.Bias = make([]float32, 3) },
		"33 columns":      func(t *Tile[float32]) { t.Cols = 33 },
		"negative stride": func(t *Tile[float32]) { t.AOuter = -1 },
	} {
		tile := ok()
		spoil(tile)
		func() {
			defer func() { assert.Contains(t, fmt.Sprint(recover()), text) }()
			Run(tile)
		}()
	}
}

// TestFetchC prefetches C with fewer and with more products than are added meanwhile: the result is the same.
func TestFetchC(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		for _, k := range []int{1, 20, 21, 35, 36, 37, 64} {
			for _, segments := range []int{1, 3} {
				tile := Tile[float32]{Rows: 40, Cols: 32, K: k, Segments: segments, Outer: 1, ARow: k * segments, AK: 1, ASegment: k, BK: 32,
					BSegment: 32 * k, CRow: 32, Accumulate: true}
				rng := rand.New(rand.NewPCG(11, uint64(k)))
				tile.A, tile.B = random[float32](rng, 40*k*segments, 0), random[float32](rng, 32*k*segments, 0)
				before := random[float32](rng, 40*32, 0)
				tile.C = slices.Clone(before)
				Run(&tile)
				expected := tile.C
				tile.C, tile.FetchC = slices.Clone(before), true
				Run(&tile)
				require.Equal(t, expected, tile.C, "%d sums, %d segments", k, segments)
			}
		}
	})
}

func BenchmarkTile(b *testing.B) {
	for _, path := range isa.Paths() {
		b.Run(path.String()+"/float32", func(b *testing.B) { benchmarkTiles[float32](b, path) })
		b.Run(path.String()+"/float64", func(b *testing.B) { benchmarkTiles[float64](b, path) })
	}
}

func benchmarkTiles[T Float](b *testing.B, path isa.Features) {
	defer isa.Override(path)()
	width := PanelWidth[T]()
	rng := rand.New(rand.NewPCG(1, 1))
	for _, s := range []struct{ rows, cols, k int }{
		{14, width, 128}, {12, width, 128}, {8, width, 128}, {6, width, 128}, {1, width, 128}, {28, width / 2, 128}, {14, width, 9},
	} {
		b.Run(fmt.Sprintf("%dx%dx%d", s.rows, s.cols, s.k), func(b *testing.B) {
			b.ReportAllocs()
			t := &Tile[T]{A: random[T](rng, s.rows*s.k, 0), B: random[T](rng, s.k*width, 0), C: make([]T, s.rows*width),
				Rows: s.rows, Cols: s.cols, K: s.k, Segments: 1, Outer: 1, ARow: s.k, AK: 1, BK: width, CRow: width}
			for b.Loop() {
				Run(t)
			}
			b.ReportMetric(2*float64(s.rows*s.cols*s.k)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
		})
	}
}
