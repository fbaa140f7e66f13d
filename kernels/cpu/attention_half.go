package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// This is bfloat16 attention where the processor multiplies pairs. The products read the operands as stored, in matrix
// registers where there are any, and accumulate in float32. Scores and their softmax are float32. The probabilities and
// the gradients of the scores are rounded before they are multiplied, as they would be between separate operations.
//
// Blocks of queries are those of attention.go. The keys and values of a head are packed into panels once. The gradients
// of keys and values are sums over queries, which are the rows of the scores. They are computed as their transposes:
// the block of queries, which is small, is transposed, and the many scores only need their rows interleaved.

// With fewer scores or queries than these, attention is faster in float32: rounding the scores and packing keys and
// values cost more than the products in pairs save.
const (
	leastPairedScores  = 1024
	leastPairedQueries = 16
)

// attendedInPairs reports whether attention with these types of queries, keys and values, or its gradient, is computed
// in pairs.
func attendedInPairs(q, k, v ir.Type) bool {
	if q.DType != ir.BFloat16 || !micro.Pairs() || q.Shape.Size() == 0 || v.Shape.Size() == 0 || q.Shape[3]%2 != 0 || v.Shape[3]%2 != 0 {
		return false
	}
	return q.Shape[1] >= leastPairedQueries && q.Shape[1]*k.Shape[1] >= leastPairedScores
}

// buildPairsOr returns a builder that uses pairs where it can, and wide otherwise.
func buildPairsOr(pairs func(b *build) func(), wide func(b *build) (func(), error)) func(b *build) (func(), error) {
	byExamples := buildByExamples(wide)
	return func(b *build) (func(), error) {
		if attendedInPairs(b.in(0).Typ, b.in(1).Typ, b.in(2).Typ) {
			return pairs(b), nil
		}
		return byExamples(b)
	}
}

const (
	halfHeadRows = 32 // minimum of a block: two tiles of matrix registers, which share what they read of the panels
	halfRowGap   = 16 // float32 between rows of pairs, so that rows do not compete for places in the cache
)

// halfHeads holds the geometry of such an attention. A pair has the size of a float32.
type halfHeads struct {
	*heads
	keyPairs int // pairs of keys
}

func newHalfHeads(b *build, mask *plan.Operand) halfHeads {
	h := newHeads(b, mask)
	h.rows = min(max(h.rows, halfHeadRows), h.queries)
	h.items = min(h.items, h.blocks())
	return halfHeads{heads: h, keyPairs: (h.keys + 1) / 2}
}

// panelsSize returns the size of panels with the given numbers of pairs and columns.
func panelsSize(pairs, cols int) int {
	width := micro.PanelWidth[float32]()
	return pairs * ((cols + width - 1) / width * width)
}

// roundedRow returns the distance between rows of n scores in pairs.
func roundedRow(n int) int { return vec.ScoreStride(n)/2 + halfRowGap }

// halfStep returns the elements of an operand from a step of a head on.
func halfStep(h *heads, o *plan.Operand, batch, steps, step, head, size int) []uint16 {
	return plan.Data[uint16](o)[h.at(batch, steps, step, head, size):]
}

// inPairs views 16-bit numbers as pairs.
func inPairs(x []uint16) []float32 {
	return block.View[float32](unsafe.Pointer(unsafe.SliceData(x)), len(x)/2)
}

// pairBits views pairs as their bits.
func pairBits(x []float32) []uint32 {
	return block.View[uint32](unsafe.Pointer(unsafe.SliceData(x)), len(x))
}

// inHalves views pairs as 16-bit numbers.
func inHalves(x []float32) []uint16 {
	return block.View[uint16](unsafe.Pointer(unsafe.SliceData(x)), 2*len(x))
}

