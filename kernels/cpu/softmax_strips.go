package cpu

import (
	"slices"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Softmax along an axis with many contiguous elements behind it, such as the classes of images with channels in front.
// Nothing is transposed: a strip of contiguous columns is computed row by row where it lies. Strips of 16 bits are
// widened to scratch memory first. Sums go down a column in the order of [vec.SumRows], so their bits are not those of
// contiguous rows.

const (
	leastStrip       = 128 // contiguous elements from which on strips are computed
	leastStripAVX2   = 192
	stripBytes       = 512 << 10 // of the strips of operands and result, which are to stay in the second-level cache
	widestStrip      = 1024      // columns
	longestStrip     = 256       // rows of softmax and its logarithm
	longestGradStrip = 100       // rows of gradients
	fewInStrips      = 64        // rows, of which a strip may have few columns
	widthOfMany      = 192       // columns, at least, for more rows
	stripRows        = 16        // rows of exponentials that are summed together
)

// strip is a matrix of n rows, stride elements apart, of which the first columns count.
type strip[T block.Float] struct {
	data   []T
	stride int
}

func (s strip[T]) row(k, columns int) []T { return s.data[k*s.stride:][:columns] }

// inStrips reports whether rows lie along an axis with enough contiguous elements behind it, in all operands.
func inStrips[T block.Float](in []softmaxOperand[T], out softmaxOperand[T]) bool {
	return paysInStrips(out.Typ.DType, len(in), out.n, out.inner) && !slices.ContainsFunc(in, func(x softmaxOperand[T]) bool { return x.inner != out.inner })
}

// paysInStrips reports whether strips are faster than rows of n numbers that are transposed in scratch memory. A strip
// of long rows is narrow, and each of its lines is a call of a kernel. Numbers of 16 bits are widened in either case;
// their gradients, which have two operands, fill the cache sooner.
func paysInStrips(d ir.DType, operands, n, inner int) bool {
	switch {
	case inner < shorter(leastStrip, leastStripAVX2) || n <= shortSoftmaxRows || n > longestStrip || operands == 2 && n > longestGradStrip || !byStrips.Taken():
		return false
	case n <= fewInStrips:
		return true
	case d.IsHalf():
		return operands == 1
	}
	return stripWidth(d.Size(), operands, n, inner) >= widthOfMany
}

// stripWidth returns the number of columns of a strip of n numbers each. It depends on the lengths of the axes alone.
func stripWidth(size, operands, n, inner int) int {
	most := min(max(stripBytes/((operands+1)*size*n), 1), widestStrip)
	pieces := (inner + most - 1) / most
	return min((inner+pieces-1)/pieces, inner)
}

// strips returns a function that runs body for all strips. body has two lines of scratch memory, one number for each
// column, and stripRows rows. The result's strip may be that of an operand.
func strips[T block.Float](b *build, in []softmaxOperand[T], out softmaxOperand[T], body func(y strip[T], x [2]strip[T], columns int, scratch [2][]T, rows []T)) func() {
	n, inner, wide := out.n, out.inner, stripWidth(int(unsafe.Sizeof(T(0))), len(in), out.n, out.inner)
	pieces := (inner + wide - 1) / wide
	length := (2 + stripRows) * wide
	if out.half != nil {
		length += len(in) * n * wide
	}
	b.rt().need(length * int(unsafe.Sizeof(T(0))))
	return b.rt().parallel(out.N/(n*inner)*pieces, grain(4*n*wide), func(w *worker, lo, hi int) {
		scratch := scratchOf[T](w, length)
		halves := scratch[(2+stripRows)*wide:]
		for k := lo; k < hi; k++ {
			first := k % pieces * wide
			columns, base := min(wide, inner-first), k/pieces*n*inner+first
			var x [2]strip[T]
			for i := range in {
				x[i] = in[i].strip(halves[min(i*n*wide, len(halves)):], base, columns)
			}
			y := x[0]
			if out.half == nil {
				y = strip[T]{plan.Data[T](out.Operand)[base:], inner}
			}
			body(y, x, columns, [2][]T{scratch[:columns], scratch[wide:][:columns]}, scratch[2*wide:][:stripRows*columns])
			if out.half != nil {
				out.half.NarrowRows(plan.Data[uint16](out.Operand)[base:], widened(y.data), columns, n, inner, columns)
			}
		}
	})
}

// strip returns the columns that begin at an element. Those of 16 bits are widened to scratch memory.
func (x *softmaxOperand[T]) strip(scratch []T, base, columns int) strip[T] {
	if x.half == nil {
		return strip[T]{plan.Data[T](x.Operand)[base:], x.inner}
	}
	for k := range x.n {
		x.half.Widen(widened(scratch[k*columns:][:columns]), plan.Data[uint16](x.Operand)[base+k*x.inner:][:columns])
	}
	return strip[T]{scratch, columns}
}

// largest stores the largest numbers of all columns.
func (s strip[T]) largest(dst []T, n int) {
	if vec.MaxRowsApart(dst, s.data, n, s.stride) {
		return
	}
	copy(dst, s.row(0, len(dst)))
	for k := 1; k < n; k++ {
		vec.Max(dst, dst, s.row(k, len(dst)))
	}
}

func softmaxStrips[T block.Float](b *build, in []softmaxOperand[T], out softmaxOperand[T]) func() {
	n := out.n
	return strips(b, in, out, func(y strip[T], x [2]strip[T], columns int, scratch [2][]T, rows []T) {
		sums, largest, e := scratch[0], scratch[1], rows[:columns]
		x[0].largest(largest, n)
		for k := range n {
			vec.Sub(e, x[0].row(k, columns), largest)
			vec.Exp(y.row(k, columns), e)
		}
		vec.SumRows(sums, y.data, n, columns, y.stride)
		for i, s := range sums {
			sums[i] = 1 / s
		}
		for k := range n {
			vec.Mul(y.row(k, columns), y.row(k, columns), sums)
		}
	})
}

func softmaxGradStrips[T block.Float](b *build, in []softmaxOperand[T], out softmaxOperand[T]) func() {
	n := out.n
	return strips(b, in, out, func(dx strip[T], x [2]strip[T], columns int, scratch [2][]T, rows []T) {
		y, dy, sums, d := x[0], x[1], scratch[0], rows[:columns]
		sumInBlocks(sums, scratch[1], rows, n, func(row []T, k int) { vec.Mul(row, y.row(k, columns), dy.row(k, columns)) })
		for k := range n {
			vec.Sub(d, dy.row(k, columns), sums)
			vec.Mul(dx.row(k, columns), d, y.row(k, columns))
		}
	})
}

// sumInBlocks stores the sums of n rows, which fill computes, stripRows at a time.
func sumInBlocks[T block.Float](sums, more, rows []T, n int, fill func(row []T, k int)) {
	columns := len(sums)
	for k := 0; k < n; k += stripRows {
		count := min(stripRows, n-k)
		for i := range count {
			fill(rows[i*columns:][:columns], k+i)
		}
		if k == 0 {
			vec.SumRows(sums, rows, count, columns, columns)
			continue
		}
		vec.SumRows(more, rows, count, columns, columns)
		vec.Add(sums, sums, more)
	}
}

func logSoftmaxStrips[T block.Float](b *build, in []softmaxOperand[T], out softmaxOperand[T]) func() {
	n := out.n
	return strips(b, in, out, func(y strip[T], x [2]strip[T], columns int, scratch [2][]T, rows []T) {
		sums, largest := scratch[0], scratch[1]
		x[0].largest(largest, n)
		for k := 0; k < n; k += stripRows {
			e := rows[:min(stripRows, n-k)*columns]
			for i := range len(e) / columns {
				vec.Sub(e[i*columns:][:columns], x[0].row(k+i, columns), largest)
			}
			vec.Exp(e, e)
			if k > 0 { // the first row takes the sums of those before it
				vec.Add(e[:columns], e[:columns], sums)
			}
			vec.SumRows(sums, e, len(e)/columns, columns, columns)
		}
		vec.Log(sums, sums)
		vec.Add(sums, sums, largest)
		for k := range n {
			vec.Sub(y.row(k, columns), x[0].row(k, columns), sums)
		}
	})
}

func logSoftmaxGradStrips[T block.Float](b *build, in []softmaxOperand[T], out softmaxOperand[T]) func() {
	n := out.n
	return strips(b, in, out, func(dx strip[T], x [2]strip[T], columns int, scratch [2][]T, rows []T) {
		y, dy, sums, e := x[0], x[1], scratch[0], rows[:columns]
		vec.SumRows(sums, dy.data, n, columns, dy.stride)
		for k := range n {
			vec.Exp(e, y.row(k, columns))
			vec.Mul(e, e, sums)
			vec.Sub(dx.row(k, columns), dy.row(k, columns), e)
		}
	})
}
