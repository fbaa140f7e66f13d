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

// Solving triangles side by side, or in blocks of rows, gives back their right sides. A zero on a diagonal makes
// infinities or NaN only in its own result, and the other triangle is not read.
func TestTrianglesSideBySide(t *testing.T) {
	r := rand.New(rand.NewPCG(30, 11))
	for d, tolerance := range map[ir.DType]float64{ir.Float32: 2e-6, ir.Float64: 1e-13} {
		for _, s := range [][2]int{{1, 1}, {1, 3}, {2, 5}, {5, 1}, {8, 8}, {9, 4}, {16, 2}, {17, 1}, {24, 24}, {33, 2}, {50, 1}, {64, 8}, {100, 2}, {112, 1}, {117, 6}} {
			for _, matrices := range []int{1, vec.Lanes / 2, vec.Lanes, 2*vec.Lanes + 3} {
				for _, lower := range []bool{false, true} {
					solveTriangles(t, r, d, tolerance, matrices, s[0], s[1], lower)
				}
			}
		}
	}
}

func solveTriangles(t *testing.T, r *rand.Rand, d ir.DType, tolerance float64, matrices, n, m int, lower bool) {
	t.Helper()
	const zero = 5 // the matrix with a zero on its diagonal
	var given, right []float64
	var triangles, sides []dense
	for k := range matrices {
		a, b := asSingle(normal(r, n, n)), asSingle(normal(r, n, m))
		triangle := newDense(n, n, a.at)
		for i := range n {
			for j := range n {
				if lower && j > i || !lower && j < i {
					triangle.x[i*n+j], a.x[i*n+j] = 0, math.NaN()
				}
			}
			triangle.x[i*n+i] = float64(2 * n)
			if k == zero && i == n/2 {
				triangle.x[i*n+i] = 0
			}
			a.x[i*n+i] = triangle.x[i*n+i]
		}
		given, right = append(given, a.x...), append(right, b.x...)
		triangles, sides = append(triangles, triangle), append(sides, b)
	}
	kind := map[bool]ir.Factorization{true: ir.Lower, false: ir.Upper}[lower]
	for k, x := range triangleSolutions(t, kind, d, ir.Shape{matrices, n, n}, given, ir.Shape{matrices, n, m}, right) {
		name := fmt.Sprintf("%v %v, matrix %d of %d, %d rows, %d sides", kind, d, k, matrices, n, m)
		if k != zero {
			requireNear(t, sides[k], triangles[k].times(x), tolerance, name)
			continue
		}
		for i := range n {
			known := lower && i < n/2 || !lower && i > n/2
			for c := range m {
				require.Equal(t, known, x.at(i, c)-x.at(i, c) == 0, name)
			}
		}
	}
}

// triangleSolutions returns the solutions for the right sides of triangles, and checks that they are the same with
// three workers.
func triangleSolutions(t *testing.T, kind ir.Factorization, d ir.DType, s ir.Shape, a []float64, sides ir.Shape, b []float64) (list []dense) {
	t.Helper()
	p, definition := ir.New("triangles"), ir.New("zeros")
	matrix, err := reference.New(d, s, a...)
	require.NoError(t, err)
	right, err := reference.New(d, sides, b...)
	require.NoError(t, err)
	definition.AddInput("a", matrix.Type)
	definition.AddInput("b", right.Type)
	zeros, err := definition.Add("", ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(d, 0, sides...)})
	require.NoError(t, err)
	definition.AddOutput("", zeros[0])
	out, err := p.Add("", ir.Factor, ir.FactorAttrs{Kind: kind, Definition: definition}, p.AddInput("a", matrix.Type), p.AddInput("b", right.Type))
	require.NoError(t, err)
	p.AddOutput("", out[0])
	values := []reference.Value{matrix, right}
	result := runOnce(t, p, values, false)[0]
	require.Equal(t, result.Bytes(), runWith(t, p, values, 3)[0], "with three workers")
	n, m := sides[1], sides[2]
	for i := range s[0] {
		list = append(list, dense{n, m, result.F[i*n*m : (i+1)*n*m]})
	}
	return list
}