// fetch prefetches a part of an operand of a head, as fetchHead does.
func (h *halfHeads) fetch(o *plan.Operand, head, steps, size, part, parts int) {
	if 2*steps*size > headBytes {
		return
	}
	if first, last := part*steps/parts, (part+1)*steps/parts; first < last {
		vec.Fetch(inPairs(halfStep(h.heads, o, head/h.heads.heads, steps, first, head%h.heads.heads, size)), last-first, size/2, h.heads.heads*size/2)
	}
}

// packTransposed packs the transpose of the keys or values of a head, with pairs within rows.
func (h *halfHeads) packTransposed(dst []float32, o *plan.Operand, bn, hd, size int) {
	width, row := micro.PanelWidth[float32](), h.heads.heads*size/2
	src := inPairs(halfStep(h.heads, o, bn, h.keys, 0, hd, size))
	for key := 0; key < h.keys; key += width {
		micro.PackPanel(dst[key*(size/2):][:width*(size/2)], src[key*row:], size/2, min(width, h.keys-key), 1, row)
	}
}

// packSteps packs the keys or values of a head, with pairs of two steps.
func (h *halfHeads) packSteps(dst []float32, o *plan.Operand, bn, hd, size int) {
	interleaveSteps(dst, halfStep(h.heads, o, bn, h.keys, 0, hd, size), h.keys, size, h.heads.heads*size)
}

// interleaveSteps packs rows of 16-bit numbers, which are from numbers apart, into panels of pairs.
func interleaveSteps(dst []float32, src []uint16, rows, cols, from int) {
	width, pairs := micro.PanelWidth[float32](), (rows+1)/2
	for c := 0; c < cols; c += width {
		gemm.PackPairs(pairBits(dst[c*pairs:][:pairs*width]), src[c:], min(width, cols-c), pairs, rows, width, from)
	}
}

// pairProduct is a product of rows of pairs with panels.
type pairProduct struct {
	rows, cols, pairs int
	a, panels, c      []float32
	rowA, rowC        int
	panelPairs        int // pairs of a whole panel
	accumulate        bool
}

func (p *pairProduct) run() {
	width := micro.PanelWidth[float32]()
	t := micro.Tile[float32]{A: p.a, B: p.panels, C: p.c, ARow: p.rowA, AK: 1, BK: width, CRow: p.rowC, Rows: p.rows, K: p.pairs, Segments: 1,
		Outer: 1, Pairs: true, Accumulate: p.accumulate, Lines: p.cols / width, BLine: p.panelPairs * width, CLine: width, Cols: width}
	if t.Lines > 0 {
		micro.Run(&t)
	}
	if whole := t.Lines * width; whole < p.cols {
		t.B, t.C, t.Cols, t.Lines, t.BLine, t.CLine = p.panels[whole*p.panelPairs:], p.c[whole:], p.cols-whole, 0, 0, 0
		micro.Run(&t)
	}
}

// carved is memory from which parts are taken, each aligned to a cache line.
type carved []float32

func carvedSize(n int) int { return (n + 15) &^ 15 }

func (c *carved) take(n int) []float32 {
	part := (*c)[:n:n]
	*c = (*c)[carvedSize(n):]
	return part
}

// carvedSizes returns the memory that parts of the given sizes take.
func carvedSizes(sizes ...int) int {
	sum := 0
	for _, n := range sizes {
		sum += carvedSize(n)
	}
	return sum
}

// halfAttention holds the operands of such an attention and a worker's memory: the panels of a head, and for a block
// its scores, the scores in pairs, the results, the logarithms of the sums, and the factors of the results.
type halfAttention struct {
	halfHeads
	q, k, v, y, total                             *plan.Operand
	unread                                        bool // nobody reads the logarithms
	packedK, packedV, p, rounded, out, t, factors []float32
}

func (f *halfAttention) sizes() [7]int {
	return [...]int{panelsSize(f.depth/2, f.keys), panelsSize(f.keyPairs, f.width), f.rows * vec.ScoreStride(f.keys),
		f.rows * roundedRow(f.keys), f.rows * f.width, f.rows, f.rows}
}

