package cpu

import (
	"math"
	"slices"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

func buildAttentionGrad(b *build) (func(), error) {
	return byFloat(b, attentionGrad[float64], attentionGrad[float32])
}

// attentionGrad computes, with p the probabilities and dp = dy·vᵀ: dv = pᵀ·dy, ds = scale·p∘(dp - Σ p∘dp), dq = ds·k
// and dk = dsᵀ·q. The blocks of a head add to dk and dv in turn, beginning with the last one, which sees the most keys.
func attentionGrad[T block.Float](b *build) func() {
	g := &attentionGradient[T]{q: b.in(0), k: b.in(1), v: b.in(2), total: b.in(4), dy: b.in(5), dq: b.out(0), dk: b.out(1), dv: b.out(2)}
	var mask *plan.Operand
	if len(b.n.Inputs) == 7 {
		mask = b.in(6)
	}
	g.heads = newHeads(b, mask)
	tile, extra := g.rows*vec.ScoreStride(g.keys), productScratch[T](g.heads)
	keys, values := gemm.PackedSize[T](g.keys, g.depth), gemm.PackedSize[T](g.keys, g.width)
	turnedK, turnedV := g.turned(turnsSteps[T](g.depth), g.depth), g.turned(turnsSteps[T](g.width), g.width)
	size := 2*tile + keys + values + turnedK + turnedV + extra
	b.rt().need(size * g.q.Typ.DType.Size())
	work := g.queries * g.keys * (g.depth + g.width)
	return b.rt().parallel(g.batch*g.heads.heads, grain(work/4), func(w *worker, lo, hi int) {
		memory := scratchOf[T](w, size)
		g := *g
		g.p, memory = memory[:tile], memory[tile:]
		g.ds, memory = memory[:tile], memory[tile:]
		g.packedK, memory = memory[:keys], memory[keys:]
		g.packedV, memory = memory[:values], memory[values:]
		g.turnedK, memory = memory[:turnedK], memory[turnedK:]
		g.turnedV, g.scratch = memory[:turnedV], memory[turnedV:]
		for head := lo; head < hi; head++ {
			bn, hd := head/g.heads.heads, head%g.heads.heads
			for s := g.visible(g.queries) * min(g.queries, 1); s < g.keys; s++ { // keys that no query sees
				clear(plan.Data[T](g.dk)[g.at(bn, g.keys, s, hd, g.depth):][:g.depth])
				clear(plan.Data[T](g.dv)[g.at(bn, g.keys, s, hd, g.width):][:g.width])
			}
			packHead(g.heads, g.packedK, g.k, bn, hd, g.depth)
			packHead(g.heads, g.packedV, g.v, bn, hd, g.width)
			blocks := g.blocks()
			for block := blocks - 1; block >= 0; block-- {
				if head+1 < hi {
					fetchHead[T](g.heads, g.k, head+1, g.keys, g.depth, block, blocks)
					fetchHead[T](g.heads, g.v, head+1, g.keys, g.width, block, blocks)
					fetchHead[T](g.heads, g.q, head+1, g.queries, g.depth, block, blocks)
					fetchHead[T](g.heads, g.dy, head+1, g.queries, g.width, block, blocks)
				}
				g.block(bn, hd, block*g.rows)
			}
			g.storeTransposed(bn, hd)
		}
	})
}

type attentionGradient[T block.Float] struct {
	*heads
	q, k, v, total, dy, dq, dk, dv   *plan.Operand
	p, ds, packedK, packedV, scratch []T // per worker: a block of probabilities and its gradients, the head's packed operands
	turnedK, turnedV                 []T // and the transposes of its results, if they are computed
}

// block adds the gradients of a block of queries that begins at first.
func (g *attentionGradient[T]) block(bn, hd, first int) {
	h := g.heads
	last := min(first+g.rows, g.queries)
	m, n := last-first, g.visible(last)
	q, dq := atStep[T](h, g.q, bn, g.queries, first, hd, g.depth), atStep[T](h, g.dq, bn, g.queries, first, hd, g.depth)
	k, dk := atStep[T](h, g.k, bn, g.keys, 0, hd, g.depth), atStep[T](h, g.dk, bn, g.keys, 0, hd, g.depth)
	dv := atStep[T](h, g.dv, bn, g.keys, 0, hd, g.width)
	dy := atStep[T](h, g.dy, bn, g.queries, first, hd, g.width)
	total := plan.Data[T](g.total)[(bn*h.heads+hd)*g.queries+first:]
	block := h.scores(first, m, n)
	p := productsOf[T](h, m, n)
	p.scores.with(q, g.packedK, g.p).run(g.scratch)
	p.upstream.with(dy, g.packedV, g.ds).run(g.scratch)
	large := slices.ContainsFunc(total[:m], coarse)
	scale := look(h, g.p, &block, bn, hd, first, large)
	if large {
		total = small(g.p, total[:m], block)
	}
	vec.SoftmaxRowsGrad(g.p, g.ds, total, block, scale)
	if by := T(h.Scale); by != scale {
		vec.Scale(g.ds[:m*block.Stride], g.ds[:m*block.Stride], by)
	}
	p.dv.accumulate, p.dk.accumulate = last < g.queries, last < g.queries
	p.dv.ofSteps(g.p, dy, dv, g.turnedV).run(g.scratch)
	p.dk.ofSteps(g.ds, q, dk, g.turnedK).run(g.scratch)
	p.dq.with(g.ds, k, dq).run(g.scratch)
}

// coarse reports whether the logarithm of a sum is so large that it carries no information. -Inf, which stands for a
// sum of nothing, does not count.
func coarse[T block.Float](total T) bool { return vec.Coarse(total) && !math.IsInf(float64(total), -1) }

// small handles rows of scores so large that the logarithms of their sums carry no information. It subtracts the
// largest score from each such row, and returns the logarithms that result.
func small[T block.Float](scores, total []T, s vec.Scores) []T {
	total = slices.Clone(total)
	for r, t := range total {
		if !coarse(t) {
			continue
		}
		row := scores[r*s.Stride:][:s.Sees(r)]
		vec.AddScalar(row, row, -vec.MaxOf(row))
		sum := 0.0
		for _, x := range row {
			sum += math.Exp(float64(x))
		}
		total[r] = T(math.Log(sum))
	}
	return total
}

// ofSteps returns a copy of a product of [stepsGradient] with its operands. turned is memory for the transpose, or nil.
func (p product[T]) ofSteps(scores, rows, steps, turned []T) *product[T] {
	if len(turned) > 0 {
		return p.with(rows, scores, turned)
	}
	return p.with(scores, rows, steps)
}

// turned returns how much memory the transpose of a result needs, or 0 if it is not computed.
func (h *heads) turned(turns bool, size int) int {
	if !turns {
		return 0
	}
	return size * vec.ScoreStride(h.keys)
}

// storeTransposed stores the results of a head, which were computed as their transposes.
func (g *attentionGradient[T]) storeTransposed(bn, hd int) {
	steps, stride := g.visible(g.queries)*min(g.queries, 1), vec.ScoreStride(g.keys)
	for _, t := range [...]struct {
		to   *plan.Operand
		from []T
		size int
	}{{g.dk, g.turnedK, g.depth}, {g.dv, g.turnedV, g.width}} {
		if len(t.from) > 0 && steps > 0 {
			micro.Transpose(atStep[T](g.heads, t.to, bn, g.keys, 0, hd, t.size), t.from, t.size, steps, g.heads.heads*t.size, stride)
		}
	}
}

// stepsGradient returns the product that computes the gradient of n keys or values of the given size, from m queries.
// It multiplies the transposed scores by the m rows, or computes its own transpose, from the transposed rows and the
// scores.
func stepsGradient[T block.Float](h *heads, m, n, size int) product[T] {
	stride, rows := vec.ScoreStride(n), h.heads*size
	if turnsSteps[T](size) {
		return product[T]{m: size, n: n, k: m, lda: rows, ldb: stride, ldc: vec.ScoreStride(h.keys), transA: true}
	}
	return product[T]{m: n, n: size, k: m, lda: stride, ldb: rows, ldc: rows, transA: true}
}

// turnsSteps reports whether gradients of keys or values are computed as their transposes. Rows shorter than half a
// panel would leave lanes of the longest vectors empty.
func turnsSteps[T block.Float](size int) bool { return size < micro.PanelWidth[T]()/2 }
