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

// Attention runs head by head, and a block of queries at a time, so that the scores of a block stay in the second-level
// cache and are never stored. The keys (and, for the gradient, the values) are packed once per head. A causal head has
// more blocks, because a block ignores all keys after its last query. The gradient recomputes the probabilities from
// the scores and the logsumexp.

const (
	scoreBlock   = 1 << 16 // scores of a block of queries
	causalBlocks = 8       // blocks of queries of a causal head, if each still has causalRows rows
	causalRows   = 32
	headItems    = 16 // minimum number of items of a loop over heads
)

// heads holds the geometry of an attention.
type heads struct {
	ir.AttentionAttrs
	batch, queries, keys, heads, depth, width int
	rows                                      int // queries of a block
	items                                     int // pieces of a head that are computed independently; each is a run of blocks
	mask                                      *plan.Operand
	maskStride                                [4]int
}

func newHeads(b *build, mask *plan.Operand) *heads {
	q, k, v := b.in(0).Typ.Shape, b.in(1).Typ.Shape, b.in(2).Typ.Shape
	h := &heads{AttentionAttrs: b.n.Attrs.(ir.AttentionAttrs), batch: q[0], queries: q[1], keys: k[1], heads: q[2], depth: q[3], width: v[3], mask: mask}
	h.rows = max(scoreBlock/max(h.keys, 1)/16*16, 16)
	if h.Causal {
		h.rows = min(h.rows, max(h.queries/causalBlocks/16*16, causalRows))
	}
	h.rows = min(h.rows, max(h.queries, 1))
	h.items = min(max(headItems/max(h.batch*h.heads, 1), 1), max(h.blocks(), 1))
	if mask != nil {
		for i, n := range mask.Typ.Shape {
			if n > 1 {
				h.maskStride[i] = mask.Typ.Shape.Strides()[i]
			}
		}
	}
	return h
}

// blocks returns the number of blocks of queries of a head.
func (h *heads) blocks() int { return (h.queries + h.rows - 1) / h.rows }

// visible returns the largest number of keys that a query before last can see.
func (h *heads) visible(last int) int {
	if h.Causal {
		return min(h.keys, last)
	}
	return h.keys
}

// at returns the offset of a step of a head in a (batch, steps, heads, size) tensor. The next step is heads·size
// further.
func (h *heads) at(batch, steps, step, head, size int) int {
	return ((batch*steps+step)*h.heads + head) * size
}

// product is a matrix product on one goroutine. Each operand is a slice from its first element on.
type product[T block.Float] struct {
	m, n, k       int
	a, b, c       []T
	lda, ldb, ldc int
	transA        bool
	packed        bool // b is packed
	accumulate    bool
}

func (p *product[T]) args() gemm.Args[T] {
	return gemm.Args[T]{M: p.m, N: p.n, K: p.k, A: p.a, B: p.b, C: p.c, LDA: p.lda, LDB: p.ldb, LDC: p.ldc,
		TransA: p.transA, Packed: p.packed, Accumulate: p.accumulate}
}

func (p *product[T]) run(scratch []T) {
	if p.isSmall() {
		p.runSmall()
		return
	}
	a := p.args()
	gemm.Run(nil, &a, scratch)
}

// Products within these limits take only a few microseconds and skip the preparations of larger ones.
const (
	smallProduct = 1 << 19 // multiplications
	smallSum     = 256     // longest sum that stays in registers
	aliasBytes   = 2048    // rows at multiples of this distance compete for the same few places in the first-level cache
)

// isSmall reports whether the product is small and its operands can be read in place, panel by panel.
func (p *product[T]) isSmall() bool {
	var zero T
	return p.k > 0 && p.k <= smallSum && p.m*p.n*p.k <= smallProduct && (p.packed || (p.k-1)*p.ldb+vec.ScoreStride(p.n) <= cap(p.b)) &&
		p.lda*int(unsafe.Sizeof(zero))%aliasBytes != 0
}

