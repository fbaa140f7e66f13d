package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
)

// sizesOfConquest are numbers of rows around the limits from which on matrices are halved, once and twice, and float32
// is computed in its own type.
var sizesOfConquest = []int{1, 2, 12, 55, 56, 113, 160, 161}

// Matrices of tiny or huge numbers, including one close to the largest number, and matrices with some tiny rows and
// columns are factored as well as others.
func TestConquestOfExtremes(t *testing.T) {
	r := rand.New(rand.NewPCG(83, 1))
	for _, n := range sizesOfConquest {
		plain := normal(r, n, n)
		symmetric := newDense(n, n, func(i, j int) float64 { return plain.at(min(i, j), max(i, j)) })
		for d, scales := range map[ir.DType][]float64{
			ir.Float32: {0x1p-90, 0x1p-60, 0x1p60, 0x1p115},
			ir.Float64: {0x1p-950, 0x1p-600, 0x1p600, 0x1p1010},
		} {
			tolerance := map[ir.DType]float64{ir.Float32: 4e-6, ir.Float64: 1e-13}[d]
			for _, scale := range scales {
				scaled := func(a dense) dense {
					return newDense(n, n, func(i, j int) float64 { return valueOf(d, a.at(i, j)*scale) })
				}
				t.Run(fmt.Sprintf("%v %d %g", d, n, scale), func(t *testing.T) {
					requireScaled(t, d, tolerance, scaled(symmetric), scaled(plain), scale)
				})
			}
			const large = 12 // almost the largest number, whose reciprocal is a denormal
			most := map[ir.DType]float64{ir.Float32: 0x1p124, ir.Float64: 0x1p1020}[d]
			beside := newDense(n, n, func(i, j int) float64 {
				if i+j == 0 {
					return large * most
				}
				return valueOf(d, symmetric.at(i, j)*most/64)
			})
			t.Run(fmt.Sprintf("%v %d largest", d, n), func(t *testing.T) { requireScaled(t, d, tolerance, beside, beside, most) })
			for _, few := range []int{1, n / 2} {
				part := func(a dense) dense {
					return newDense(n, n, func(i, j int) float64 {
						if i < few || j < few {
							return valueOf(d, a.at(i, j)*scales[0]*2)
						}
						return valueOf(d, a.at(i, j))
					})
				}
				t.Run(fmt.Sprintf("%v %d with %d small", d, n, few), func(t *testing.T) {
					requireScaled(t, d, tolerance, part(symmetric), part(plain), 1)
				})
			}
		}
	}
}

// valueOf rounds to a type.
func valueOf(d ir.DType, x float64) float64 {
	if d == ir.Float32 {
		return float64(float32(x))
	}
	return x
}

// requireScaled compares a factored matrix with the product of its factors, both divided by a scale.
func requireScaled(t *testing.T, d ir.DType, tolerance float64, symmetric, plain dense, scale float64) {
	t.Helper()
	n := plain.n
	divided := func(a dense) dense { return newDense(a.m, a.n, func(i, j int) float64 { return a.at(i, j) / scale }) }
	diagonal := func(x dense) dense {
		return newDense(n, n, func(i, j int) float64 { return x.x[i] / scale * unitOf(i, j) })
	}
	tiny := map[ir.DType]float64{ir.Float32: 0x1p-126, ir.Float64: 0x1p-1022}[d] / scale // smaller ones are zeros
	out := factorsOf(t, ir.Eigh, d, [][2]int{{n, 0}, {n, n}}, symmetric)
	requireNear(t, unit(n), out[1].transposed().times(out[1]), tolerance, "eigenvectors")
	requireNear(t, divided(symmetric), out[1].times(diagonal(out[0])).times(out[1].transposed()), tolerance*10+tiny, "eigenvalues")
	out = factorsOf(t, ir.SVD, d, [][2]int{{n, n}, {n, 0}, {n, n}}, plain)
	requireNear(t, unit(n), out[0].transposed().times(out[0]), tolerance, "U")
	requireNear(t, unit(n), out[2].transposed().times(out[2]), tolerance, "V")
	requireNear(t, divided(plain), out[0].times(diagonal(out[1])).times(out[2].transposed()), tolerance*10+tiny, "SVD")
}

func unitOf(i, j int) float64 {
	if i == j {
		return 1
	}
	return 0
}

