package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/geometry"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// Reductions of short rows, and of few rows, for which calling a vector kernel for each row would cost more than the
// row.

// wideRow is the number of elements that are combined at a time if rows are short.
const wideRow = 512

// combining is a kind of combination that has a vector kernel. (Function values instead would make their arguments on
// the stack escape.)
type combining int

const (
	multiplying combining = iota
	adding
	largest
	smallest
)

// vectors combines element by element.
func vectors[T block.Float](c combining, dst, a, b []T) {
	switch c {
	case multiplying:
		vec.Mul(dst, a, b)
	case adding:
		vec.Add(dst, a, b)
	case largest:
		vec.Max(dst, a, b)
	default:
		vec.Min(dst, a, b)
	}
}

// shortRows combines rows in a plain loop.
func shortRows[T block.Float](c combining, acc, x []T) {
	switch c {
	case multiplying:
		prodRows(acc, x)
	case largest:
		maxRows(acc, x)
	default:
		minRows(acc, x)
	}
}

// vectorRows combines rows with a vector kernel, several at a time if they are short, and the remaining ones in a plain
// loop.
func vectorRows[T block.Float](kind combining) func(acc, x []T) {
	return func(acc, x []T) {
		n := len(acc)
		if n == 0 {
			return
		}
		if n <= mostFolded {
			x = foldedRows(kind, acc, x)
		}
		if n <= wideRow/4 {
			x = manyRows(kind, acc, x)
		}
		if n < geometry.ShortRow {
			shortRows(kind, acc, x)
			return
		}
		for c := 0; c < n; c += columnBlock { // what has been combined stays in the first-level cache
			part := acc[c:min(c+columnBlock, n)]
			for at := c; at+len(part) <= len(x); at += n {
				vectors(kind, part, part, x[at:at+len(part)])
			}
		}
	}
}

// If there are at least severalRows rows, rows of up to mostFolded elements are combined in registers. Several short
// rows count as one of leastFolded elements.
const (
	mostFolded  = 256
	leastFolded = 64
	severalRows = 8
	leastHalved = 8 // elements from which on calling a vector kernel pays
)

// foldedRows combines rows in registers, if there are kernels for that, and returns the remaining rows.
func foldedRows[T block.Float](kind combining, acc, x []T) []T {
	n, width := len(acc), len(acc)
	for 2*width <= leastFolded {
		width *= 2
	}
	rows := len(x) / width
	if rows < severalRows || unsafe.Sizeof(acc[0]) > 4 {
		return x
	}
	var wide [mostFolded]T
	if !foldRows(kind, wide[:width], x[:rows*width]) {
		return x
	}
	x = x[rows*width:]
	if n >= geometry.ShortRow {
		for part := wide[:width]; len(part) > 0; part = part[n:] {
			vectors(kind, acc, acc, part[:n])
		}
		return x
	}
	for width > n && width >= 2*leastHalved { // a power of two times n
		width /= 2
		vectors(kind, wide[:width], wide[:width], wide[width:2*width])
	}
	shortRows(kind, acc, wide[:width])
	return x
}

// foldRows stores the combination of rows of len(dst) elements. It returns false if there is no kernel.
func foldRows[T block.Float](kind combining, dst, x []T) bool {
	switch kind {
	case multiplying:
		return vec.MulRows(dst, x)
	case largest:
		return vec.MaxRows(dst, x)
	}
	return vec.MinRows(dst, x)
}

// manyRows combines short rows, several at a time, and returns the remaining rows.
func manyRows[T block.Float](kind combining, acc, x []T) []T {
	n := len(acc)
	at := n
	for 2*at <= wideRow {
		at *= 2
	}
	if len(x) < 2*at {
		return x
	}
	var wide [wideRow]T
	x = combineWide(kind, wide[:at], x)
	for at /= 2; at >= n && at >= geometry.ShortRow; at /= 2 {
		vectors(kind, wide[:at], wide[:at], wide[at:2*at])
	}
	shortRows(kind, acc, wide[:max(2*at, n)])
	return x
}

// combineWide combines at least two pieces of x, each as long as acc, in acc, and returns the rest of x.
func combineWide[T block.Float](kind combining, acc, x []T) []T {
	n := len(acc)
	vectors(kind, acc, x[:n], x[n:2*n])
	for x = x[2*n:]; len(x) >= n; x = x[n:] {
		vectors(kind, acc, acc, x[:n])
	}
	return x
}

// vectorProd multiplies all elements.
func vectorProd[T block.Float](x []T) T {
	if len(x) < 2*wideRow {
		return prodRow(x)
	}
	whole := len(x) / leastFolded * leastFolded
	var wide [wideRow]T
	if vec.MulRows(wide[:leastFolded], x[:whole]) {
		return prodRow(wide[:leastFolded]) * prodRow(x[whole:])
	}
	rest := combineWide(multiplying, wide[:], x)
	return prodRow(wide[:]) * prodRow(rest)
}

// With fewer elements, or fewer long rows, rows are not summed side by side.
const (
	leastSums = 256
	longRows  = 4
)

