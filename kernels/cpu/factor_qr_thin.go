package cpu

// thinColumns is the largest number of columns for which a matrix is reduced column by column. Its rows are so short
// that they would leave vectors empty, and would need a call each.
const thinColumns = 4

// thinReflections reflects a matrix (m, n) of few columns, stored by columns, with q (m, n).
type thinReflections struct {
	m, n    int
	rows    []float64 // the matrix as read, and q as written
	columns []float64 // of the matrix; at the end they begin with those of r, or are those of q
	vectors []float64 // that of reflection k begins at row k
	factors [thinColumns]float64
}

func (f *thinReflections) size() int { return 3 * f.m * f.n }

func (f *thinReflections) cut(scratch *[]float64) {
	f.rows, f.columns, f.vectors = cut(scratch, f.m*f.n), cut(scratch, f.m*f.n), cut(scratch, f.m*f.n)
}

// triangle computes r from the rows, and stores each column as m numbers.
func (f *thinReflections) triangle() {
	for k := range f.n {
		gatherColumn(f.columns[k*f.m:][:f.m], f.rows[k:], f.n)
	}
	for k := range f.n {
		column := f.columns[k*f.m:][k:f.m]
		copy(f.vectors[k*f.m+k:], column)
		column[0], f.factors[k] = reflectionOf(f.vectors[k*f.m+k : (k+1)*f.m])
		f.reflect(k, k+1)
	}
}

// reflect applies reflection k to the columns from first on.
func (f *thinReflections) reflect(k, first int) {
	if f.factors[k] == 0 {
		return
	}
	v := f.vectors[k*f.m+k : (k+1)*f.m]
	for c := first; c < f.n; c++ {
		column := f.columns[c*f.m+k:][:len(v)]
		times := f.factors[k] * dot(v, column)
		for i, x := range v {
			column[i] -= times * x
		}
	}
}

// orthogonal sets the rows to those of q by applying the reflections, last to first, to the unit matrix. Columns before
// that of a reflection are zero where it works.
func (f *thinReflections) orthogonal() {
	clear(f.columns)
	for k := range f.n {
		f.columns[k*f.m+k] = 1
	}
	for k := f.n - 1; k >= 0; k-- {
		f.reflect(k, k)
	}
	for k := range f.n {
		for i, x := range f.columns[k*f.m:][:f.m] {
			f.rows[i*f.n+k] = x
		}
	}
}

// thinQRWork is [qrWork] for at most thinColumns columns, with as many columns of q.
func thinQRWork(b *build) matrixWork {
	in, q, r := b.in(0), b.out(0), b.out(1)
	m, n := matrixLengths(in)
	f, both := thinReflections{m: m, n: n}, b.isRead(0) // else r alone
	return matrixWork{scratch: f.size(), work: 4 * m * n * n, run: func(i int, scratch []float64) {
		f := f // each worker has its own memory
		f.cut(&scratch)
		readDoubles(f.rows, in, i*m*n)
		f.triangle()
		var triangle [thinColumns * thinColumns]float64
		for k := range n {
			for c := k; c < n; c++ {
				triangle[k*n+c] = f.columns[c*m+k]
			}
		}
		if writeDoubles(r, i*n*n, triangle[:n*n]); !both {
			return
		}
		f.orthogonal()
		writeDoubles(q, i*m*n, f.rows)
	}}
}