// Tridiagonal matrices whose eigenvalues agree in pairs to all digits although no off-diagonal element is zero, copies
// of one with weak connections (glued Wilkinson matrices), and matrices with many equal eigenvalues.
func TestConquestOfClusters(t *testing.T) {
	r := rand.New(rand.NewPCG(83, 2))
	for _, n := range []int{63, 160, 231} {
		for _, beside := range []float64{0, 1e-14, 1e-4} {
			a := newDense(n, n, func(i, j int) float64 {
				switch {
				case i == j:
					return math.Abs(float64(i%21 - 10))
				case max(i, j)-min(i, j) > 1:
					return 0
				case max(i, j)%21 == 0:
					return beside
				}
				return 1
			})
			for d, tolerance := range map[ir.DType]float64{ir.Float32: 4e-6, ir.Float64: 2e-13} {
				a := newDense(n, n, func(i, j int) float64 { return valueOf(d, a.at(i, j)) })
				t.Run(fmt.Sprintf("Wilkinson %v %d %g", d, n, beside), func(t *testing.T) { requireScaled(t, d, tolerance, a, a, 1) })
			}
		}
		for many := range 4 {
			values := make([]float64, n)
			for i := range values {
				values[i] = []float64{-1, 0, 1, 1 + 1e-12*r.Float64()}[r.IntN(many+1)]
			}
			q := factorsOf(t, ir.QR, ir.Float64, [][2]int{{n, n}, {n, n}}, normal(r, n, n))[0]
			a := q.times(newDense(n, n, func(i, j int) float64 { return values[i] * unitOf(i, j) })).times(q.transposed())
			a = newDense(n, n, func(i, j int) float64 { return a.at(min(i, j), max(i, j)) })
			for d, tolerance := range map[ir.DType]float64{ir.Float32: 4e-6, ir.Float64: 2e-13} {
				a := newDense(n, n, func(i, j int) float64 { return valueOf(d, a.at(i, j)) })
				t.Run(fmt.Sprintf("equal %v %d %d", d, n, many), func(t *testing.T) { requireScaled(t, d, tolerance, a, a, 1) })
			}
		}
	}
}

// If a number is NaN or infinite, all results are NaN, like Keras's singular values on JAX, also on several threads.
func TestConquestOfNaN(t *testing.T) {
	r := rand.New(rand.NewPCG(83, 3))
	for _, n := range append(sizesOfConquest, 300) {
		for try, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat32} {
			a := normal(r, n, n)
			symmetric := newDense(n, n, func(i, j int) float64 { return a.at(min(i, j), max(i, j)) })
			i, j := r.IntN(n), r.IntN(n)
			for _, x := range []dense{a, symmetric} {
				x.x[i*n+j], x.x[j*n+i] = v, v
				if try == 3 {
					x.x[0] = math.NaN()
				}
			}
			for _, d := range []ir.DType{ir.Float32, ir.Float64} {
				out := factorsOf(t, ir.Eigh, d, [][2]int{{n, 0}, {n, n}}, symmetric)
				for _, o := range append(out, factorsOf(t, ir.SVD, d, [][2]int{{n, n}, {n, 0}, {n, n}}, a)...) {
					require.Equal(t, -1, slices.IndexFunc(o.x, func(v float64) bool { return !math.IsNaN(v) }))
				}
			}
		}
	}
}

// Roots lie between their poles, and the last one below the last pole plus rho, even if the approximation of the last
// root has a pole there.
func TestRootsBetweenPoles(t *testing.T) {
	r := rand.New(rand.NewPCG(83, 4))
	for range 200000 {
		const n, epsilon = 4, 0x1p-53
		var q roots
		q.squared = true
		scratch := make([]float64, q.size(n))
		q.cut(&scratch, n)
		tiny := func() float64 { return epsilon * float64(8+r.IntN(40)) }
		copy(q.poles, []float64{0, tiny(), 1e-9 * (1 + r.Float64()), 1 - epsilon*float64(r.IntN(40))})
		copy(q.weights, []float64{1e-7 * r.Float64(), 1e-6 * r.Float64(), 1, -tiny()})
		rho := 1 - epsilon*float64(r.IntN(80))
		q.find(n, rho)
		for k, root := range q.found[:n] {
			most := math.Sqrt(q.poles[n-1]*q.poles[n-1] + 2*rho)
			if k < n-1 {
				most = q.poles[k+1]
			}
			require.True(t, root >= q.poles[k] && root <= most, "root %d of poles %v and weights %v is %v", k, q.poles, q.weights, root)
		}
	}
}
