package cpu

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// dense is a matrix of a test.
type dense struct {
	m, n int
	x    []float64
}

func newDense(m, n int, f func(i, j int) float64) dense {
	d := dense{m, n, make([]float64, m*n)}
	for i := range d.x {
		d.x[i] = f(i/n, i%n)
	}
	return d
}

func (a dense) at(i, j int) float64 { return a.x[i*a.n+j] }

func (a dense) transposed() dense {
	return newDense(a.n, a.m, func(i, j int) float64 { return a.at(j, i) })
}

func (a dense) times(b dense) dense {
	product := dense{a.m, b.n, make([]float64, a.m*b.n)}
	for i, f := range a.x {
		row := product.x[i/a.n*b.n:][:b.n]
		for j, v := range b.x[i%a.n*b.n:][:b.n] {
			row[j] += f * v
		}
	}
	return product
}

// requireNear compares two matrices. The tolerance is relative to the largest element or, in matrices of many rows
// without elements that stand out, to half the longest column: backward errors grow with the norms of columns.
func requireNear(t *testing.T, want, got dense, tolerance float64, what string) {
	t.Helper()
	size, columns := 1.0, make([]float64, want.n)
	for i, v := range want.x {
		size = max(size, math.Abs(v))
		columns[i%want.n] += v * v
	}
	for _, squares := range columns {
		size = max(size, math.Sqrt(squares)/2)
	}
	for i, v := range want.x {
		if math.Abs(v-got.x[i]) <= tolerance*size {
			continue // which takes much less time
		}
		require.InDelta(t, v, got.x[i], tolerance*size, "%s, element %d of %d x %d", what, i, want.m, want.n)
	}
}

func unit(n int) dense {
	return newDense(n, n, func(i, j int) float64 {
		if i == j {
			return 1
		}
		return 0
	})
}

// factorsOf runs the kernel on equal matrices, the first of which has a NaN, and returns the factors of the last one.
// It checks that one worker and three give the same, that nothing is allocated, and that r is the same if nothing reads
// q.
func factorsOf(t *testing.T, kind ir.Factorization, d ir.DType, results [][2]int, operands ...dense) []dense {
	t.Helper()
	p, values, out := factorProgram(t, kind, d, results, operands...)
	for _, v := range out {
		p.AddOutput("", v)
	}
	var list []dense
	outputs := runOnce(t, p, values, false)
	for i, bytes := range runWith(t, p, values, 3) {
		require.Equal(t, outputs[i].Bytes(), bytes, "%s with three workers", kind)
	}
	if kind == ir.QR {
		alone, _, out := factorProgram(t, kind, d, results, operands...)
		alone.AddOutput("", out[1])
		require.Equal(t, outputs[1].Bytes(), runOnce(t, alone, values, false)[0].Bytes(), "r alone")
	}
	for i, v := range outputs {
		n := max(results[i][1], 1)
		last := dense{results[i][0], n, v.F}
		if v.Type.DType == ir.Int32 {
			last.x = make([]float64, len(v.I))
			for k, x := range v.I {
				last.x[k] = float64(x)
			}
		}
		last.x = last.x[2*len(last.x)/3:]
		list = append(list, last)
	}
	return list
}

// factorProgram returns a program that factors a few equal matrices, the first of which has a NaN, its inputs and the
// factors.
func factorProgram(t *testing.T, kind ir.Factorization, d ir.DType, results [][2]int, operands ...dense) (*ir.Program, []reference.Value, []ir.Value) {
	t.Helper()
	const matrices = 3
	p, definition := ir.New(string(kind)), ir.New("zeros")
	var in []ir.Value
	var values []reference.Value
	for _, a := range operands {
		var all []float64
		for range matrices {
			all = append(all, a.x...)
		}
		if len(a.x) > 0 {
			all[len(a.x)/2] = []float64{math.NaN(), math.Inf(1)}[len(a.x)%2]
		}
		v, err := reference.New(d, ir.Shape{matrices, a.m, a.n}, all...)
		require.NoError(t, err)
		values, in = append(values, v), append(in, p.AddInput("x", v.Type))
		definition.AddInput("x", v.Type)
	}
	for i, s := range results {
		shape, e := ir.Shape{matrices, s[0], s[1]}, d
		if s[1] == 0 { // a vector
			shape = shape[:2]
		}
		if kind == ir.LU && i == 1 {
			e = ir.Int32
		}
		zeros, err := definition.Add("", ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(e, 0, shape...)})
		require.NoError(t, err)
		definition.AddOutput("", zeros[0])
	}
	out, err := p.Add("", ir.Factor, ir.FactorAttrs{Kind: kind, Definition: definition}, in...)
	require.NoError(t, err)
	return p, values, out
}

