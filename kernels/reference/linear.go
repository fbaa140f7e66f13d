package reference

import (
	"math"
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// factor runs the definition.
func (c *call) factor() error {
	results, err := c.run(c.node.Attrs.(ir.FactorAttrs).Definition, c.in)
	copy(c.out, results)
	return err
}

// eliminate is Gauss-Jordan elimination with the largest element of a column as pivot.
func (c *call) eliminate() error {
	s := c.in[0].Type.Shape
	n, m := s[len(s)-1], c.in[1].Type.Shape[len(s)-1]
	for i := range s[:len(s)-2].Size() {
		rows := make([][]float64, n)
		for r := range rows {
			rows[r] = slices.Concat(c.in[0].F[(i*n+r)*n:(i*n+r+1)*n], c.in[1].F[(i*n+r)*m:(i*n+r+1)*m])
		}
		c.out[1].F[i], c.out[2].F[i] = eliminateRows(rows)
		for r, row := range rows {
			copy(c.out[0].F[(i*n+r)*m:], row[n:])
		}
	}
	return nil
}

// eliminateRows turns the first columns into the identity matrix. It returns the sign of their determinant and the
// logarithm of its absolute value.
func eliminateRows(rows [][]float64) (sign, logarithm float64) {
	sign = 1
	for k := range rows {
		p := k
		for r := k; r < len(rows); r++ {
			if v, best := math.Abs(rows[r][k]), math.Abs(rows[p][k]); v > best || v != v && best == best {
				p = r
			}
		}
		if p != k {
			rows[p], rows[k], sign = rows[k], rows[p], -sign
		}
		pivot := rows[k][k]
		logarithm += math.Log(math.Abs(pivot))
		switch {
		case pivot == 0:
			sign = 0
		case pivot != pivot:
			sign = pivot
		case pivot < 0:
			sign = -sign
		}
		if pivot == 0 && len(rows[k]) == len(rows) {
			continue
		}
		for j := range rows[k] {
			rows[k][j] /= pivot
		}
		for r := range rows {
			if r == k {
				continue
			}
			factor := rows[r][k]
			for j := range rows[r] {
				rows[r][j] -= factor * rows[k][j]
			}
		}
	}
	return sign, logarithm
}
