package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// Matrices that are factored side by side have factors whose product is the mean of the matrix and its transpose. A
// matrix without a factor, or with NaN, does not affect its neighbours.
func TestCholeskySideBySide(t *testing.T) {
	r := rand.New(rand.NewPCG(29, 6))
	for d, tolerance := range map[ir.DType]float64{ir.Float32: 2e-6, ir.Float64: 1e-13} {
		for _, n := range []int{1, 2, 3, 5, 8, 9, 16, 17, mostCholeskyLanes} {
			for _, matrices := range []int{vec.Lanes / 2, vec.Lanes, 2*vec.Lanes + 3} {
				var all []float64
				var wanted []dense
				for i := range matrices {
					a := normal(r, n, n)
					square := a.transposed().times(a)
					given := asSingle(newDense(n, n, func(i, j int) float64 { // of which the mean is symmetric
						return square.at(i, j) + a.at(min(i, j), max(i, j))*float64((i-j)%3) + map[bool]float64{true: 1}[i == j]
					}))
					switch i {
					case 3:
						given.x[n*n-1] = -1
					case 5:
						given.x[0] = math.NaN()
					}
					wanted = append(wanted, newDense(n, n, func(i, j int) float64 { return (given.at(i, j) + given.at(j, i)) / 2 }))
					all = append(all, given.x...)
				}
				for i, l := range choleskyOf(t, d, ir.Shape{matrices, n, n}, all) {
					switch name := fmt.Sprintf("%v, matrix %d of %d, %d rows", d, i, matrices, n); i {
					case 3, 5:
						require.True(t, math.IsNaN(l.x[n*n-1]), name)
					default:
						requireNear(t, wanted[i], l.times(l.transposed()), tolerance, name)
						for k := range n {
							require.Greater(t, l.at(k, k), 0.0, name)
							require.Equal(t, make([]float64, n-k-1), l.x[k*n+k+1:(k+1)*n], name)
						}
					}
				}
			}
		}
	}
}

// choleskyOf returns the factors of matrices, and checks that they are the same with three workers.
func choleskyOf(t *testing.T, d ir.DType, s ir.Shape, x []float64) (list []dense) {
	t.Helper()
	p, definition := ir.New("cholesky"), ir.New("zeros")
	given, err := reference.New(d, s, x...)
	require.NoError(t, err)
	definition.AddInput("x", given.Type)
	zeros, err := definition.Add("", ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(d, 0, s...)})
	require.NoError(t, err)
	definition.AddOutput("", zeros[0])
	out, err := p.Add("", ir.Factor, ir.FactorAttrs{Kind: ir.Cholesky, Definition: definition}, p.AddInput("x", given.Type))
	require.NoError(t, err)
	p.AddOutput("", out[0])
	values := []reference.Value{given}
	result := runOnce(t, p, values, false)[0]
	require.Equal(t, result.Bytes(), runWith(t, p, values, 3)[0], "with three workers")
	n := s[2]
	for i := range s[0] {
		list = append(list, dense{n, n, result.F[i*n*n : (i+1)*n*n]})
	}
	return list
}