func (p *product[T]) runSmall() {
	width := micro.PanelWidth[T]()
	t := micro.Tile[T]{Rows: p.m, K: p.k, Segments: 1, Outer: 1, A: p.a, ARow: p.lda, AK: 1, CRow: p.ldc, Accumulate: p.accumulate}
	if p.transA {
		t.ARow, t.AK = 1, p.lda
	}
	for col := 0; col < p.n; col += width {
		t.Cols, t.C = min(width, p.n-col), p.c[col:]
		if p.packed {
			t.B, t.BK = p.b[col*p.k:], width
		} else {
			t.B, t.BK = p.b[col:], p.ldb
		}
		micro.Run(&t)
	}
}

// headProducts are the products of a block of queries, still without operands.
type headProducts[T block.Float] struct {
	scores, values       product[T] // forward
	upstream, dv, dk, dq product[T] // backward, which needs scores as well
}

// productsOf returns the products of m queries that see n keys.
func productsOf[T block.Float](h *heads, m, n int) headProducts[T] {
	strideD, strideV, stride := h.heads*h.depth, h.heads*h.width, vec.ScoreStride(n)
	return headProducts[T]{
		scores:   product[T]{m: m, n: n, k: h.depth, lda: strideD, ldc: stride, packed: true},
		values:   product[T]{m: m, n: h.width, k: n, lda: stride, ldb: strideV, ldc: strideV},
		upstream: product[T]{m: m, n: n, k: h.width, lda: strideV, ldc: stride, packed: true},
		dv:       stepsGradient[T](h, m, n, h.width),
		dk:       stepsGradient[T](h, m, n, h.depth),
		dq:       product[T]{m: m, n: h.depth, k: n, lda: stride, ldb: strideD, ldc: strideD},
	}
}

// with returns a copy with the given operands.
func (p product[T]) with(a, b, c []T) *product[T] {
	p.a, p.b, p.c = a, b, c
	return &p
}

// productScratch returns how much scratch memory the products of a head need at most. It asks all blocks, because a
// smaller product may need more than a larger one.
func productScratch[T block.Float](h *heads) int {
	size := 0
	for first := 0; first < h.queries; first += h.rows {
		last := min(first+h.rows, h.queries)
		p := productsOf[T](h, last-first, h.visible(last))
		for _, p := range [...]*product[T]{&p.scores, &p.values, &p.upstream, &p.dv, &p.dk, &p.dq} {
			a := p.args()
			for _, a.Accumulate = range [...]bool{false, true} { // the gradients of keys and values accumulate, except in the first block
				size = max(size, gemm.ScratchSize(&a, 1))
			}
		}
	}
	return size
}

// atStep returns the elements of an operand from a step of a head on, or nil if the operand is empty.
func atStep[T block.Float](h *heads, o *plan.Operand, batch, steps, step, head, size int) []T {
	if o.N == 0 {
		return nil
	}
	return plan.Data[T](o)[h.at(batch, steps, step, head, size):]
}

// headBytes is the size from which prefetching an operand of a head pays. Several operands of this size fit into the
// second-level cache.
const headBytes = 64 << 10

// fetchHead prefetches a part of an operand of a head, whose rows are not contiguous.
func fetchHead[T block.Float](h *heads, o *plan.Operand, head, steps, size, part, parts int) {
	if steps*size*o.Typ.DType.Size() > headBytes {
		return
	}
	first, last := part*steps/parts, (part+1)*steps/parts
	if first < last {
		vec.Fetch(atStep[T](h, o, head/h.heads, steps, first, head%h.heads, size), last-first, size, h.heads*size)
	}
}

// packHead packs the transpose of the keys or values of a head. size is their length.
func packHead[T block.Float](h *heads, dst []T, o *plan.Operand, batch, head, size int) {
	gemm.PackB(nil, dst, atStep[T](h, o, batch, h.keys, 0, head, size), size, h.keys, h.heads*size, true)
}

func buildAttention(b *build) (func(), error) {
	return byFloat(b, attention[float64], attention[float32])
}

// attentionForward holds the operands of an attention.
type attentionForward[T block.Float] struct {
	*heads
	q, k, v, y, total *plan.Operand
}

