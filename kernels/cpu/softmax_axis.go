package cpu

import (
	"slices"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// Softmax along an axis other than the last. The transposes before and after it are part of its unit, and the rows of a
// block are assembled in scratch memory. The bits are the same as for contiguous rows.

// softmaxOperand is an operand or the result of a softmax. If inner is 0, its rows are contiguous. Otherwise they run
// along another axis, and their elements are inner elements apart. 16-bit rows run along another axis, and are widened
// to float32; T is then float32.
type softmaxOperand[T block.Float] struct {
	*plan.Operand
	n, inner int
	half     *vec.Half
}

// softmaxOperands returns the operands and the result, and whether transposes are part of the unit.
func softmaxOperands[T block.Float](b *build) (in []softmaxOperand[T], out softmaxOperand[T], moved bool) {
	s := b.Program.Type(b.n.Inputs[0]).Shape
	n, inner := s[len(s)-1], 0
	e, half := b.u.Fused, halfOf[b.Program.Type(b.n.Inputs[0]).DType]
	if moved = e != nil; moved {
		inner = s[e.Axis : len(s)-1].Size()
	}
	for _, v := range b.n.Inputs {
		x := softmaxOperand[T]{&b.Operands[v], n, 0, half}
		if moved && slices.Contains(b.u.Nodes, b.Def[v]) {
			x.Operand, x.inner = &b.Operands[b.Node(v).Inputs[0]], inner
		}
		in = append(in, x)
	}
	if out = (softmaxOperand[T]{b.out(0), n, 0, half}); moved && e.Result != b.n.Outputs[0] {
		out.inner = inner
	}
	return in, out, moved
}

// pieces cuts rows [first, first+rows) into runs whose elements are side by side. It calls body for each run: count
// rows, at of them after first, with base the offset of the first element.
func (x *softmaxOperand[T]) pieces(first, rows int, body func(base, at, count int)) {
	for at := 0; at < rows; {
		outer, i := (first+at)/x.inner, (first+at)%x.inner
		count := min(rows-at, x.inner-i)
		body(outer*x.n*x.inner+i, at, count)
		at += count
	}
}

// widened views numbers of T as float32, which T must be.
func widened[T block.Float](x []T) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}

// load copies rows into columns.
func (x *softmaxOperand[T]) load(r *columnsOfRows[T], columns []T, first, rows int) {
	if x.half != nil {
		x.pieces(first, rows, func(base, at, count int) {
			for k := range x.n { // not WidenRows, which may write beyond a row, where another piece is
				x.half.Widen(widened(columns[k*rows+at:][:count]), plan.Data[uint16](x.Operand)[base+k*x.inner:][:count])
			}
		})
		return
	}
	data := plan.Data[T](x.Operand)
	if x.inner == 0 {
		r.load(columns, data[first*x.n:], rows)
		return
	}
	size := int(unsafe.Sizeof(data[0]))
	x.pieces(first, rows, func(base, at, count int) {
		moveRows(unsafe.Pointer(&columns[at]), unsafe.Pointer(&data[base]), x.n, count*size, rows*size, x.inner*size)
	})
}

// store copies columns back to the rows.
func (x *softmaxOperand[T]) store(r *columnsOfRows[T], columns []T, first, rows int) {
	if x.half != nil {
		x.pieces(first, rows, func(base, at, count int) {
			x.half.NarrowRows(plan.Data[uint16](x.Operand)[base:], widened(columns[at:]), count, x.n, x.inner, rows)
		})
		return
	}
	data := plan.Data[T](x.Operand)
	if x.inner == 0 {
		r.store(data[first*x.n:], columns, rows)
		return
	}
	size := int(unsafe.Sizeof(data[0]))
	x.pieces(first, rows, func(base, at, count int) {
		moveRows(unsafe.Pointer(&data[base]), unsafe.Pointer(&columns[at]), x.n, count*size, x.inner*size, rows*size)
	})
}

// rows returns contiguous rows, in scratch memory if they are not contiguous already. columns is scratch memory for as
// many elements.
func (x *softmaxOperand[T]) rows(scratch, columns []T, first, rows int) []T {
	if x.half != nil {
		x.load(nil, columns, first, rows)
		transposeRows(scratch, columns, rows, x.n, x.n, rows)
		return scratch[:rows*x.n]
	}
	data := plan.Data[T](x.Operand)
	if x.inner == 0 {
		return data[first*x.n:][:rows*x.n]
	}
	x.pieces(first, rows, func(base, at, count int) { transposeRows(scratch[at*x.n:], data[base:], count, x.n, x.n, x.inner) })
	return scratch[:rows*x.n]
}

// put stores rows that [softmaxOperand.rows] returned.
func (x *softmaxOperand[T]) put(rows, columns []T, first int) {
	if x.half != nil {
		transposeRows(columns, rows, x.n, len(rows)/x.n, len(rows)/x.n, x.n)
		x.store(nil, columns, first, len(rows)/x.n)
		return
	}
	if x.inner == 0 {
		return
	}
	data := plan.Data[T](x.Operand)
	x.pieces(first, len(rows)/x.n, func(base, at, count int) { transposeRows(data[base:], rows[at*x.n:], x.n, count, x.inner, x.n) })
}

// longBlock is the number of elements in a block of long rows.
const longBlock = 4096

// longColumns returns a function that runs body for blocks of rows that are transposed in scratch memory. body computes
// contiguous rows, and has scratch memory for one more row. A block has no more rows than there are.
func longColumns[T block.Float](b *build, in []softmaxOperand[T], out softmaxOperand[T], body func(y []T, x [2][]T, scratch []T)) func() {
	n := out.n
	rows := out.N / n
	most := min(max(longBlock/n, 16), rows)
	blocks := 3
	if out.half != nil {
		blocks++ // of columns
	}
	b.rt().need((blocks*most + 1) * n * int(unsafe.Sizeof(T(0))))
	return b.rt().parallel((rows+most-1)/most, grain(4*n*most), func(w *worker, lo, hi int) {
		scratch := scratchOf[T](w, (blocks*most+1)*n)
		columns := scratch[3*most*n+n:]
		for k := lo; k < hi; k++ {
			first := k * most
			count := min(most, rows-first)
			var x [2][]T
			for i := range in {
				x[i] = in[i].rows(scratch[i*most*n:][:count*n], columns, first, count)
			}
			y := scratch[2*most*n:][:count*n]
			if out.inner == 0 {
				y = out.rows(nil, nil, first, count)
			}
			body(y, x, scratch[3*most*n:][:n])
			out.put(y, columns, first)
		}
	})
}