var factoredSizes = [][2]int{{1, 1}, {2, 2}, {3, 2}, {3, 3}, {5, 4}, {5, 5}, {7, 7}, {16, 16}, {17, 17}, {33, 20}, {40, 16}, {70, 70}, {150, 131}}

// The product of a matrix's factors is the matrix, and the factors have the right form.
func TestFactors(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 4))
	for d, most := range map[ir.DType]float64{ir.Float32: 2e-6, ir.Float64: 1e-13} {
		for _, s := range factoredSizes {
			m, n, tolerance := s[0], s[1], most
			if d == ir.Float32 && n > leastSingles {
				tolerance *= 2 // computed in float32
			}
			a := newDense(m, n, func(i, j int) float64 { return float64(float32(r.NormFloat64())) })
			for _, wide := range []bool{false, true} {
				requireLU(t, d, tolerance, a, wide)
				requireQR(t, d, tolerance, a, wide)
				requireSVD(t, d, tolerance, a, wide)
			}
			low := newDense(m, n, func(i, j int) float64 { return a.at(i, j/2*2) * float64(j%3) }) // of which some columns are zero or multiples
			requireSVD(t, d, tolerance, low, true)
			requireQR(t, d, tolerance, low, true)
			square := a.transposed().times(a)
			for i := range n {
				square.x[i*n+i]++
			}
			for i, v := range square.x {
				square.x[i] = float64(float32(v))
			}
			requireCholesky(t, d, tolerance, square)
			requireEigh(t, d, tolerance, square)
			requireEigh(t, d, tolerance, newDense(n, n, func(i, j int) float64 { return float64((i*n+j*n)%4-1) * 1e-3 }))
			requireEigh(t, d, tolerance, unit(n))
			requireTriangles(t, d, tolerance, square)
		}
	}
}

// Larger matrices are factored in blocks, float32 in its own type. Rows whose lengths are powers of two are spread.
func TestFactorsOfLargeMatrices(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 3))
	for d, tolerance := range map[ir.DType]float64{ir.Float32: 4e-6, ir.Float64: 1e-13} {
		a := asSingle(normal(r, 256, 256))
		square := a.transposed().times(a)
		for i := range a.n {
			square.x[i*a.n+i]++
		}
		requireCholesky(t, d, tolerance, asSingle(square))
		requireTriangles(t, d, tolerance, asSingle(square))
		if d == ir.Float32 {
			a = asSingle(normal(r, 369, 257))
		}
		for _, wide := range []bool{false, true} {
			requireLU(t, d, tolerance*4, a, wide)
			requireQR(t, d, tolerance, a, wide)
		}
	}
}

