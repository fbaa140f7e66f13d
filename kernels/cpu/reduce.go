package cpu

import (
	"math"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/geometry"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Reductions view their operand as (outer, length, inner) and combine along the middle axis. A reduction over several
// separate groups of axes is a sequence of these. The order of combination depends on the lengths only.

// reduction holds the loops for one kind of combination and one element type.
type reduction[T block.Float] struct {
	kind     combining
	identity T
	// row combines n consecutive elements.
	row func(x []T) T
	// rows combines rows of x, each len(acc) long, with acc.
	rows func(acc, x []T)
	// blocked says that rows limits the growth of rounding errors by itself.
	blocked bool
	// pixels combines rows with gaps between them: see [vec.PixelsAdd]. It is nil if there is no such loop.
	pixels  func(acc, x []T, count, c, accStep, xStep int)
	combine block.Func // combines element by element
	slide   block.Func // the same for extremes: see [reduceSliding]
}

// shortLine is the length of rows up to which [line] calls short.
const shortLine = 8

// line combines short rows by short, because calling a vector kernel would cost more than the row, and other rows by
// long.
func line[T block.Float](long, short func(x []T) T) func(x []T) T {
	return func(x []T) T {
		if n := len(x); n > 0 && n <= shortLine {
			return short(x)
		}
		return long(x)
	}
}

func sumOne[T block.Float](x []T) T {
	s := x[0]
	for _, v := range x[1:] {
		s += v
	}
	return s
}

// longestStrands is the length of rows up to which summing in a loop is faster than vectors. For float32 it is also the
// length up to which several rows are transposed, so that a kernel sums them in the same order.
func longestStrands[T block.Float]() int {
	if unsafe.Sizeof(T(0)) == 4 {
		return turnedAdded
	}
	return 48
}

// sumStrands sums short rows in four independent strands, and other rows by vectors.
func sumStrands[T block.Float](x []T) T {
	if len(x) > longestStrands[T]() {
		return vec.Sum(x)
	}
	var a, b, c, d T
	for ; len(x) >= 4; x = x[4:] {
		a, b, c, d = a+x[0], b+x[1], c+x[2], d+x[3]
	}
	for _, v := range x {
		a += v
	}
	return (a + c) + (b + d)
}

func maxOne[T block.Float](x []T) T { return maxRow(x[0], x[1:]) }
func minOne[T block.Float](x []T) T { return minRow(x[0], x[1:]) }

// sumFours sums rows of four from left to right, as sumOne does.
func sumFours[T block.Float](acc, x []T) {
	for i := range acc {
		v := x[4*i : 4*i+4 : 4*i+4]
		acc[i] = v[0] + v[1] + v[2] + v[3]
	}
}

// combineRows reduces rows of consecutive elements to one element of acc each.
func (r *reduction[T]) combineRows(acc, x []T) {
	n := len(x) / max(len(acc), 1)
	if len(acc) >= turnedLeast && turnsRows[T](r.kind, n) {
		combineTurned(r.kind, acc, x)
		return
	}
	if r.kind == adding && n == 4 {
		sumFours(acc, x)
		return
	}
	if r.kind == adding && n > longestStrands[T]() {
		vec.SumLines(acc, x[:len(acc)*n])
		return
	}
	for i := range acc {
		acc[i] = r.row(x[i*n : i*n+n])
	}
}

// The loops of the most frequent reductions are in package vec.
var (
	floatSum32 = reduction[float32]{adding, 0, line(sumStrands[float32], sumOne[float32]), addRows[float32], true, vec.PixelsAdd[float32], nil, nil}
	floatSum64 = reduction[float64]{adding, 0, line(sumStrands[float64], sumOne[float64]), addRows[float64], true, vec.PixelsAdd[float64], nil, nil}
	floatMax32 = reduction[float32]{largest, float32(math.Inf(-1)), line(vec.MaxOf[float32], maxOne[float32]), vectorRows[float32](largest), true, vec.PixelsMax[float32], nil, nil}
	floatMax64 = reduction[float64]{largest, math.Inf(-1), line(vec.MaxOf[float64], maxOne[float64]), vectorRows[float64](largest), true, nil, nil, nil}
	floatMin64 = reduction[float64]{smallest, math.Inf(1), line(vec.MinOf[float64], minOne[float64]), vectorRows[float64](smallest), true, nil, nil, nil}
	floatMin32 = reduction[float32]{smallest, float32(math.Inf(1)), line(vec.MinOf[float32], minOne[float32]), vectorRows[float32](smallest), true, nil, nil, nil}
)

// addRows adds the rows of x to acc.
func addRows[T block.Float](acc, x []T) {
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
	if n < rowBlock {
		x = addManyRows(acc, x)
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
	kind := b.n.Attrs.(ir.ReduceAttrs).Kind
	switch d := b.in(0).Typ.DType; d {
	case ir.Float32:
		return reduceWith[float32](b, kind)
	case ir.Float64:
		return reduceWith[float64](b, kind)
	default:
		f := newIntegerFold(kind, d)
		return reduceBy(b, func(g geometry.AxisGroup, from, to *plan.Operand) func() { return reduceIntegers(b, f, g, from, to) })
	}
}

// reductionOf returns the loops for a kind of combination.
//
//go:noinline
func reductionOf[T block.Float](kind ir.Kind) reduction[T] {
	single, double := floatMin32, floatMin64
	switch kind {
	case ir.Sum:
		single, double = floatSum32, floatSum64
	case ir.Prod:
		single, double = floatProd32, floatProd64
	case ir.Max:
		single, double = floatMax32, floatMax64
	}
	if same, ok := any(single).(reduction[T]); ok {
		return same
	}
	return any(double).(reduction[T])
}

// identityOf returns the element that changes no other one. highest is the type's largest value, or infinity.
func identityOf[T block.Number](kind ir.Kind, highest T) T {
	switch {
	case kind == ir.Sum:
		return 0
	case kind == ir.Prod:
		return 1
	case kind == ir.Min:
		return highest
	case highest-1 == highest: // infinity
		return -highest
	case T(0)-1 < 0: // two's complement
		return -highest - 1
	}
	return 0
}

// prodRow multiplies in eight independent strands.
func prodRow[T block.Float](x []T) T {
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

func maxRow[T block.Float](m T, x []T) T {
	for _, v := range x {
		m = max(m, v)
	}
	return m
}

func minRow[T block.Float](m T, x []T) T {
	for _, v := range x {
		m = min(m, v)
	}
	return m
}

func maxRows[T block.Float](acc, x []T) {
	n := len(acc)
	for ; len(x) >= n && n > 0; x = x[n:] {
		for i, v := range x[:n] {
			acc[i] = max(acc[i], v)
		}
	}
}

func minRows[T block.Float](acc, x []T) {
	n := len(acc)
	for ; len(x) >= n && n > 0; x = x[n:] {
		for i, v := range x[:n] {
			acc[i] = min(acc[i], v)
		}
	}
}

func reduceWith[T block.Float](b *build, kind ir.Kind) (func(), error) {
	r := reductionOf[T](kind)
	if out := b.out(0); b.in(0).N == 0 {
		return func() { fillWith(plan.Data[T](out), r.identity) }, nil
	}
	r.combine = block.Binary(combiningOps[kind], b.in(0).Typ.DType)
	if op := combiningOps[kind]; op == ir.Maximum || op == ir.Minimum {
		r.slide = r.combine
	}
	if n := nestedOf(b); n != nil && r.pixels != nil {
		return reduceNested(b, &r, n, b.in(0), b.out(0)), nil
	}
	return reduceBy(b, func(g geometry.AxisGroup, from, to *plan.Operand) func() { return reduceGroup(b, r, g, from, to) })
}

// reduceBy combines along one group of axes after the other.
func reduceBy(b *build, group func(g geometry.AxisGroup, from, to *plan.Operand) func()) (func(), error) {
	in, out := b.in(0), b.out(0)
	if out.N == 0 {
		return func() {}, nil
	}
	groups := geometry.AxisGroups(in.Typ.Shape, b.n.Attrs.(ir.ReduceAttrs).Axes)
	if len(groups) == 0 {
		return func() { copyOperand(out, in) }, nil
	}
	var steps []func()
	from := in
	for i, g := range groups {
		to := out
		if i < len(groups)-1 {
			to = b.scratch(in.Typ.DType, g.Outer*g.Inner)
		}
		steps = append(steps, group(g, from, to))
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

// segmentWork is the number of elements in a segment of a long reduction.
const segmentWork = 1 << 15

// segmentsOf returns how many segments each group is cut into. There are several if a few long groups would not keep
// all workers busy.
func segmentsOf(g geometry.AxisGroup) int {
	if total := g.Length * g.Inner; total >= 2*segmentWork && g.Outer < 16 {
		return min((total+segmentWork-1)/segmentWork, 64, g.Length)
	}
	return 1
}

// reduceGroup combines along one group. A long reduction with few results is cut into segments, whose results are
// combined in order.
func reduceGroup[T block.Float](b *build, r reduction[T], g geometry.AxisGroup, from, to *plan.Operand) func() {
	if g.Length > 1 && g.Length <= rowBlock && g.Inner >= 2*longPart {
		return reduceLong[T](b, r.kind, g, from, to)
	}
	b.rt().need(columnBlock * 8)
	segments := segmentsOf(g)
	if segments == 1 && turnsLines(&r, g) {
		return reduceTurned[T](b, r.kind, g, from, to)
	}
	if segments == 1 && r.slide != nil && slides[T](g) {
		return reduceSliding[T](b, r.slide, g, from, to)
	}
	if segments == 1 && r.pixels != nil && g.Inner > 1 && g.Length > 1 && g.Length <= fewRows {
		return reduceFew(b, &r, g, from, to)
	}
	if segments == 1 {
		return b.rt().parallel(g.Outer, grain(g.Length*g.Inner), func(w *worker, lo, hi int) {
			x, y := plan.Data[T](from), plan.Data[T](to)
			if g.Inner == 1 {
				r.combineRows(y[lo:hi], x[lo*g.Length:hi*g.Length])
				return
			}
			for o := lo; o < hi; o++ {
				reduceSegment(w, &r, g, y[o*g.Inner:(o+1)*g.Inner], x[o*g.Length*g.Inner:(o+1)*g.Length*g.Inner])
			}
		})
	}
	var zero T
	partial := &plan.Operand{Mem: b.workspace(g.Outer * segments * g.Inner * int(unsafe.Sizeof(zero))), N: g.Outer * segments * g.Inner}
	each := b.rt().parallel(g.Outer*segments, 1, func(w *worker, lo, hi int) {
		x, y := plan.Data[T](from), plan.Data[T](partial)
		for k := lo; k < hi; k++ {
			o, s := k/segments, k%segments
			first, last := s*g.Length/segments, (s+1)*g.Length/segments
			reduceSegment(w, &r, g, y[k*g.Inner:(k+1)*g.Inner], x[(o*g.Length+first)*g.Inner:(o*g.Length+last)*g.Inner])
		}
	})
	combine := geometry.AxisGroup{Outer: g.Outer, Length: segments, Inner: g.Inner}
	return func() {
		each()
		x, y := plan.Data[T](partial), plan.Data[T](to)
		for o := range combine.Outer {
			reduceSegment(&b.c.rt.workers[0], &r, combine, y[o*g.Inner:(o+1)*g.Inner], x[o*segments*g.Inner:(o+1)*segments*g.Inner])
		}
	}
}

// rowBlock is the number of rows that are combined before their result is combined with that of earlier rows: see
// sumBlock.
const rowBlock = 64

// reduceSegment combines the rows of x, each g.Inner long, with acc.
func reduceSegment[T block.Float](w *worker, r *reduction[T], g geometry.AxisGroup, acc, x []T) {
	if g.Inner == 1 {
		acc[0] = r.row(x)
		return
	}
	fillWith(acc, r.identity)
	n := g.Inner
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
func reduceColumns[T block.Float](r *reduction[T], acc, x []T, n, c int, block []T) {
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