func attention[T block.Float](b *build) func() {
	f := &attentionForward[T]{q: b.in(0), k: b.in(1), v: b.in(2), y: b.out(0), total: b.out(1)}
	var mask *plan.Operand
	if len(b.n.Inputs) == 4 {
		mask = b.in(3)
	}
	f.heads = newHeads(b, mask)
	if f.inColumns(f.q.Typ.DType.Size() == 8) {
		return buildAttentionColumns(b, f.heads)
	}
	tile, keys, extra := f.rows*vec.ScoreStride(f.keys), gemm.PackedSize[T](f.keys, f.depth), productScratch[T](f.heads)
	b.rt().need((tile + keys + extra) * f.q.Typ.DType.Size())
	blocks := f.blocks()
	work := f.queries * f.keys * (f.depth + f.width) / max(f.items, 1)
	return b.rt().parallel(f.batch*f.heads.heads*f.items, grain(work/8), func(w *worker, lo, hi int) {
		memory := scratchOf[T](w, tile+keys+extra)
		for item := lo; item < hi; item++ {
			head, part := item/f.items, item%f.items
			bn, hd := head/f.heads.heads, head%f.heads.heads
			packHead(f.heads, memory[tile:], f.k, bn, hd, f.depth)
			for block := part * blocks / f.items; block < (part+1)*blocks/f.items; block++ {
				if item+1 < hi && (item+1)%f.items == 0 { // of the next head
					fetchHead[T](f.heads, f.k, head+1, f.keys, f.depth, block, blocks)
					fetchHead[T](f.heads, f.v, head+1, f.keys, f.width, block, blocks)
					fetchHead[T](f.heads, f.q, head+1, f.queries, f.depth, block, blocks)
				}
				f.block(bn, hd, block*f.rows, memory[:tile], memory[tile:tile+keys], memory[tile+keys:])
			}
		}
	})
}

// block computes the results of a block of queries that begins at first.
func (f *attentionForward[T]) block(bn, hd, first int, scores, keys, scratch []T) {
	last := min(first+f.rows, f.queries)
	m, n := last-first, f.visible(last)
	q, v, y := atStep[T](f.heads, f.q, bn, f.queries, first, hd, f.depth), atStep[T](f.heads, f.v, bn, f.keys, 0, hd, f.width), atStep[T](f.heads, f.y, bn, f.queries, first, hd, f.width)
	p := productsOf[T](f.heads, m, n)
	product := p.scores.with(q, keys, scores)
	product.run(scratch)
	total := plan.Data[T](f.total)[(bn*f.heads.heads+hd)*f.queries+first:]
	block := f.scores(first, m, n)
	if vec.SoftmaxRows(scores, total, block, look(f.heads, scores, &block, bn, hd, first, false)) {
		product.run(scratch)
		vec.SoftmaxRows(scores, total, block, look(f.heads, scores, &block, bn, hd, first, true))
	}
	p.values.with(scores, v, y).run(scratch)
}

// scores describes the scores of m queries from first on, which see at most n keys.
func (h *heads) scores(first, m, n int) vec.Scores {
	s := vec.Scores{Rows: m, Cols: n, Stride: vec.ScoreStride(n), Seen: n}
	if h.Causal {
		s.Seen, s.Step = first+1, 1
	}
	return s
}

// look sets scores to -inf where the mask hides a key, for the queries from first on. It returns the positive factor
// that the scores still have to be multiplied by. Large scores are multiplied here, so that their differences are
// exact.
func look[T block.Float](h *heads, scores []T, s *vec.Scores, batch, head, first int, large bool) T {
	scale := T(h.Scale)
	if large || !(scale > 0) { // hidden scores must stay hidden
		for r := range s.Rows {
			row := scores[r*s.Stride:][:s.Sees(r)]
			vec.Scale(row, row, scale)
		}
		scale = 1
	}
	if h.mask != nil {
		at := h.maskStride
		vec.HideRows(scores, *s, plan.Data[uint8](h.mask)[batch*at[0]+head*at[1]+first*at[2]:], at[2], at[3])
	}
	return scale
}
