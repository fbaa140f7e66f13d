package cpu

import (
	"math/bits"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// Processing vec.Lanes matrices side by side pays up to size fewLanes even if half of the lanes are empty. The rows of
// larger matrices fill vectors by themselves, and swapping them is one operation. If most lanes are used, it pays for
// somewhat larger matrices, the more so the fewer right sides there are. In float64, which fills vectors sooner, that
// is up to laneDoubles rows with a few right sides. In float32 it is up to laneMatrix with a few, up to laneRows with
// none or less than a vector of them, and up to laneSides with two full vectors.
const (
	fewLanes    = 40
	laneDoubles = 44
	laneSides   = 52
	laneRows    = 60
	laneMatrix  = 64
)

// inLanes reports whether the given number of matrices (n, n) with right sides (n, m), of numbers of size bytes, are
// processed side by side.
func inLanes(matrices, n, m, size int) bool {
	if n <= fewLanes && m <= fewLanes {
		return matrices >= vec.Lanes/2
	}
	lanes := (matrices + vec.Lanes - 1) / vec.Lanes * vec.Lanes
	few, most := m > 0 && m <= vec.Lanes/2, 0
	switch {
	case size == 8 && few:
		most = laneDoubles
	case size == 4 && few:
		most = laneMatrix
	case size == 4 && m < vec.Lanes:
		most = laneRows
	case size == 4 && m <= 2*vec.Lanes:
		most = laneSides
	}
	return n <= most && 4*matrices >= 3*lanes
}

// eliminateLanes processes vec.Lanes matrices side by side, so that vectors are full however small the matrices are.
func eliminateLanes[T block.Float](b *build) func() {
	in, right, out, sign, logarithm := b.in(0), b.in(1), b.out(0), b.out(1), b.out(2)
	s := in.Typ.Shape
	n, m := s[len(s)-1], right.Typ.Shape[len(s)-1]
	matrices := s[:len(s)-2].Size()
	groups := (matrices + vec.Lanes - 1) / vec.Lanes
	elements := vec.Lanes * (n*n + n*m + n + 3)
	b.rt().need(elements * in.Typ.DType.Size())
	return b.rt().parallel(groups, grain(vec.Lanes*n*n*(n/3+m)/8+n), func(w *worker, lo, hi int) {
		var e laneElimination[T]
		e.n, e.m = n, m
		scratch := scratchOf[T](w, elements)
		for _, part := range []struct {
			of   *[]T
			size int
		}{{&e.a, n * n}, {&e.x, n * m}, {&e.diagonal, n}, {&e.sign, 1}, {&e.factor, 1}, {&e.logarithm, 1}} {
			*part.of, scratch = scratch[:part.size*vec.Lanes], scratch[part.size*vec.Lanes:]
		}
		for g := lo; g < hi; g++ {
			first := g * vec.Lanes
			count := min(vec.Lanes, matrices-first)
			toLanes(e.a, plan.Data[T](in)[first*n*n:], n*n, count)
			toLanes(e.x, plan.Data[T](right)[first*n*m:], n*m, count)
			e.solve()
			fromLanes(plan.Data[T](out)[first*n*m:], e.x, n*m, count)
			copy(plan.Data[T](sign)[first:first+count], e.sign)
			copy(plan.Data[T](logarithm)[first:first+count], e.logarithm)
		}
	})
}

// toLanes interleaves a few rows of the given number of elements. Lanes without a row repeat the last one.
func toLanes[T block.Float](dst, src []T, elements, rows int) {
	if elements == 0 {
		return
	}
	micro.Transpose(dst, src[:elements*rows], rows, elements, vec.Lanes, elements)
	for i := 0; rows < vec.Lanes && i < len(dst); i += vec.Lanes {
		for l := rows; l < vec.Lanes; l++ {
			dst[i+l] = dst[i+rows-1]
		}
	}
}

func fromLanes[T block.Float](dst, src []T, elements, rows int) {
	if elements > 0 {
		micro.Transpose(dst[:elements*rows], src, elements, rows, elements, vec.Lanes)
	}
}

// laneElimination is the elimination of vec.Lanes interleaved matrices a with right sides x.
type laneElimination[T block.Float] struct {
	n, m                              int
	a, x                              []T
	diagonal, sign, logarithm, factor []T
}

func (e *laneElimination[T]) row(k int) []T { return e.a[k*e.n*vec.Lanes : (k+1)*e.n*vec.Lanes] }

func (e *laneElimination[T]) right(k int) []T { return e.x[k*e.m*vec.Lanes : (k+1)*e.m*vec.Lanes] }

func (e *laneElimination[T]) solve() {
	n, m := e.n, e.m
	for l := range e.sign {
		e.sign[l] = 1
	}
	for k := range n {
		e.swap(k)
		e.eliminate(k)
	}
	for k := n - 1; k >= 0 && m > 0; k-- {
		row := e.right(k)
		for i := 0; i < len(row); i += vec.Lanes {
			vec.Div(row[i:i+vec.Lanes], row[i:i+vec.Lanes], e.diagonal[k*vec.Lanes:(k+1)*vec.Lanes])
		}
		if k > 0 {
			column := e.a[k*vec.Lanes : ((k-1)*n+k+1)*vec.Lanes]
			for r := range k {
				f := column[r*n*vec.Lanes:][:vec.Lanes]
				for l := range f {
					f[l] = -f[l]
				}
			}
			vec.AddOuter(e.x, column, row, k, m, m*vec.Lanes, n*vec.Lanes)
		}
	}
	e.determinant()
}

// swap moves the largest element of column k to the diagonal.
func (e *laneElimination[T]) swap(k int) {
	n := e.n
	var from [vec.Lanes]int
	below := e.a[k*n*vec.Lanes:]
	if unsafe.Sizeof(T(0)) == 4 {
		largestRows(&from, block.View[uint32](unsafe.Pointer(unsafe.SliceData(below)), len(below)), n, k)
	} else {
		largestRows(&from, block.View[uint64](unsafe.Pointer(unsafe.SliceData(below)), len(below)), n, k)
	}
	for l, p := range from {
		if p == 0 {
			continue
		}
		p += k
		e.sign[l] = -e.sign[l]
		swapLane(e.row(p)[l:], e.row(k)[l:])
		swapLane(e.right(p)[min(l, e.m*l):], e.right(k)[min(l, e.m*l):])
	}
	copy(e.diagonal[k*vec.Lanes:(k+1)*vec.Lanes], e.row(k)[k*vec.Lanes:])
}

// largestRows finds, for each lane, the row with the largest absolute value in column k: the first of several, and row
// 0 if all are zero. NaN counts as the largest. It compares the bits of floats, without branches, because these could
// not be predicted.
func largestRows[U uint32 | uint64](from *[vec.Lanes]int, rows []U, n, k int) {
	var best [vec.Lanes]U
	for r := range n - k {
		for l, v := range rows[(r*n+k)*vec.Lanes:][:vec.Lanes] {
			v &= ^U(0) >> 1
			_, larger := bits.Sub64(uint64(best[l]), uint64(v), 0)
			best[l] ^= (best[l] ^ v) & -U(larger)
			from[l] ^= (from[l] ^ r) & -int(larger)
		}
	}
}

func swapLane[T block.Float](x, y []T) {
	y = y[:len(x)]
	for i := 0; i < len(x); i += vec.Lanes {
		x[i], y[i] = y[i], x[i]
	}
}

// eliminate subtracts multiples of row k from the rows below.
func (e *laneElimination[T]) eliminate(k int) {
	n := e.n
	rest := n - k - 1
	if rest == 0 {
		return
	}
	top := e.row(k)
	for l, pivot := range top[k*vec.Lanes : (k+1)*vec.Lanes] {
		e.factor[l] = -pivot
		if pivot == 0 { // all elements below are zero as well
			e.factor[l] = 1
		}
	}
	for r := k + 1; r < n; r++ {
		f := e.row(r)[k*vec.Lanes : (k+1)*vec.Lanes]
		vec.Div(f, f, e.factor)
	}
	below := e.a[((k+1)*n+k)*vec.Lanes:]
	vec.AddOuter(below[vec.Lanes:], below, top[(k+1)*vec.Lanes:], rest, rest, n*vec.Lanes, n*vec.Lanes)
	if e.m > 0 {
		vec.AddOuter(e.x[(k+1)*e.m*vec.Lanes:], below, e.right(k), rest, e.m, e.m*vec.Lanes, n*vec.Lanes)
	}
}

// determinant computes the determinant's sign and the logarithm of its absolute value.
func (e *laneElimination[T]) determinant() {
	for i, d := range e.diagonal {
		switch {
		case d == 0, d != d:
			e.sign[i%vec.Lanes] *= d
		case d < 0:
			e.sign[i%vec.Lanes] *= -1
		}
	}
	vec.Abs(e.diagonal, e.diagonal)
	vec.Log(e.diagonal, e.diagonal)
	clear(e.logarithm)
	for i := 0; i < len(e.diagonal); i += vec.Lanes {
		vec.Add(e.logarithm, e.logarithm, e.diagonal[i:i+vec.Lanes])
	}
}
