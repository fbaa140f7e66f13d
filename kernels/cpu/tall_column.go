package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// The gradient of the weights of a layer with one output is the sum of the rows of its input, each multiplied by a
// number. It takes as long as reading the input in the order of memory.

const (
	columnSums  = 512  // rows that are summed before the sum goes to memory
	columnParts = 64   // largest number of independent sums
	columnLeast = 16   // least number of columns for vectors to pay
	columnMost  = 4096 // largest number of columns whose sums stay in the first-level cache
)

// tallColumn computes the sum over all examples (and steps) of their features, each multiplied by a number. It returns
// false for other products.
func (b *build) tallColumn() (func(), bool) {
	axes := leadingAxes(b.Program, b.n)
	if axes == 0 || b.u.Fused != nil || b.in(0).Typ.DType != ir.Float32 {
		return nil, false
	}
	x, y, out := b.in(0), b.in(1), b.out(0)
	rows, columns := x.Typ.Shape[:axes].Size(), x.Typ.Shape[axes:].Size()
	if y.N != rows || columns < columnLeast || columns > columnMost || rows < 2*columnSums {
		return nil, false
	}
	blocks := (rows + columnSums - 1) / columnSums
	parts := min(blocks, columnParts)
	sums := b.scratch(ir.Float32, parts*columns)
	b.rt().need(4 * columns)
	each := b.rt().parallel(parts, grain(rows/parts*columns/4), func(w *worker, lo, hi int) {
		block := scratchOf[float32](w, columns)
		for k := lo; k < hi; k++ {
			sum := plan.Data[float32](sums)[k*columns : (k+1)*columns]
			clear(sum)
			for i := k * blocks / parts; i < (k+1)*blocks/parts; i++ {
				first := i * columnSums
				n := min(columnSums, rows-first)
				clear(block)
				micro.AddRowProduct(block, plan.Data[float32](y)[first:first+n], plan.Data[float32](x)[first*columns:], columns)
				vec.Add(sum, sum, block)
			}
		}
	})
	return func() {
		each()
		total, all := plan.Data[float32](out), plan.Data[float32](sums)
		copy(total, all[:columns])
		for k := 1; k < parts; k++ {
			vec.Add(total, total, all[k*columns:(k+1)*columns])
		}
	}, true
}