// Matrices with many rows are stored by columns, and large ones of float32 are computed in float32.
func TestFactorsOfTallMatrices(t *testing.T) {
	r := rand.New(rand.NewPCG(29, 61))
	for d, tolerance := range map[ir.DType]float64{ir.Float32: 4e-6, ir.Float64: 1e-13} {
		for _, s := range [][2]int{{70, 2}, {33, 5}, {100, 8}, {48, 24}, {512, 17}, {900, 30}, {2100, 6}, {330, 160}, {330, 161}, {16390, 3}} {
			a := asSingle(normal(r, s[0], s[1]))
			requireQR(t, d, tolerance, a, false)
			if s[1] < 40 {
				requireSVD(t, d, tolerance, a, false)
			}
			for i := range a.m { // columns of nothing but one number, whose square is infinite, and one that is nearly another
				a.x[i*a.n], a.x[i*a.n+1] = 0, 0
				a.x[i*a.n+a.n-1] = a.x[i*a.n+a.n/2]
			}
			big := 0x1p100
			if d == ir.Float64 {
				big = 0x1p1000
			}
			a.x[0], a.x[1], a.x[a.n-1] = big, -big, big
			out := factorsOf(t, ir.QR, d, [][2]int{{a.m, a.n}, {a.n, a.n}}, a)
			requireNear(t, unit(a.n), out[0].transposed().times(out[0]), tolerance, "Q")
			requireNear(t, a, out[0].times(out[1]), tolerance, "QR")
		}
	}
}

func requireLU(t *testing.T, d ir.DType, tolerance float64, a dense, wide bool) {
	t.Helper()
	if wide {
		a = a.transposed()
	}
	k := min(a.m, a.n)
	out := factorsOf(t, ir.LU, d, [][2]int{{a.m, a.n}, {k, 0}}, a)
	lower := newDense(a.m, k, func(i, j int) float64 {
		switch {
		case i == j:
			return 1
		case i > j:
			require.LessOrEqual(t, math.Abs(out[0].at(i, j)), 1.0)
			return out[0].at(i, j)
		}
		return 0
	})
	upper := newDense(k, a.n, func(i, j int) float64 {
		if i > j {
			return 0
		}
		return out[0].at(i, j)
	})
	moved := newDense(a.m, a.n, a.at)
	for i, p := range out[1].x {
		for j := range a.n {
			x, y := &moved.x[i*a.n+j], &moved.x[int(p)*a.n+j]
			*x, *y = *y, *x
		}
	}
	requireNear(t, moved, lower.times(upper), tolerance, "LU")
}

func requireQR(t *testing.T, d ir.DType, tolerance float64, a dense, full bool) {
	t.Helper()
	columns := a.n
	if full {
		columns = a.m
	}
	out := factorsOf(t, ir.QR, d, [][2]int{{a.m, columns}, {columns, a.n}}, a)
	requireNear(t, a, out[0].times(out[1]), tolerance, "QR")
	requireNear(t, unit(columns), out[0].transposed().times(out[0]), tolerance, "Q")
	for i := range columns {
		for j := range min(i, a.n) {
			require.Zero(t, out[1].at(i, j))
		}
	}
	below := 0.0
	for i := 1; i < a.m; i++ {
		below = max(below, math.Abs(a.at(i, 0)))
	}
	if sign := out[1].at(0, 0) * a.at(0, 0); below > 0 && a.at(0, 0) != 0 {
		require.Less(t, sign, 0.0, "LAPACK's sign")
	} else { // there is nothing to reflect
		require.GreaterOrEqual(t, sign, 0.0, "LAPACK's sign")
	}
}

func requireSVD(t *testing.T, d ir.DType, tolerance float64, a dense, full bool) {
	t.Helper()
	columns := a.n
	if full {
		columns = a.m
	}
	out := factorsOf(t, ir.SVD, d, [][2]int{{a.m, columns}, {a.n, 0}, {a.n, a.n}}, a)
	s := newDense(columns, a.n, func(i, j int) float64 {
		if i == j {
			return out[1].x[i]
		}
		return 0
	})
	for i, v := range out[1].x {
		require.GreaterOrEqual(t, v, 0.0)
		require.LessOrEqual(t, v, out[1].x[max(i-1, 0)])
	}
	requireNear(t, a, out[0].times(s).times(out[2].transposed()), tolerance*10, "SVD")
	requireNear(t, unit(columns), out[0].transposed().times(out[0]), tolerance*2, "U") // in float32 LAPACK is 7e-6 off for equal columns
	requireNear(t, unit(a.n), out[2].transposed().times(out[2]), tolerance*2, "V")
}

