package initializers

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/gokeras/gokeras/internal/memory"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Orthogonal makes a matrix whose rows or columns, whichever are fewer, are orthogonal to each other and have length
// Gain. A weight with more than two axes is treated as a matrix (all axes but the last, last axis).
//
// The matrix is the factor Q of the QR decomposition of a matrix of normally distributed numbers, with the signs that
// make the diagonal of R positive. It is then uniformly distributed over all orthogonal matrices. Source: Saxe et al.,
// "Exact solutions to the nonlinear dynamics of learning in deep linear neural networks", ICLR 2014.
type Orthogonal struct {
	Gain *float64 `keras:"gain,default=1.0"` // nil is 1
	Seed *int     `keras:"seed"`             // nil: the seed that comes with the call
}

// Initialize makes the matrix.
func (o Orthogonal) Initialize(into kernels.Array, seed uint64) error {
	shape := into.Type.Shape
	if len(shape) < 2 {
		return fmt.Errorf("initializers.Orthogonal needs a weight with at least two axes, received shape %v; use another initializer", shape)
	}
	last := len(shape) - 1
	rows, columns := shape[:last].Size(), shape[last]
	if rows == 0 || columns == 0 {
		return nil
	}
	long, short := max(rows, columns), min(rows, columns)
	// The matrix and its factor are in float64.
	if err := memory.Check(fmt.Sprintf("initializers.Orthogonal: a matrix %v", shape), ir.MulLengths(shape.Size(), 16)); err != nil {
		return err
	}
	drawn := make([]float64, shape.Size())
	drawRange(drawn, 0, own(o.Seed, seed), normally(0, 1))
	q := orthonormalColumns(drawn, long, short)
	gain := valueOr(o.Gain, 1)
	out := make([]float64, len(q))
	for i := range long {
		for j := range short {
			at := i*short + j
			if rows < columns {
				at = j*long + i
			}
			out[at] = gain * q[i*short+j]
		}
	}
	return into.SetFloat64s(0, out)
}

// orthonormalColumns replaces a row-major matrix, which has at least as many rows as columns, by the factor Q of its QR
// decomposition with a positive diagonal of R.
func orthonormalColumns(a []float64, rows, columns int) []float64 {
	m := blas64.General{Rows: rows, Cols: columns, Stride: columns, Data: a}
	tau := make([]float64, columns)
	size := make([]float64, 1)
	lapack64.Geqrf(m, tau, size, -1)
	work := make([]float64, int(size[0]))
	lapack64.Geqrf(m, tau, work, len(work))
	negative := make([]bool, columns)
	for j := range negative {
		negative[j] = math.Signbit(a[j*columns+j])
	}
	lapack64.Orgqr(m, tau, size, -1)
	work = make([]float64, int(size[0]))
	lapack64.Orgqr(m, tau, work, len(work))
	for i := range a {
		if negative[i%columns] {
			a[i] = -a[i]
		}
	}
	return a
}
