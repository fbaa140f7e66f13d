package kernelstest

import (
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// eliminateCases has matrices for which the solution grows little more than their size: four times the identity matrix,
// with its rows in another order, plus random numbers.
func eliminateCases(s *suite) {
	for _, dtype := range floats {
		for _, c := range []struct{ a, b ir.Shape }{
			{ir.Shape{1, 1}, ir.Shape{1, 1}}, {ir.Shape{3, 3}, ir.Shape{3, 0}}, {ir.Shape{0, 0}, ir.Shape{0, 2}}, {ir.Shape{0, 2, 2}, ir.Shape{0, 2, 2}},
			{ir.Shape{2, 0, 0}, ir.Shape{2, 0, 0}}, {ir.Shape{5, 5}, ir.Shape{5, 1}}, {ir.Shape{4, 7, 7}, ir.Shape{4, 7, 3}}, {ir.Shape{2, 3, 16, 16}, ir.Shape{2, 3, 16, 16}},
			{ir.Shape{3, 17, 17}, ir.Shape{3, 17, 0}}, {ir.Shape{2, 33, 33}, ir.Shape{2, 33, 19}}, {ir.Shape{70, 70}, ir.Shape{70, 1}}, {ir.Shape{8, 3, 3}, ir.Shape{8, 3, 1}},
			{ir.Shape{20, 5, 5}, ir.Shape{20, 5, 0}}, {ir.Shape{3, 11, 16, 16}, ir.Shape{3, 11, 16, 16}}, {ir.Shape{9, 40, 40}, ir.Shape{9, 40, 3}}, {ir.Shape{16, 0, 0}, ir.Shape{16, 0, 2}},
			{ir.Shape{131, 131}, ir.Shape{131, 40}}, {ir.Shape{13, 47, 47}, ir.Shape{13, 47, 2}},
		} {
			if c.a[0] == 131 && dtype != ir.Float32 { // interpreters of kernels take seconds for it
				continue
			}
			d := s.new(ir.Eliminate, "%v%v of %v", dtype, c.a, c.b).withinWhole(20 * loose(dtype))
			d.add(nil, d.regular(dtype, c.a), d.normal(dtype, c.b...))
		}
	}
}

// regular returns matrices far from singular, in which the largest elements of the columns are not on the diagonal.
func (d *draft) regular(dtype ir.DType, shape ir.Shape) reference.Value {
	n := shape[len(shape)-1]
	order := d.rng.Perm(n)
	return value(dtype, shape, func(i int) float64 {
		x := d.rng.NormFloat64() / float64(n)
		if row, column := i/n%n, i%n; order[row] == column {
			x += float64(4 * (1 - 2*(column%2)))
		}
		return x
	})
}