func attentionInPairs(b *build) func() {
	f := &halfAttention{q: b.in(0), k: b.in(1), v: b.in(2), y: b.out(0), total: b.out(1), unread: b.unread(b.n.Outputs[1])}
	var mask *plan.Operand
	if len(b.n.Inputs) == 4 {
		mask = b.in(3)
	}
	f.halfHeads = newHalfHeads(b, mask)
	sizes := f.sizes()
	size := carvedSizes(sizes[:]...)
	b.rt().need(size * 4)
	blocks := f.blocks()
	work := f.queries * f.keys * (f.depth + f.width) / f.items
	return b.rt().parallel(f.batch*f.heads.heads*f.items, grain(work/16), func(w *worker, lo, hi int) {
		memory := carved(scratchOf[float32](w, size))
		f := *f
		for i, part := range [...]*[]float32{&f.packedK, &f.packedV, &f.p, &f.rounded, &f.out, &f.t, &f.factors} {
			*part = memory.take(sizes[i])
		}
		for item := lo; item < hi; item++ {
			head, part := item/f.items, item%f.items
			bn, hd := head/f.heads.heads, head%f.heads.heads
			f.packTransposed(f.packedK, f.k, bn, hd, f.depth)
			f.packSteps(f.packedV, f.v, bn, hd, f.width)
			for block := part * blocks / f.items; block < (part+1)*blocks/f.items; block++ {
				if item+1 < hi && (item+1)%f.items == 0 {
					f.fetch(f.k, head+1, f.keys, f.depth, block, blocks)
					f.fetch(f.v, head+1, f.keys, f.width, block, blocks)
					f.fetch(f.q, head+1, f.queries, f.depth, block, blocks)
				}
				f.block(bn, hd, block*f.rows)
			}
		}
	})
}

// scoresOf multiplies queries by panels of keys, or the upstream gradient by panels of values.
func (h *halfHeads) scoresOf(dst, panels []float32, o *plan.Operand, bn, hd, first, size int, s vec.Scores) {
	p := pairProduct{rows: s.Rows, cols: s.Cols, pairs: size / 2, panelPairs: size / 2, panels: panels, c: dst, rowC: s.Stride,
		a: inPairs(halfStep(h.heads, o, bn, h.queries, first, hd, size)), rowA: h.heads.heads * size / 2}
	p.run()
}

// block computes the results of a block of queries that begins at first.
func (f *halfAttention) block(bn, hd, first int) {
	last := min(first+f.rows, f.queries)
	s := f.heads.scores(first, last-first, f.visible(last))
	f.scoresOf(f.p, f.packedK, f.q, bn, hd, first, f.depth, s)
	rounded, row := inHalves(f.rounded), roundedRow(s.Cols)
	if vec.SoftmaxHalves(rounded, f.p, f.t, f.factors, s, look(f.heads, f.p, &s, bn, hd, first, false), 2*row) {
		f.scoresOf(f.p, f.packedK, f.q, bn, hd, first, f.depth, s)
		look(f.heads, f.p, &s, bn, hd, first, true)
		vec.SoftmaxHalvesExact(rounded, f.p, f.t, f.factors, s, 2*row)
	}
	if !f.unread {
		vec.BFloat16.NarrowSums(plan.Data[uint16](f.total)[(bn*f.heads.heads+hd)*f.queries+first:][:s.Rows], f.t)
	}
	p := pairProduct{rows: s.Rows, cols: f.width, pairs: (s.Cols + 1) / 2, panelPairs: f.keyPairs, a: f.rounded, rowA: row, panels: f.packedV,
		c: f.out, rowC: f.width}
	p.run()
	y := halfStep(f.heads, f.y, bn, f.queries, first, hd, f.width)
	vec.ScaleHalves(y, f.out, f.factors[:s.Rows], f.width, f.heads.heads*f.width, f.width)
}
