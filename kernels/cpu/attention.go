package cpu

import (
	"math"

	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Attention is computed head by head, for a block of queries at a time, so that the block's scores stay in the second-level cache
// and are never stored. The gradient computes the probabilities again from the scores and the logsumexp.

// scoreBlock is the number of scores of a block of queries.
const scoreBlock = 1 << 16

// heads is the geometry of an attention.
type heads struct {
	ir.AttentionAttrs
	batch, queries, keys, heads, depth, width int
	rows                                      int // queries of a block
	mask                                      *operand
	maskStride                                [4]int
}

func newHeads(b *build, mask *operand) *heads {
	q, k, v := b.in(0).typ.Shape, b.in(1).typ.Shape, b.in(2).typ.Shape
	h := &heads{AttentionAttrs: b.n.Attrs.(ir.AttentionAttrs), batch: q[0], queries: q[1], keys: k[1], heads: q[2], depth: q[3], width: v[3], mask: mask}
	h.rows = min(max(scoreBlock/max(h.keys, 1)/16*16, 16), max(h.queries, 1))
	if mask != nil {
		for i, n := range mask.typ.Shape {
			if n > 1 {
				h.maskStride[i] = mask.typ.Shape.Strides()[i]
			}
		}
	}
	return h
}

// blocks is the number of blocks of queries of a head.
func (h *heads) blocks() int { return (h.queries + h.rows - 1) / h.rows }

// visible returns how many keys the queries before last can see at most.
func (h *heads) visible(last int) int {
	if h.Causal {
		return min(h.keys, last)
	}
	return h.keys
}

// at returns the first element of a step of a head in a (batch, steps, heads, size) tensor; the next step follows heads·size later.
func (h *heads) at(batch, steps, step, head, size int) int {
	return ((batch*steps+step)*h.heads + head) * size
}

// hide puts -inf where a query must not see a key.
func hide[T float](h *heads, row []T, batch, head, query int) {
	hidden := T(math.Inf(-1))
	if h.Causal && query+1 < len(row) {
		fillWith(row[query+1:], hidden)
	}
	if h.mask == nil {
		return
	}
	s := h.maskStride
	mask := data[uint8](h.mask)[batch*s[0]+head*s[1]+query*s[2]:]
	for i := range row {
		if mask[i*s[3]] == 0 {
			row[i] = hidden
		}
	}
}

// product is a gemm on one goroutine with operands that begin at the given elements.
type product[T float] struct {
	m, n, k        int
	a, b, c        []T
	lda, ldb, ldc  int
	transA, transB bool
	accumulate     bool
}

func (p *product[T]) args() gemm.Args[T] {
	return gemm.Args[T]{M: p.m, N: p.n, K: p.k, A: p.a, B: p.b, C: p.c, LDA: p.lda, LDB: p.ldb, LDC: p.ldc,
		TransA: p.transA, TransB: p.transB, Accumulate: p.accumulate}
}

func (p *product[T]) run(scratch []T) {
	a := p.args()
	gemm.Run(nil, &a, scratch)
}

// productScratch is the scratch memory that any of the products of a head may need.
func productScratch[T float](h *heads) int {
	size := 0
	for _, p := range []product[T]{
		{m: h.rows, n: h.keys, k: h.depth, transB: true},
		{m: h.rows, n: h.keys, k: h.width, transB: true},
		{m: h.rows, n: h.width, k: h.keys},
		{m: h.rows, n: h.depth, k: h.keys},
		{m: h.keys, n: h.width, k: h.rows, transA: true},
		{m: h.keys, n: h.depth, k: h.rows, transA: true},
	} {
		// The visible keys and the rows of the last block may be fewer; a smaller product never needs more.
		a := p.args()
		size = max(size, gemm.ScratchSize(&a, 1))
	}
	return size
}

func buildAttention(b *build) (func(), error) {
	return byFloat(b, attention[float64], attention[float32])
}

func attention[T float](b *build) func() {
	q, k, v, y, total := b.in(0), b.in(1), b.in(2), b.out(0), b.out(1)
	var mask *operand
	if len(b.n.Inputs) == 4 {
		mask = b.in(3)
	}
	h := newHeads(b, mask)
	tile, extra := h.rows*h.keys, productScratch[T](h)
	b.rt().need((tile + extra) * q.typ.DType.Size())
	blocks := h.blocks()
	work := h.rows * h.keys * (h.depth + h.width)
	return b.rt().parallel(h.batch*h.heads*blocks, grain(work/8), func(w *worker, lo, hi int) {
		memory := scratchOf[T](w, tile+extra)
		scores, scratch := memory[:tile], memory[tile:]
		for item := lo; item < hi; item++ {
			head, block := item/blocks, item%blocks
			bn, hd := head/h.heads, head%h.heads
			first := block * h.rows
			last := min(first+h.rows, h.queries)
			n := h.visible(last)
			p := product[T]{m: last - first, n: n, k: h.depth, transB: true, lda: h.heads * h.depth, ldb: h.heads * h.depth,
				a: data[T](q)[h.at(bn, h.queries, first, hd, h.depth):], c: scores, ldc: n}
			if n > 0 {
				p.b = data[T](k)[h.at(bn, h.keys, 0, hd, h.depth):]
				p.run(scratch)
			}
			p = product[T]{m: last - first, n: h.width, k: n, a: scores, lda: n, ldb: h.heads * h.width, ldc: h.heads * h.width}
			if h.width > 0 {
				p.c = data[T](y)[h.at(bn, h.queries, first, hd, h.width):]
			}
			if n > 0 && h.width > 0 {
				p.b = data[T](v)[h.at(bn, h.keys, 0, hd, h.width):]
			}
			sums := data[T](total)[head*h.queries+first : head*h.queries+last]
			for r := range sums {
				sums[r] = probabilities(h, scores[r*n:(r+1)*n], bn, hd, first+r)
			}
			p.run(scratch)
		}
	})
}

// probabilities turns the products of a query with the keys into probabilities and returns their logsumexp. A query that sees
// nothing gets zeros and -inf.
func probabilities[T float](h *heads, row []T, batch, head, query int) T {
	vec.Scale(row, row, T(h.Scale))
	hide(h, row, batch, head, query)
	largest := vec.MaxOf(row)
	if math.IsInf(float64(largest), -1) {
		clear(row)
		return largest
	}
	vec.AddScalar(row, row, -largest)
	vec.Exp(row, row)
	sum := vec.Sum(row)
	vec.Scale(row, row, 1/sum)
	return largest + T(math.Log(float64(sum)))
}

func buildAttentionGrad(b *build) (func(), error) {
	return byFloat(b, attentionGrad[float64], attentionGrad[float32])
}

// attentionGrad: with p the probabilities, dv = pᵀ·dy, ds = scale·p∘(dy·vᵀ - Σ y∘dy), dq = ds·k and dk = dsᵀ·q. The blocks of a
// head add to dk and dv one after the other.
func attentionGrad[T float](b *build) func() {
	g := &attentionGradient[T]{q: b.in(0), k: b.in(1), v: b.in(2), y: b.in(3), total: b.in(4), dy: b.in(5), dq: b.out(0), dk: b.out(1), dv: b.out(2)}
	var mask *operand
	if len(b.n.Inputs) == 7 {
		mask = b.in(6)
	}
	g.heads = newHeads(b, mask)
	tile, extra := g.rows*g.keys, productScratch[T](g.heads)
	b.rt().need((2*tile + extra) * g.q.typ.DType.Size())
	work := g.queries * g.keys * (g.depth + g.width)
	return b.rt().parallel(g.batch*g.heads.heads, grain(work/4), func(w *worker, lo, hi int) {
		memory := scratchOf[T](w, 2*tile+extra)
		for head := lo; head < hi; head++ {
			bn, hd := head/g.heads.heads, head%g.heads.heads
			for s := range g.keys {
				clear(data[T](g.dk)[g.at(bn, g.keys, s, hd, g.depth):][:g.depth])
				clear(data[T](g.dv)[g.at(bn, g.keys, s, hd, g.width):][:g.width])
			}
			for first := 0; first < g.queries; first += g.rows {
				g.block(bn, hd, first, memory[:tile], memory[tile:2*tile], memory[2*tile:])
			}
		}
	})
}

type attentionGradient[T float] struct {
	*heads
	q, k, v, y, total, dy, dq, dk, dv *operand
}

// step returns the elements of an operand from a step of a head on; nil if it has none.
func (g *attentionGradient[T]) step(o *operand, batch, steps, step, head, size int) []T {
	if o.n == 0 {
		return nil
	}
	return data[T](o)[g.at(batch, steps, step, head, size):]
}

// block adds the gradients of the queries from first on; p and ds are its blocks of scores.
func (g *attentionGradient[T]) block(bn, hd, first int, p, ds, scratch []T) {
	last := min(first+g.rows, g.queries)
	m, n := last-first, g.visible(last)
	strideD, strideV := g.heads.heads*g.depth, g.heads.heads*g.width
	q, dq := g.step(g.q, bn, g.queries, first, hd, g.depth), g.step(g.dq, bn, g.queries, first, hd, g.depth)
	k, dk := g.step(g.k, bn, g.keys, 0, hd, g.depth), g.step(g.dk, bn, g.keys, 0, hd, g.depth)
	v, dv := g.step(g.v, bn, g.keys, 0, hd, g.width), g.step(g.dv, bn, g.keys, 0, hd, g.width)
	y, dy := g.step(g.y, bn, g.queries, first, hd, g.width), g.step(g.dy, bn, g.queries, first, hd, g.width)
	total := data[T](g.total)[(bn*g.heads.heads+hd)*g.queries+first:]
	scores := product[T]{m: m, n: n, k: g.depth, a: q, b: k, c: p, lda: strideD, ldb: strideD, ldc: n, transB: true}
	scores.run(scratch)
	upstream := product[T]{m: m, n: n, k: g.width, a: dy, b: v, c: ds, lda: strideV, ldb: strideV, ldc: n, transB: true}
	upstream.run(scratch)
	for r := range m {
		row, d := p[r*n:(r+1)*n], ds[r*n:(r+1)*n]
		vec.Scale(row, row, T(g.Scale))
		hide(g.heads, row, bn, hd, first+r)
		if t := total[r]; !math.IsInf(float64(t), -1) {
			vec.AddScalar(row, row, -t)
		}
		vec.Exp(row, row)
		mean := T(0)
		if g.width > 0 {
			mean = vec.Dot(y[r*strideV:r*strideV+g.width], dy[r*strideV:r*strideV+g.width])
		}
		vec.AddScalar(d, d, -mean)
		vec.Mul(d, d, row)
		vec.Scale(d, d, T(g.Scale))
	}
	for _, x := range [...]product[T]{
		{m: n, n: g.width, k: m, a: p, b: dy, c: dv, lda: n, ldb: strideV, ldc: strideV, transA: true, accumulate: true},
		{m: n, n: g.depth, k: m, a: ds, b: q, c: dk, lda: n, ldb: strideD, ldc: strideD, transA: true, accumulate: true},
		{m: m, n: g.depth, k: n, a: ds, b: k, c: dq, lda: n, ldb: strideD, ldc: strideD},
	} {
		x.run(scratch)
	}
}
