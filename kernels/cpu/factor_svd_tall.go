package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// tallDecomposition decomposes matrices of many rows. Reflections reduce the matrix to a triangle, which is decomposed,
// and they turn its left singular vectors into those of the matrix. Source: Chan, "An improved algorithm for computing
// the singular value decomposition", 1982.
type tallDecomposition struct {
	columnReflections[float64]
	bidiagonal decomposition[float64] // of the triangle, unless that is small
	rotated    jacobiDecomposition
	turned     strided[float64] // the left vectors, as rows
	x          []float64
}

func newTallDecomposition(m, n int) tallDecomposition {
	f := tallDecomposition{columnReflections: newColumnReflections[float64](m, n)}
	f.turned.stride = f.columns.stride
	if n >= leastBidiagonal {
		f.bidiagonal = newDecomposition[float64](n, n, n)
	}
	return f
}

func (f *tallDecomposition) size() int {
	size := f.columnReflections.size(f.n) + f.n*f.turned.stride + f.m*f.n
	if f.n >= leastBidiagonal {
		return size + f.bidiagonal.size()
	}
	return size + f.rotated.size()
}

func (f *tallDecomposition) cut(scratch *[]float64) {
	f.columnReflections.cut(scratch, f.n)
	f.turned.x, f.x = cut(scratch, f.n*f.turned.stride), cut(scratch, f.m*f.n)
	if f.n >= leastBidiagonal {
		f.bidiagonal.cut(scratch)
	} else {
		f.rotated.cut(scratch)
	}
}

// turn turns the left vectors of the triangle into those of the matrix.
func (f *tallDecomposition) turn() {
	for lo := (f.n - 1) / reflectedColumns * reflectedColumns; lo >= 0; lo -= reflectedColumns {
		f.change(f.turned, lo, min(lo+reflectedColumns, f.n), 0, f.n, false)
	}
	micro.Transpose(f.x, f.turned.x, f.n, f.m, f.n, f.turned.stride)
}

// tallSVDWork is svdWork for matrices of many rows, with as many left vectors as columns.
func tallSVDWork(b *build) matrixWork {
	in, u, s, v := b.in(0), b.out(0), b.out(1), b.out(2)
	m, n := matrixLengths(in)
	plain := newTallDecomposition(m, n)
	plain.rotated = newJacobiDecomposition(n, n, n, in)
	return matrixWork{scratch: plain.size(), work: 4 * n * n * (m + 4*n), run: func(i int, scratch []float64) {
		f := plain
		f.cut(&scratch)
		readDoubles(f.x, in, i*m*n)
		scale := scaleOf(f.x)
		vec.Scale(f.x, f.x, 1/scale)
		f.read(f.x)
		f.reduce()
		clear(f.turned.x)
		if n < leastBidiagonal {
			values := f.rotated.find(f.triangle.x, scale)
			writeDoubles(s, i*n, values)
			writeDoubles(v, i*n*n, f.triangle.x)
			q := f.rotated.reflections.q
			for k := range n {
				gatherColumn(f.turned.row(k)[:n], q[k:], paddedColumns(n))
			}
		} else {
			d := &f.bidiagonal
			clear(d.a.x)
			for k := range n {
				copy(d.a.row(k), f.triangle.row(k))
			}
			d.find()
			vec.Scale(d.values[:n], d.values[:n], scale)
			writeDoubles(s, i*n, d.values[:n])
			writeTransposed(v, i, d.singular.right, n, n, f.x)
			for k := range n {
				copy(f.turned.row(k), d.u.row(k)[:n])
			}
		}
		f.turn()
		writeDoubles(u, i*m*n, f.x)
	}}
}
