package main

import (
	"math/rand/v2"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Random calls of decompositions of matrices: many small ones and a few large ones.

// decompositions are their families.
var decompositions = []drawn{
	{"qr", "float32 float64", tallArguments},
	{"svd", "float32 float64", factoredArguments},
	{"eigh cholesky", "float32 float64", definiteArguments},
	{"lu_factor", "float32 float64", squareArguments},
	{"solve_triangular", "float32 float64", triangularArguments},
	{"lstsq", "float32 float64", leastSquaresArguments},
	{"pinv", "float32 float64", factoredArguments},
}

// mostFactored is how many elements are factored: the work grows with the rows, too.
const mostFactored = 1 << 16

// factoredShape is a batch of matrices of rows and columns of a few lengths.
func factoredShape(r *rand.Rand, s []int) []int {
	rows, columns := pick(r, 2, 3, 4, 5, 8, 12, 16, 24, 32, 64, 100, 200), pick(r, 2, 3, 4, 5, 8, 12, 16, 24, 32, 64, 100, 200)
	if r.IntN(2) == 0 {
		columns = rows
	}
	n := 1
	for _, size := range s {
		n *= size
	}
	return []int{max(min(n, mostFactored)/(rows*columns), 1), rows, columns}
}

func factoredArguments(r *rand.Rand, d string, s []int) []argument {
	return []argument{one(drawnTensor(d, factoredShape(r, s)))}
}

// tallShape is that of one tall matrix or of what factoredShape draws.
func tallShape(r *rand.Rand, s []int) []int {
	shape := factoredShape(r, s)
	if r.IntN(3) == 0 {
		rows := pick(r, 400, 1000, 3000)
		return []int{1, rows, min(shape[2], mostFactored/rows)}
	}
	return shape
}

func tallArguments(r *rand.Rand, d string, s []int) []argument {
	return []argument{one(drawnTensor(d, tallShape(r, s)))}
}

func definiteArguments(r *rand.Rand, d string, s []int) []argument {
	shape := factoredShape(r, s)
	x := one(drawnTensor(d, []int{shape[0], shape[1], shape[1]}))
	x.Definite = true
	return []argument{x}
}

func triangularArguments(r *rand.Rand, d string, s []int) []argument {
	x := definiteArguments(r, d, s)[0]
	shape := x.Tensors[0].Shape
	return []argument{x, one(drawnTensor(d, []int{shape[0], shape[1], pick(r, 1, 2, 5, shape[1])})), value(r.IntN(2) == 0)}
}

// leastSquaresArguments are one matrix and its right sides: Keras's function takes no batch.
func leastSquaresArguments(r *rand.Rand, d string, s []int) []argument {
	shape := tallShape(r, s)
	rows, columns := max(shape[1], shape[2]), min(shape[1], shape[2])
	return []argument{one(drawnTensor(d, []int{rows, columns})), one(drawnTensor(d, []int{rows, pick(r, 1, 2, 5)}))}
}

// makeDefinite makes the lower triangles of matrices symmetric ones, with the number of rows added to each diagonal.
func makeDefinite(data []byte, t tensor) {
	d, _ := ir.ParseDType(t.DType)
	n, size := t.Shape[len(t.Shape)-1], d.Size()
	for ; len(data) > 0; data = data[n*n*size:] {
		for i := range n {
			for j := range i {
				copy(data[(j*n+i)*size:][:size], data[(i*n+j)*size:])
			}
			at := data[(i*n+i)*size:][:size:size]
			copy(at, ir.AppendElement(nil, d, ir.Element(at, d, 0)+float64(n)))
		}
	}
}
