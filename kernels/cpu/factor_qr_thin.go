package cpu

// thinColumns is up to how many columns a matrix is turned into a triangle column by column: rows of so few numbers
// would leave vectors empty, and need a call each.
const thinColumns = 4

// thinReflections are reflections of a matrix (m, n) of few columns, in columns, with q (m, n).
type thinReflections struct {
	m, n    int
	rows    []float64 // the matrix as it is read, and q as it is written
	columns []float64 // of the matrix, which are those of r at their beginnings in the end, or of q
	vectors []float64 // reflection k begins at row k
	factors [thinColumns]float64
}

func (f *thinReflections) size() int { return 3 * f.m * f.n }

func (f *thinReflections) cut(scratch *[]float64) {
	f.rows, f.columns, f.vectors = cut(scratch, f.m*f.n), cut(scratch, f.m*f.n), cut(scratch, f.m*f.n)
}

// triangle makes r, m numbers after each other for each column, of the rows.
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

// reflect applies reflection k to the columns from the given one on.
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

// orthogonal makes the rows those of q: the reflections, from the last one on, of the unit matrix. Columns before that
// of a reflection have zeros where it works.
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

// thinQRWork is [qrWork] of up to thinColumns columns, with as many of q.
func thinQRWork(b *build) matrixWork {
	in, q, r := b.in(0), b.out(0), b.out(1)
	m, n := matrixLengths(in)
	f := thinReflections{m: m, n: n}
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
		writeDoubles(r, i*n*n, triangle[:n*n])
		f.orthogonal()
		writeDoubles(q, i*m*n, f.rows)
	}}
}