// addManyRows adds short rows to acc, several side by side as one long row, and returns the remaining rows.
func addManyRows[T block.Float](acc, x []T) []T {
	n := len(acc)
	if len(x) < leastSums {
		return x
	}
	together := wideRow / n
	vectors := n >= 8
	if !vectors { // the loop for less than a vector is slow, so put fewer side by side if there are few
		together = min(together, len(x)/n/longRows)
	}
	if even := geometry.ShortRow / commonDivisor(n, geometry.ShortRow); together > even {
		together -= together % even // whole vectors
	}
	width := together * n
	rows := len(x) / width
	if together < 2 || rows < longRows {
		return x
	}
	var wide, sums [wideRow]T
	for r := 0; r < rows; r += rowBlock {
		m := min(rowBlock, rows-r)
		vec.SumRows(sums[:width], x[r*width:], m, width, width)
		vec.Add(wide[:width], wide[:width], sums[:width])
	}
	parts := wide[:width]
	if vectors {
		vec.SumRows(sums[:n], parts, together, n, n)
		parts = sums[:n]
	}
	for ; len(parts) > 0; parts = parts[n:] {
		for i, v := range parts[:n] {
			acc[i] += v
		}
	}
	return x[rows*width:]
}

func commonDivisor(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func prodRows[T block.Float](acc, x []T) {
	n := len(acc)
	for ; len(x) >= n && n > 0; x = x[n:] {
		for i, v := range x[:n] {
			acc[i] *= v
		}
	}
}

// The products of floats.
var (
	floatProd32 = reduction[float32]{multiplying, 1, vectorProd[float32], vectorRows[float32](multiplying), true, nil, nil, nil}
	floatProd64 = reduction[float64]{multiplying, 1, vectorProd[float64], vectorRows[float64](multiplying), true, nil, nil, nil}
)

const (
	fewRows   = 8       // largest number of rows that [reduceFew] combines
	fewBlocks = 4 << 10 // elements of the operand that it combines before it goes on
)

// reduceFew combines a few rows for each of many results. It copies the first row of several results, adds the second
// row of all of these, and so on.
func reduceFew[T block.Float](b *build, r *reduction[T], g geometry.AxisGroup, from, to *plan.Operand) func() {
	f := newRowCombiner(r, g)
	b.rt().need(fewBlocks * 8)
	return b.rt().parallel(g.Outer, grain(g.Length*g.Inner), func(w *worker, lo, hi int) {
		x, y, row := plan.Data[T](from), plan.Data[T](to), scratchOf[T](w, fewBlocks)
		f.combine(y[lo*g.Inner:hi*g.Inner], x[lo*g.Length*g.Inner:hi*g.Length*g.Inner], row)
	})
}

// rowCombiner combines the few rows of each of several results.
type rowCombiner[T block.Float] struct {
	*reduction[T]
	geometry.AxisGroup
	count int // results at a time
	boxes *ndCopy
	apart bool // copies rows before they are combined
}

func newRowCombiner[T block.Float](r *reduction[T], g geometry.AxisGroup) *rowCombiner[T] {
	var zero T
	size := int(unsafe.Sizeof(zero))
	f := &rowCombiner[T]{reduction: r, AxisGroup: g, count: max(fewBlocks/(g.Length*g.Inner), 1)}
	f.boxes = newCopy(size, []int{f.count, g.Inner}, []int{g.Inner * size, size}, []int{g.Length * g.Inner * size, size})
	f.apart = f.count > 1 && (size == 8 || g.Inner < 8 && f.boxes.boxes != nil) // pixels only works on vectors of float32
	return f
}

// combine combines the rows of x into those of y. spare has room for fewBlocks elements.
func (f *rowCombiner[T]) combine(y, x, spare []T) {
	var zero T
	size, inner, line := int(unsafe.Sizeof(zero)), f.Inner, f.Length*f.Inner
	for len(y) > 0 {
		n := min(f.count, len(y)/inner)
		acc, rows := y[:n*inner], x[:n*line]
		y, x = y[n*inner:], x[n*line:]
		if f.apart {
			f.boxes.run(unsafe.Pointer(unsafe.SliceData(acc)), unsafe.Pointer(unsafe.SliceData(rows)), 0, n)
			for t := 1; t < f.Length; t++ {
				f.boxes.run(unsafe.Pointer(unsafe.SliceData(spare)), unsafe.Pointer(unsafe.SliceData(rows[t*inner:])), 0, n)
				f.reduction.combine(unsafe.Pointer(unsafe.SliceData(acc)), unsafe.Pointer(unsafe.SliceData(acc)), unsafe.Pointer(unsafe.SliceData(spare)), nil, len(acc))
			}
			continue
		}
		moveRows(unsafe.Pointer(unsafe.SliceData(acc)), unsafe.Pointer(unsafe.SliceData(rows)), n, inner*size, inner*size, line*size)
		for t := 1; t < f.Length; t++ {
			f.pixels(acc, rows[t*inner:], n, inner, inner, line)
		}
	}
}
