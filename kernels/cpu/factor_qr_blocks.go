package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// leastBlocks is the least number of columns for which reflections update the other columns a block at a time.
const leastBlocks = 96

// qrWorkOf chooses the method.
func qrWorkOf(b *build) matrixWork {
	m, n := matrixLengths(b.in(0))
	_, columns := matrixLengths(b.out(0))
	switch {
	case columns == n && isTall(m, n):
		return tallQRWork(b)
	case n < leastBlocks:
		return qrWork(b)
	case b.in(0).Typ.DType == ir.Float32 && singles(b.in(0)):
		return qrBlocksWork[float32](b)
	}
	return qrBlocksWork[float64](b)
}

// reflectedBlocks does the same as reflections, for larger matrices. Reflections update the columns of their block one
// after the other, and the part to the right of the block once.
type reflectedBlocks[T block.Float] struct {
	m, n, columns int // columns: how many columns of q are needed
	reflectionBlock[T]
	a, q, vectors strided[T]
	sides         strided[T] // reflected columns
	factors       []T        // of the reflections; 0 if there was nothing to do
	row, scaled   []T
}

func newReflectedBlocks[T block.Float](m, n, columns int) reflectedBlocks[T] {
	f := reflectedBlocks[T]{m: m, n: n, columns: columns}
	f.a.stride, f.q.stride = unaliased[T](paddedColumns(n)), unaliased[T](paddedColumns(columns))
	f.vectors.stride, f.sides.stride = paddedColumns(m), paddedColumns(max(n, columns))
	return f
}

func (f *reflectedBlocks[T]) size() int {
	return f.reflectionBlock.size(f.m) + inDoubles[T](f.m*f.a.stride) + inDoubles[T](f.m*f.q.stride) + inDoubles[T](f.n*f.vectors.stride) +
		inDoubles[T](blockOfReflections*f.sides.stride) + inDoubles[T](f.n) + inDoubles[T](blockOfReflections) + inDoubles[T](f.m)
}

func (f *reflectedBlocks[T]) cut(scratch *[]float64) {
	f.reflectionBlock.cut(scratch, f.m)
	f.a.x, f.q.x = scratchSlice[T](scratch, f.m*f.a.stride), scratchSlice[T](scratch, f.m*f.q.stride)
	f.vectors.x, f.sides.x = scratchSlice[T](scratch, f.n*f.vectors.stride), scratchSlice[T](scratch, blockOfReflections*f.sides.stride)
	f.factors, f.row, f.scaled = scratchSlice[T](scratch, f.n), scratchSlice[T](scratch, blockOfReflections), scratchSlice[T](scratch, f.m)
}

// triangle turns a into r, with zeros below the diagonal.
func (f *reflectedBlocks[T]) triangle() {
	for lo := 0; lo < f.n; lo += blockOfReflections {
		hi := min(lo+blockOfReflections, f.n)
		for k := lo; k < hi; k++ {
			f.column(k, paddedColumns(hi))
		}
		if hi < f.n {
			f.block(lo)
			f.change(f.a.from(lo, hi), f.reflectionBlock.columns, f.turned, paddedColumns(f.n)-hi)
		}
	}
}

// column reflects column k, and updates the columns after it up to end.
func (f *reflectedBlocks[T]) column(k, end int) {
	v, first, rows := f.vectors.row(k), (k+1)&^(smallestBlock-1), f.m-k
	clear(v)
	gatherColumn(v[k:f.m], f.a.x[k*f.a.stride+k:], f.a.stride)
	beta, factor := reflectionOf(v[k:f.m])
	if f.factors[k] = factor; factor != 0 && first < end {
		w := f.row[:end-first]
		clear(w)
		addRow(w, v[k:f.m], f.a.from(k, first))
		vec.Scale(f.scaled[:rows], v[k:f.m], -factor)
		vec.AddProducts(f.a.x[k*f.a.stride+first:], f.scaled, w, rows, 1, len(w), f.a.stride, 1, len(w))
	}
	f.a.x[k*f.a.stride+k] = beta
	for r := k + 1; r < f.m; r++ {
		f.a.x[r*f.a.stride+k] = 0
	}
}

// block prepares the block of reflections that begins at lo.
func (f *reflectedBlocks[T]) block(lo int) {
	f.prepare(f.vectors.from(lo, lo), f.factors[lo:], min(blockOfReflections, f.n-lo), f.m-lo)
}

// change adds left·right·x to x, which has the given number of columns.
func (f *reflectedBlocks[T]) change(x, left, right strided[T], columns int) {
	for k := range f.count {
		clear(f.sides.row(k)[:columns])
	}
	f.add(f.sides, right, x, f.count, f.length, columns)
	f.add(x, left, f.sides, f.length, f.count, columns)
}

// orthogonal computes q by applying the blocks of reflections, last to first, to the unit matrix.
func (f *reflectedBlocks[T]) orthogonal() {
	clear(f.q.x)
	for k := range f.columns {
		f.q.x[k*f.q.stride+k] = 1
	}
	for lo := (f.n - 1) / blockOfReflections * blockOfReflections; lo >= 0; lo -= blockOfReflections {
		f.block(lo)
		micro.Transpose(f.part.x, f.turned.x, f.count, f.length, f.part.stride, f.turned.stride)
		f.change(f.q.from(lo, lo), f.part, f.reflectionBlock.vectors, paddedColumns(f.columns)-lo)
	}
}

// qrBlocksWork is qrWork for larger matrices.
func qrBlocksWork[T block.Float](b *build) matrixWork {
	in, q, r := b.in(0), b.out(0), b.out(1)
	m, n := matrixLengths(in)
	_, columns := matrixLengths(q)
	plain := newReflectedBlocks[T](m, n, columns)
	both := b.isRead(0) // else r alone
	return matrixWork{scratch: plain.size(), work: 4 * m * n * columns, run: func(i int, scratch []float64) {
		f := plain
		f.cut(&scratch)
		clear(f.a.x)
		for k := range m {
			readNumbers(f.a.row(k)[:n], in, (i*m+k)*n)
		}
		f.triangle()
		for k := range columns {
			row := f.a.row(k)[:n]
			clear(row[:min(k, n)]) // NaN may have spread there
			writeNumbers(r, (i*columns+k)*n, row)
		}
		if !both {
			return
		}
		f.orthogonal()
		for k := range m {
			writeNumbers(q, (i*m+k)*columns, f.q.row(k)[:columns])
		}
	}}
}
