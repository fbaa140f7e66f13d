package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// bidiagonal reduces a matrix (m, n), m >= n, to upper bidiagonal form by reflections of its columns and of its rows.
// The part to the right of a block of columns and below it is updated once per block: a - v·yᵀ - x·uᵀ, for the vectors
// v and u of the reflections. Source: Dongarra, Sorensen and Hammarling, "Block reduction of matrices to condensed
// forms", 1989.
type bidiagonal[T block.Float] struct {
	m, n, width             int
	a                       strided[T]
	left, right             strided[T] // the vectors of the reflections, as rows
	leftFactors, rightBy    []T
	leftRows, leftColumns   strided[T] // v and x of each column as two rows; -v and -x as two columns
	rightRows, rightColumns strided[T] // y and u; -y and -u
	dots                    []T
}

func newBidiagonal[T block.Float](m, n int) bidiagonal[T] {
	return bidiagonal[T]{m: m, n: n, width: columnsOfBlock(n)}
}

func (b *bidiagonal[T]) size() int {
	m, n, w := paddedColumns(b.m), paddedColumns(b.n), 2*b.width
	return inDoubles[T](b.m*n) + inDoubles[T](b.n*(m+n)) + 2*inDoubles[T](n) + inDoubles[T](w*(m+n)) + inDoubles[T](w*(b.m+b.n)) + inDoubles[T](w) + 64
}

func (b *bidiagonal[T]) cut(scratch *[]float64) {
	m, n, w := paddedColumns(b.m), paddedColumns(b.n), 2*b.width
	b.a, b.left, b.right = cutMatrix[T](scratch, b.m, n), cutMatrix[T](scratch, b.n, m), cutMatrix[T](scratch, b.n, n)
	b.leftFactors, b.rightBy = scratchSlice[T](scratch, n), scratchSlice[T](scratch, n)
	b.leftRows, b.rightRows = cutMatrix[T](scratch, w, m), cutMatrix[T](scratch, w, n)
	b.leftColumns, b.rightColumns = cutMatrix[T](scratch, b.m, w), cutMatrix[T](scratch, b.n, w)
	b.dots = scratchSlice[T](scratch, w)
}

// reduce stores the diagonal in d and the superdiagonal in e.
func (b *bidiagonal[T]) reduce(p *products[T], d, e []float64) {
	for lo := 0; lo < b.n; lo += b.width {
		hi := min(lo+b.width, b.n)
		for k := lo; k < hi; k++ {
			d[k] = b.reflectColumn(k, k-lo)
			e[k] = b.reflectRow(p, k, k-lo)
		}
		if first := hi &^ (smallestBlock - 1); hi < b.n {
			p.add(b.a.from(hi, first), b.leftColumns.from(hi, 0), b.rightRows.from(0, first), b.m-hi, 2*(hi-lo), b.a.stride-first)
		}
	}
}

// reflectColumn zeroes column k below the diagonal, and computes y.
func (b *bidiagonal[T]) reflectColumn(k, j int) float64 {
	v, y, first := b.left.row(k), b.rightRows.row(2*j), (k+1)&^(smallestBlock-1)
	clear(v)
	gatherColumn(v[k:b.m], b.a.x[k*b.a.stride+k:], b.a.stride)
	block := k &^ (smallestBlock - 1)
	addRow(v[block:], b.rightColumns.row(k)[:2*j], b.leftRows.from(0, block))
	clear(v[:k])
	beta, f := reflectionOf(v[k:b.m])
	b.leftFactors[k] = f
	copy(b.leftRows.row(2*j), v)
	clear(y)
	if f != 0 && k+1 < b.n {
		addRow(y[first:], v[k:b.m], b.a.from(k, first))
		dots := b.dots[:paddedColumns(2*j)]
		clear(dots)
		addRow(dots, v[k:b.m], b.leftColumns.from(k, 0))
		addRow(y[first:], dots[:2*j], b.rightRows.from(0, first))
		clear(y[:k+1])
		vec.Scale(y[first:], y[first:], f)
	}
	if f == 0 {
		clear(b.leftRows.row(2 * j))
	}
	negativeColumn(b.leftColumns, 2*j, b.leftRows.row(2 * j)[:b.m], k)
	negativeColumn(b.rightColumns, 2*j, y[:b.n], k)
	return float64(beta)
}

// reflectRow zeroes row k to the right of the superdiagonal, and computes x.
func (b *bidiagonal[T]) reflectRow(p *products[T], k, j int) float64 {
	if k+1 >= b.n {
		return 0
	}
	u, x, row, first := b.rightRows.row(2*j+1), b.leftRows.row(2*j+1), b.a.row(k), (k+1)&^(smallestBlock-1)
	addRow(row[first:], b.leftColumns.row(k)[:2*j+1], b.rightRows.from(0, first))
	clear(u)
	copy(u[k+1:], row[k+1:b.n])
	beta, g := reflectionOf(u[k+1 : b.n])
	b.rightBy[k] = g
	copy(b.right.row(k), u)
	clear(x)
	if g == 0 {
		clear(u)
	} else {
		b.timesRow(p, x[k+1:b.m], u[first:], b.a.from(k+1, first))
		dots := b.dots[:paddedColumns(2*j+1)]
		clear(dots)
		addRow(dots, u[k+1:b.n], b.rightColumns.from(k+1, 0))
		addRow(x[first:], dots[:2*j+1], b.leftRows.from(0, first))
		clear(x[:k+1])
		vec.Scale(x[k+1:b.m], x[k+1:b.m], g)
	}
	negativeColumn(b.leftColumns, 2*j+1, x[:b.m], k+1)
	negativeColumn(b.rightColumns, 2*j+1, u[:b.n], k+1)
	return float64(beta)
}

// timesRow computes the products of rows with u.
func (b *bidiagonal[T]) timesRow(p *products[T], x, u []T, rows strided[T]) {
	if len(x)*len(u) > 1<<12 {
		p.args = gemm.Args[T]{M: 1, N: len(x), K: len(u), A: u, B: rows.x, LDB: rows.stride, TransB: true, C: x}
		if p.run() {
			return
		}
	}
	for r := range x {
		x[r] = dot(u, rows.x[r*rows.stride:][:len(u)])
	}
}

func negativeColumn[T block.Float](a strided[T], column int, x []T, first int) {
	for r, at := first, first*a.stride+column; r < len(x); r, at = r+1, at+a.stride {
		a.x[at] = -x[r]
	}
}
