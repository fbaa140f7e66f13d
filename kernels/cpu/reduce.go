package cpu

import (
	"bytes"
	"math"
	"slices"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Reductions see their operand as (outer, length, inner) and combine along the middle. A reduction over several separate groups of
// axes is a chain of these. The order of combination depends on the lengths only.

// reduction holds the loops of one combining kind on one element type.
type reduction[T number] struct {
	identity T
	// row combines n consecutive elements.
	row func(x []T) T
	// rows combines rows of x, each len(acc) long, into acc.
	rows func(acc, x []T)
	// blocked says that rows limits the growth of rounding errors by itself.
	blocked bool
	// short combines short rows of consecutive elements, each of len(x)/len(acc): a call for each row would cost more than the row.
	short func(acc, x []T)
}

// shortLine is the length of rows up to which short is used.
const shortLine = 8

// line combines short rows as [reduction.short] does, so that a row's result does not depend on how many there are, and others by long.
func line[T float](long, short func(x []T) T) func(x []T) T {
	return func(x []T) T {
		if n := len(x); n > 0 && n <= shortLine {
			return short(x)
		}
		return long(x)
	}
}

func sumOne[T number](x []T) T {
	s := x[0]
	for _, v := range x[1:] {
		s += v
	}
	return s
}

func maxOne[T number](x []T) T { return maxRow(x[0], x[1:]) }
func minOne[T number](x []T) T { return minRow(x[0], x[1:]) }

// sumShort adds up short rows, from the left.
func sumShort[T number](acc, x []T) {
	switch n := len(x) / max(len(acc), 1); n {
	case 2:
		for i := range acc {
			v := x[2*i : 2*i+2 : 2*i+2]
			acc[i] = v[0] + v[1]
		}
	case 4:
		for i := range acc {
			v := x[4*i : 4*i+4 : 4*i+4]
			acc[i] = v[0] + v[1] + v[2] + v[3]
		}
	default:
		for i := range acc {
			acc[i] = sumOne(x[i*n : i*n+n])
		}
	}
}

// maxShort and minShort return NaN where there is one.
func maxShort[T number](acc, x []T) {
	n := len(x) / max(len(acc), 1)
	for i := range acc {
		acc[i] = maxOne(x[i*n : i*n+n])
	}
}

func minShort[T number](acc, x []T) {
	n := len(x) / max(len(acc), 1)
	for i := range acc {
		acc[i] = minOne(x[i*n : i*n+n])
	}
}

// combineRows combines rows of consecutive elements into one element of acc each.
func (r *reduction[T]) combineRows(acc, x []T) {
	n := len(x) / max(len(acc), 1)
	if r.short != nil && n > 0 && n <= shortLine {
		r.short(acc, x)
		return
	}
	for i := range acc {
		acc[i] = r.row(x[i*n : i*n+n])
	}
}

// The loops of the most frequent reductions come from package vec.
var (
	floatSum32 = reduction[float32]{0, line(vec.Sum[float32], sumOne[float32]), addRows[float32], true, sumShort[float32]}
	floatSum64 = reduction[float64]{0, line(vec.Sum[float64], sumOne[float64]), addRows[float64], true, sumShort[float64]}
	floatMax32 = reduction[float32]{float32(math.Inf(-1)), line(vec.MaxOf[float32], maxOne[float32]), vectorRows(vec.Max[float32], maxRows[float32]), true, maxShort[float32]}
	floatMin32 = reduction[float32]{float32(math.Inf(1)), line(vec.MinOf[float32], minOne[float32]), vectorRows(vec.Min[float32], minRows[float32]), true, minShort[float32]}
)

// vectorRows combines rows that are long enough with a vector kernel, others with a plain loop.
func vectorRows[T float](f func(dst, a, b []T), short func(acc, x []T)) func(acc, x []T) {
	return func(acc, x []T) {
		n := len(acc)
		if n < shortRow {
			short(acc, x)
			return
		}
		for c := 0; c < n; c += columnBlock { // what has been combined stays in the first-level cache
			part := acc[c:min(c+columnBlock, n)]
			for at := c; at+len(part) <= len(x); at += n {
				f(part, part, x[at:at+len(part)])
			}
		}
	}
}

// extreme returns the loops for the largest or smallest element of float32, if that is T.
func extreme[T number](kind ir.Kind) (reduction[T], bool) {
	r := floatMin32
	if kind == ir.Max {
		r = floatMax32
	}
	same, ok := any(r).(reduction[T])
	return same, ok
}

// addRows adds the rows of x to acc.
func addRows[T float](acc, x []T) {
	n := len(acc)
	if n == 0 {
		return
	}
	if n >= rowBlock && len(x) <= 16*n { // a few long rows
		for ; len(x) >= n; x = x[n:] {
			vec.Add(acc, acc, x[:n])
		}
		return
	}
	var sums [rowBlock]T
	for c := 0; c < n; c += len(sums) {
		part := acc[c:min(c+len(sums), n)]
		s := sums[:len(part)]
		if rows := len(x) / n; rows > 0 {
			vec.SumRows(s, x[c:], rows, len(s), n)
			vec.Add(part, part, s)
		}
	}
}

func buildReduce(b *build) (func(), error) {
	a := b.n.Attrs.(ir.ReduceAttrs)
	switch b.in(0).typ.DType {
	case ir.Bool:
		r := reductionOf[uint8](ir.Max, 1)
		r.row = func(x []uint8) uint8 { return bit(bytes.IndexByte(x, 1) >= 0) }
		if a.Kind == ir.And {
			r = reductionOf[uint8](ir.Min, 1)
			r.row = func(x []uint8) uint8 { return bit(bytes.IndexByte(x, 0) < 0) }
		}
		return reduceBy(b, r)
	case ir.Float32:
		return reduceWith[float32](b, a.Kind, float32(math.Inf(1)))
	case ir.Float64:
		return reduceWith(b, a.Kind, math.Inf(1))
	case ir.Int8:
		return reduceWith[int8](b, a.Kind, math.MaxInt8)
	case ir.Int16:
		return reduceWith[int16](b, a.Kind, math.MaxInt16)
	case ir.Int32:
		return reduceWith[int32](b, a.Kind, math.MaxInt32)
	case ir.Int64:
		return reduceWith[int64](b, a.Kind, math.MaxInt64)
	case ir.Uint8:
		return reduceWith[uint8](b, a.Kind, math.MaxUint8)
	case ir.Uint16:
		return reduceWith[uint16](b, a.Kind, math.MaxUint16)
	case ir.Uint32:
		return reduceWith[uint32](b, a.Kind, math.MaxUint32)
	}
	return reduceWith[uint64](b, a.Kind, math.MaxUint64)
}

// reductionOf returns the loops for a kind; highest is the type's largest value (or infinity).
func reductionOf[T number](kind ir.Kind, highest T) reduction[T] {
	lowest := T(0)
	switch {
	case highest-1 == highest: // infinity
		lowest = -highest
	case T(0)-1 < 0: // two's complement
		lowest = -highest - 1
	}
	switch kind {
	case ir.Sum:
		switch r := any(reduction[T]{}).(type) {
		case reduction[float32]:
			r = floatSum32
			return any(r).(reduction[T])
		case reduction[float64]:
			r = floatSum64
			return any(r).(reduction[T])
		}
		return reduction[T]{0, sumRow[T], sumRows[T], true, sumShort[T]}
	case ir.Prod:
		return reduction[T]{1, prodRow[T], func(acc, x []T) { eachRow(acc, x, func(a, v T) T { return a * v }) }, false, nil}
	}
	if r, ok := extreme[T](kind); ok {
		return r
	}
	if kind == ir.Max {
		return reduction[T]{lowest, func(x []T) T { return maxRow(lowest, x) }, maxRows[T], true, maxShort[T]}
	}
	return reduction[T]{highest, func(x []T) T { return minRow(highest, x) }, minRows[T], true, minShort[T]}
}

// sumRow sums integers, which do not round.
func sumRow[T number](x []T) T {
	var s0, s1, s2, s3 T
	for len(x) >= 4 {
		s0 += x[0]
		s1 += x[1]
		s2 += x[2]
		s3 += x[3]
		x = x[4:]
	}
	for _, v := range x {
		s0 += v
	}
	return (s0 + s1) + (s2 + s3)
}

// prodRow multiplies in eight strands, which do not wait for each other.
func prodRow[T number](x []T) T {
	p := [8]T{1, 1, 1, 1, 1, 1, 1, 1}
	for ; len(x) >= 8; x = x[8:] {
		for i, v := range x[:8] {
			p[i] *= v
		}
	}
	for i, v := range x {
		p[i] *= v
	}
	return p[0] * p[4] * (p[1] * p[5]) * (p[2] * p[6] * (p[3] * p[7]))
}

func sumRows[T number](acc, x []T) {
	n := len(acc)
	for ; len(x) >= n && n > 0; x = x[n:] {
		row := x[:n]
		for i, v := range row {
			acc[i] += v
		}
	}
}

func maxRow[T number](m T, x []T) T {
	for _, v := range x {
		m = max(m, v)
	}
	return m
}

func minRow[T number](m T, x []T) T {
	for _, v := range x {
		m = min(m, v)
	}
	return m
}

func eachRow[T number](acc, x []T, f func(a, v T) T) {
	n := len(acc)
	for ; len(x) >= n && n > 0; x = x[n:] {
		for i, v := range x[:n] {
			acc[i] = f(acc[i], v)
		}
	}
}

func maxRows[T number](acc, x []T) {
	n := len(acc)
	for ; len(x) >= n && n > 0; x = x[n:] {
		for i, v := range x[:n] {
			acc[i] = max(acc[i], v)
		}
	}
}

func minRows[T number](acc, x []T) {
	n := len(acc)
	for ; len(x) >= n && n > 0; x = x[n:] {
		for i, v := range x[:n] {
			acc[i] = min(acc[i], v)
		}
	}
}

// axisGroup is a run of reduced axes between kept ones.
type axisGroup struct{ outer, length, inner int }

// shortRow is the length of rows that are too short for a loop over each: where other axes are reduced too, these go first, which leaves
// fewer of them.
const shortRow = 32

// axisGroups returns the reductions to do, in order; each is described on the shape left by the ones before. The innermost axes go
// first, unless they are short rows.
func axisGroups(s ir.Shape, axes []int) []axisGroup {
	var sizes []int // of runs of reduced axes and of runs of kept ones, in turn
	var reduced []bool
	for i, n := range s {
		r := slices.Contains(axes, i)
		switch k := len(sizes) - 1; {
		case n == 1:
		case k >= 0 && reduced[k] == r:
			sizes[k] *= n
		default:
			sizes, reduced = append(sizes, n), append(reduced, r)
		}
	}
	var groups []axisGroup
	take := func(k int) {
		groups = append(groups, axisGroup{ir.Shape(sizes[:k]).Size(), sizes[k], ir.Shape(sizes[k+1:]).Size()})
		sizes, reduced = slices.Delete(sizes, k, k+1), slices.Delete(reduced, k, k+1)
	}
	for k := len(sizes) - 1; k >= 0; k-- {
		if reduced[k] && (k < len(sizes)-1 || sizes[k] >= shortRow) {
			take(k)
		}
	}
	if k := len(sizes) - 1; k >= 0 && reduced[k] {
		take(k)
	}
	return groups
}

func reduceWith[T number](b *build, kind ir.Kind, highest T) (func(), error) {
	return reduceBy(b, reductionOf(kind, highest))
}

func reduceBy[T number](b *build, r reduction[T]) (func(), error) {
	in, out := b.in(0), b.out(0)
	if out.n == 0 {
		return func() {}, nil
	}
	groups := axisGroups(in.typ.Shape, b.n.Attrs.(ir.ReduceAttrs).Axes)
	if len(groups) == 0 {
		return func() { copyOperand(out, in) }, nil
	}
	var steps []func()
	from := in
	for i, g := range groups {
		to := out
		if i < len(groups)-1 {
			to = b.scratch(in.typ.DType, g.outer*g.inner)
		}
		steps = append(steps, reduceGroup(b, r, g, from, to))
		from = to
	}
	if len(steps) == 1 {
		return steps[0], nil
	}
	return func() {
		for _, f := range steps {
			f()
		}
	}, nil
}

// segmentWork is the number of elements of a segment of a long reduction.
const segmentWork = 1 << 15

// reduceGroup combines along one group. Long reductions with few results are cut into segments, whose results are combined
// in order.
func reduceGroup[T number](b *build, r reduction[T], g axisGroup, from, to *operand) func() {
	b.rt().need(columnBlock * 8)
	segments := 1
	if total := g.length * g.inner; total >= 2*segmentWork && g.outer < 16 {
		segments = min((total+segmentWork-1)/segmentWork, 64, g.length)
	}
	if segments == 1 {
		return b.rt().parallel(g.outer, grain(g.length*g.inner), func(w *worker, lo, hi int) {
			x, y := data[T](from), data[T](to)
			if g.inner == 1 {
				r.combineRows(y[lo:hi], x[lo*g.length:hi*g.length])
				return
			}
			for o := lo; o < hi; o++ {
				reduceSegment(w, &r, g, y[o*g.inner:(o+1)*g.inner], x[o*g.length*g.inner:(o+1)*g.length*g.inner])
			}
		})
	}
	var zero T
	partial := &operand{mem: b.workspace(g.outer * segments * g.inner * int(unsafe.Sizeof(zero))), n: g.outer * segments * g.inner}
	each := b.rt().parallel(g.outer*segments, 1, func(w *worker, lo, hi int) {
		x, y := data[T](from), data[T](partial)
		for k := lo; k < hi; k++ {
			o, s := k/segments, k%segments
			first, last := s*g.length/segments, (s+1)*g.length/segments
			reduceSegment(w, &r, g, y[k*g.inner:(k+1)*g.inner], x[(o*g.length+first)*g.inner:(o*g.length+last)*g.inner])
		}
	})
	combine := axisGroup{g.outer, segments, g.inner}
	return func() {
		each()
		x, y := data[T](partial), data[T](to)
		for o := range combine.outer {
			reduceSegment(&b.c.rt.workers[0], &r, combine, y[o*g.inner:(o+1)*g.inner], x[o*segments*g.inner:(o+1)*segments*g.inner])
		}
	}
}

// rowBlock is the number of rows that are combined before the result is combined with what came before: see sumBlock.
const rowBlock = 64

// reduceSegment combines the rows of x, each g.inner long, into acc.
func reduceSegment[T number](w *worker, r *reduction[T], g axisGroup, acc, x []T) {
	if g.inner == 1 {
		acc[0] = r.row(x)
		return
	}
	for i := range acc {
		acc[i] = r.identity
	}
	n := g.inner
	if r.blocked || len(x) <= rowBlock*n && n <= columnBlock {
		r.rows(acc, x)
		return
	}
	block := scratchOf[T](w, columnBlock)
	for c := 0; c < n; c += columnBlock {
		part := acc[c:min(c+columnBlock, n)]
		reduceColumns(r, part, x, n, c, block[:len(part)])
	}
}

// columnBlock is the number of columns that are combined at a time.
const columnBlock = 512

// reduceColumns combines columns [c, c+len(acc)) of rows of length n, rowBlock rows at a time.
func reduceColumns[T number](r *reduction[T], acc, x []T, n, c int, block []T) {
	rows := len(x) / n
	for first := 0; first < rows; first += rowBlock {
		for i := range block {
			block[i] = r.identity
		}
		for k := first; k < min(first+rowBlock, rows); k++ {
			r.rows(block, x[k*n+c:k*n+c+len(block)])
		}
		r.rows(acc, block)
	}
}
