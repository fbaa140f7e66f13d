package cpu

import (
	"cmp"
	"math"
	"slices"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// jacobi makes the columns of a matrix orthogonal. It rotates two at a time, in sweeps over all pairs, as often as
// necessary (Hestenes, "Inversion of matrices by biorthogonalization and related results", 1958). Each column is stored
// as a row of stride numbers. The first length of them are the column; the rest is rotated along with it.
type jacobi struct {
	n, length int
	tolerance float64 // for the square of the cosine between two columns
	turnedRows
	norms  []float64 // squared lengths of the columns; at the end their lengths
	order  []int32   // the columns in order of decreasing length
	places []float64 // memory for order
}

// mostSweeps limits the sweeps over all pairs. Six to ten are usual.
const mostSweeps = 40

// newJacobi plans for n columns of the given length, each followed by more further numbers.
func newJacobi(n, length, more int, o *plan.Operand) jacobi {
	epsilon := math.Ldexp(1, -52)
	if o.Typ.DType.Size() == 4 {
		epsilon = math.Ldexp(1, -26) // precision of float32, to which results are rounded, and some bits more
	}
	return jacobi{n: n, length: length, turnedRows: newTurnedRows(n, length+more), tolerance: float64(max(length, 4)) * epsilon * epsilon}
}

func (j *jacobi) size() int { return j.turnedRows.size() + 2*j.n }

func (j *jacobi) cut(scratch *[]float64) {
	j.turnedRows.cut(scratch)
	j.norms = cut(scratch, j.n)
	j.places = cut(scratch, j.n)
}

func (j *jacobi) column(k int) []float64 { return j.rows[k*j.stride:][:j.length] }

// run rotates the columns, and sorts them by length.
func (j *jacobi) run() {
	for sweep := 0; sweep < mostSweeps && j.sweep(); sweep++ {
	}
	for k := range j.n {
		j.norms[k] = math.Sqrt(j.square(k))
	}
	j.order = fallingPlaces(j.norms, j.places)
}

// fallingPlaces returns the indices of numbers in decreasing order, using the given memory. Equal numbers keep their
// order.
func fallingPlaces(x, memory []float64) []int32 {
	order := block.View[int32](unsafe.Pointer(unsafe.SliceData(memory)), len(x))
	for k := range order {
		order[k] = int32(k)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(x[b], x[a]) })
	return order
}

func (j *jacobi) square(k int) float64 { return dot(j.column(k), j.column(k)) }

// sweep rotates each pair that is not orthogonal, and reports whether there was one.
func (j *jacobi) sweep() (turned bool) {
	for k := range j.n {
		j.norms[k] = j.square(k)
	}
	for p := range j.n {
		for q := p + 1; q < j.n; q++ {
			gamma := dot(j.column(p), j.column(q))
			if !(gamma*gamma > j.tolerance*j.norms[p]*j.norms[q]) {
				continue
			}
			turned = true
			zeta := (j.norms[q] - j.norms[p]) / (2 * gamma)
			t := math.Copysign(1/(math.Abs(zeta)+math.Sqrt(1+zeta*zeta)), zeta)
			c := 1 / math.Sqrt(1+t*t)
			j.turn(p, q, c, t*c)
			j.norms[p], j.norms[q] = j.norms[p]-t*gamma, j.norms[q]+t*gamma
		}
	}
	return turned
}

// jacobiDecomposition rotates the columns of a matrix (m, n), and those of the unit matrix along with them. The left
// vectors are the q of a QR factorization of the columns. They equal the normalized columns up to signs, and are
// orthogonal to these where columns are zero or missing.
type jacobiDecomposition struct {
	reflections
	jacobi
}

func newJacobiDecomposition(m, n, columns int, o *plan.Operand) jacobiDecomposition {
	return jacobiDecomposition{reflections{m: m, n: n, columns: columns}, newJacobi(n, m, n, o)}
}

func (d *jacobiDecomposition) size() int { return d.jacobi.size() + d.reflections.size() }

func (d *jacobiDecomposition) cut(scratch *[]float64) {
	d.reflections.cut(scratch)
	d.jacobi.cut(scratch)
}

// find returns the singular values of scale·x. The caller has stored the columns of x as rows, and divided them by
// scale. find leaves the right vectors in the columns of x and the left ones in those of q.
func (d *jacobiDecomposition) find(x []float64, scale float64) []float64 {
	f, j := &d.reflections, &d.jacobi
	m, n := f.m, f.n
	for k := range n {
		gatherColumn(j.column(k), x[k:], n)
		j.rows[k*j.stride+m+k] = 1
	}
	stride := paddedColumns(n)
	clear(f.a)
	j.run()
	values := f.scaled[:n]
	for k, from := range j.order {
		size := j.norms[from]
		for r, v := range j.column(int(from)) {
			if size != 0 {
				f.a[r*stride+k] = v / size
			}
		}
		for r, v := range j.rows[int(from)*j.stride+m:][:n] {
			x[r*n+k] = v
		}
	}
	f.triangle()
	f.orthogonal()
	for r := range m {
		row := f.q[r*paddedColumns(f.columns):][:f.columns]
		for k := range n {
			if f.a[k*stride+k] < 0 {
				row[k] = -row[k]
			}
		}
	}
	for k, from := range j.order {
		values[k] = j.norms[from] * scale
	}
	return values
}

// svdWork decomposes matrices with few columns.
func svdWork(b *build) matrixWork {
	in, u, s, v := b.in(0), b.out(0), b.out(1), b.out(2)
	m, n := matrixLengths(in)
	_, columns := matrixLengths(u)
	plain := newJacobiDecomposition(m, n, columns, in)
	return matrixWork{scratch: plain.size() + m*n, work: 8 * n * n * (m + n), run: func(i int, scratch []float64) {
		d := plain
		d.cut(&scratch)
		x := cut(&scratch, m*n)
		readDoubles(x, in, i*m*n)
		scale := scaleOf(x)
		vec.Scale(x, x, 1/scale)
		writeDoubles(s, i*n, d.find(x, scale))
		writeDoubles(v, i*n*n, x[:n*n])
		for r := range m {
			writeDoubles(u, (i*m+r)*columns, d.q[r*paddedColumns(columns):][:columns])
		}
	}}
}

// scaleOf returns the largest absolute value. Matrices are divided by it so that squares neither overflow nor
// underflow. It returns 1 if all are zero. If the reciprocal would be denormal, which is flushed to zero, it returns
// the largest value whose reciprocal is not.
func scaleOf[T block.Float](x []T) T {
	largest := T(0)
	for _, v := range x {
		largest = max(largest, max(v, -v))
	}
	most := 0x1p1022
	if unsafe.Sizeof(T(0)) == 4 {
		most = 0x1p126
	}
	switch {
	case largest == 0:
		return 1
	case float64(largest) > most && !math.IsInf(float64(largest), 1): // an infinity stays, and leads to NaN
		return T(most)
	}
	return largest
}