func requireCholesky(t *testing.T, d ir.DType, tolerance float64, a dense) {
	t.Helper()
	l := factorsOf(t, ir.Cholesky, d, [][2]int{{a.n, a.n}}, a)[0]
	requireNear(t, a, l.times(l.transposed()), tolerance, "Cholesky")
	for i := range a.n {
		require.Greater(t, l.at(i, i), 0.0)
		for j := i + 1; j < a.n; j++ {
			require.Zero(t, l.at(i, j))
		}
	}
	a = newDense(a.n, a.n, a.at)
	a.x[len(a.x)-1] = -1
	l = factorsOf(t, ir.Cholesky, d, [][2]int{{a.n, a.n}}, a)[0]
	require.True(t, math.IsNaN(l.x[len(l.x)-1]), fmt.Sprint("a factor of what has none: ", a.n))
}

func requireEigh(t *testing.T, d ir.DType, tolerance float64, a dense) {
	t.Helper()
	out := factorsOf(t, ir.Eigh, d, [][2]int{{a.n, 0}, {a.n, a.n}}, a)
	w := newDense(a.n, a.n, func(i, j int) float64 {
		if i == j {
			return out[0].x[i]
		}
		return 0
	})
	for i, v := range out[0].x {
		require.GreaterOrEqual(t, v, out[0].x[max(i-1, 0)])
	}
	requireNear(t, a, out[1].times(w).times(out[1].transposed()), tolerance*10, "eigenvalues")
	requireNear(t, unit(a.n), out[1].transposed().times(out[1]), tolerance, "eigenvectors")
}

// requireTriangles puts NaN into the other triangle.
func requireTriangles(t *testing.T, d ir.DType, tolerance float64, a dense) {
	t.Helper()
	for _, kind := range []ir.Factorization{ir.Lower, ir.Upper} {
		triangle, given := newDense(a.n, a.n, a.at), newDense(a.n, a.n, a.at)
		for i := range a.n {
			for j := range a.n {
				if kind == ir.Lower && j > i || kind == ir.Upper && j < i {
					triangle.x[i*a.n+j], given.x[i*a.n+j] = 0, math.NaN()
				}
			}
			for _, x := range []dense{triangle, given} {
				x.x[i*a.n+i] += 4 * float64(a.n)
			}
		}
		for _, m := range []int{1, 3, 8, 17} {
			y := newDense(a.n, m, func(i, j int) float64 { return float64(i%5 - j%3) })
			z := factorsOf(t, kind, d, [][2]int{{a.n, m}}, given, y)[0]
			requireNear(t, y, triangle.times(z), tolerance*10, string(kind))
		}
	}
}

// Numbers whose squares overflow or underflow are factored as well as others, even beside larger ones. Rounding errors
// of equal columns do not remain below the diagonal of a triangle.
func TestFactorsOfExtremes(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 21))
	for _, s := range [][2]int{{2, 2}, {5, 3}, {20, 20}, {40, 17}} {
		m, n := s[0], s[1]
		a := newDense(m, n, func(i, j int) float64 { return r.NormFloat64() })
		ones := newDense(m, n, func(i, j int) float64 { return 1 })
		requireQR(t, ir.Float64, 1e-13, ones, true)
		requireSVD(t, ir.Float64, 1e-13, ones, true)
		for _, scale := range []float64{0x1p-700, 0x1p1000} {
			scaled := newDense(m, n, func(i, j int) float64 { return a.at(i, j) * scale })
			qr := factorsOf(t, ir.QR, ir.Float64, [][2]int{{m, n}, {n, n}}, scaled)
			requireNear(t, unit(n), qr[0].transposed().times(qr[0]), 1e-13, "Q")
			requireNear(t, a, qr[0].times(newDense(n, n, func(i, j int) float64 { return qr[1].at(i, j) / scale })), 1e-13, "QR")
			svd := factorsOf(t, ir.SVD, ir.Float64, [][2]int{{m, n}, {n, 0}, {n, n}}, scaled)
			of := factorsOf(t, ir.SVD, ir.Float64, [][2]int{{m, n}, {n, 0}, {n, n}}, a)
			requireNear(t, of[1], newDense(n, 1, func(i, _ int) float64 { return svd[1].x[i] / scale }), 1e-13, "singular values")
			requireNear(t, unit(n), svd[2].transposed().times(svd[2]), 1e-13, "V")
		}
		for few := range 4 { // rows and columns of tiny numbers, first or last
			requireEigh(t, ir.Float64, 1e-13, newDense(n, n, func(i, j int) float64 {
				x := a.at(min(i, j), max(i, j))
				if few%2 == 0 && min(i, j) < few || few%2 == 1 && max(i, j) >= n-few {
					x *= 1e-200
				}
				return x
			}))
		}
	}
}

// A triangle has zeros below its diagonal, even if the matrix has NaN or infinities.
func TestTrianglesOfNoNumbers(t *testing.T) {
	for _, n := range []int{5, 20, 100} {
		a := newDense(n, n, func(i, j int) float64 { return 1 / float64(i+j+1) })
		a.x[n] = math.NaN()
		r := factorsOf(t, ir.QR, ir.Float32, [][2]int{{n, n}, {n, n}}, a)[1]
		for i := range n {
			require.Equal(t, make([]float64, i), r.x[i*n:][:i])
		}
	}
}

// A factorization allocates nothing while it runs.
func TestFactorsWithoutMemory(t *testing.T) {
	requireNoMemory(t, 20, 5)
	requireNoMemory(t, 20, 20)
	requireNoMemory(t, 3, 40)
	requireNoMemory(t, 3, 70)
	requireNoMemory(t, 2, 180)
	requireNoMemory(t, 1, 270)
}

func requireNoMemory(t *testing.T, matrices, n int) {
	t.Helper()
	square, vector := ir.Shape{matrices, n, n}, ir.Shape{matrices, n}
	for kind, outputs := range map[ir.Factorization][]ir.Shape{
		ir.Cholesky: {square}, ir.LU: {square, vector}, ir.QR: {square, square},
		ir.SVD: {square, vector, square}, ir.Eigh: {vector, square}, ir.Lower: {square},
	} {
		p, definition := ir.New(string(kind)), ir.New("zeros")
		x := ir.Type{DType: ir.Float32, Shape: square}
		operands := []ir.Value{p.AddInput("x", x)}
		definition.AddInput("x", x)
		if kind == ir.Lower {
			operands = append(operands, operands[0])
			definition.AddInput("y", x)
		}
		for i, s := range outputs {
			d := ir.Float32
			if kind == ir.LU && i == 1 {
				d = ir.Int32
			}
			zeros, err := definition.Add("", ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(d, 0, s...)})
			require.NoError(t, err)
			definition.AddOutput("", zeros[0])
		}
		results, err := p.Add("", ir.Factor, ir.FactorAttrs{Kind: kind, Definition: definition}, operands...)
		require.NoError(t, err)
		in, out := []kernels.Buffer{newBuffer(testDevice, x)}, []kernels.Buffer{}
		for _, v := range results {
			p.AddOutput("", v)
			out = append(out, newBuffer(testDevice, p.Type(v)))
		}
		e, err := Backend{}.load(p, kernels.CompileOptions{Device: testDevice}, false)
		require.NoError(t, err)
		r, numbers := rand.New(rand.NewPCG(4, 40)), make([]float64, x.Shape.Size())
		for i := range numbers {
			numbers[i] = r.NormFloat64()
		}
		given, err := reference.New(x.DType, x.Shape, numbers...)
		require.NoError(t, err)
		require.NoError(t, in[0].Write(given.Bytes()))
		require.Zero(t, testing.AllocsPerRun(10, func() { _ = e.Run(context.Background(), in, out) }), "%s of %d rows", kind, n)
		e.Close()
	}
}
