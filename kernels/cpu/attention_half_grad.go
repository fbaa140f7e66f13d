package cpu

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// Sums over queries are as long as their panels, of probabilities and of gradients, fit into the second-level cache.
// Shorter sums would go through memory more often, and would set up the matrix registers more often.
const (
	groupPanels  = 1 << 15
	groupQueries = 512
)

// halfAttentionGradient holds the operands of the gradient of attention in pairs, and a worker's memory. The formulas
// are those of attentionGrad. Blocks of queries form groups, and the gradients of keys and values are summed one group
// at a time.
type halfAttentionGradient struct {
	halfHeads
	q, k, v, total, dy, dq, dk, dv *plan.Operand
	groupRows                      int // queries of a group, a whole number of blocks

	packedK, packedV, packedSteps []float32 // per head: its transposed keys and values, and its keys again in pairs of steps
	dkT, dvT                      []float32 // per head: the transposes of its results
	p, ds                         []float32 // per block: its probabilities and the gradients of its scores
	rounded                       []float32 // either of these in pairs of keys
	panelsP, panelsDS             []float32 // per group: panels of these in pairs of queries
	turned, lines, out, t         []float32 // queries or upstream gradients with pairs in rows, an intermediate step to that, results, and logarithms
}

// groupPairs returns the number of pairs of queries of a group.
func (g *halfAttentionGradient) groupPairs() int { return (g.groupRows + 1) / 2 }

func (g *halfAttentionGradient) sizes() [14]int {
	stride, most, pairs := vec.ScoreStride(g.keys), max(g.depth, g.width), g.groupPairs()
	panels := panelsSize(pairs, g.keys)
	return [...]int{panelsSize(g.depth/2, g.keys), panelsSize(g.width/2, g.keys), panelsSize(g.keyPairs, g.depth),
		g.depth * stride, g.width * stride, g.rows * stride, g.rows * stride, (g.rows + 1) * roundedRow(g.keys), panels, panels,
		most * (pairs + halfRowGap), pairs * most, max(g.rows, backRows) * most, g.rows}
}

func (g *halfAttentionGradient) carve(memory carved, sizes [14]int) {
	for i, part := range [...]*[]float32{&g.packedK, &g.packedV, &g.packedSteps, &g.dkT, &g.dvT, &g.p, &g.ds, &g.rounded, &g.panelsP, &g.panelsDS,
		&g.turned, &g.lines, &g.out, &g.t} {
		*part = memory.take(sizes[i])
	}
}

func attentionGradInPairs(b *build) func() {
	g := &halfAttentionGradient{q: b.in(0), k: b.in(1), v: b.in(2), total: b.in(4), dy: b.in(5), dq: b.out(0), dk: b.out(1), dv: b.out(2)}
	var mask *plan.Operand
	if len(b.n.Inputs) == 7 {
		mask = b.in(6)
	}
	g.halfHeads = newHalfHeads(b, mask)
	most := min(2*groupPanels/panelsSize(1, g.keys), groupQueries, g.queries)
	g.groupRows = max(most/g.rows, 1) * g.rows
	if most == g.queries {
		g.groupRows = g.queries
	}
	sizes := g.sizes()
	size := carvedSizes(sizes[:]...)
	b.rt().need(size * 4)
	work := g.queries * g.keys * (g.depth + g.width)
	return b.rt().parallel(g.batch*g.heads.heads, grain(work/8), func(w *worker, lo, hi int) {
		g := *g
		g.carve(scratchOf[float32](w, size), sizes)
		for head := lo; head < hi; head++ {
			g.head(head, head+1 < hi)
		}
	})
}

// head computes the gradients of a head. more is set if another head follows.
func (g *halfAttentionGradient) head(head int, more bool) {
	bn, hd := head/g.heads.heads, head%g.heads.heads
	g.packTransposed(g.packedK, g.k, bn, hd, g.depth)
	g.packTransposed(g.packedV, g.v, bn, hd, g.width)
	g.packSteps(g.packedSteps, g.k, bn, hd, g.depth)
	blocks := g.blocks()
	for block := blocks - 1; block >= 0; block-- {
		if more {
			g.fetch(g.k, head+1, g.keys, g.depth, block, blocks)
			g.fetch(g.v, head+1, g.keys, g.width, block, blocks)
			g.fetch(g.q, head+1, g.queries, g.depth, block, blocks)
			g.fetch(g.dy, head+1, g.queries, g.width, block, blocks)
		}
		first := block * g.rows
		g.block(bn, hd, first)
		if first%g.groupRows == 0 {
			g.addSteps(g.dvT, g.panelsP, g.dy, bn, hd, first, g.width)
			g.addSteps(g.dkT, g.panelsDS, g.q, bn, hd, first, g.depth)
		}
	}
	g.storeTransposed(g.dk, g.dkT, bn, hd, g.depth)
	g.storeTransposed(g.dv, g.dvT, bn, hd, g.width)
}

// block computes the gradients of a block of queries that begins at first, and its part of the panels for the sums over
// queries.
func (g *halfAttentionGradient) block(bn, hd, first int) {
	last := min(first+g.rows, g.queries)
	s := g.heads.scores(first, last-first, g.visible(last))
	g.scoresOf(g.p, g.packedK, g.q, bn, hd, first, g.depth, s)
	g.scoresOf(g.ds, g.packedV, g.dy, bn, hd, first, g.width, s)
	total := g.t[:s.Rows]
	vec.BFloat16.Widen(total, plan.Data[uint16](g.total)[(bn*g.heads.heads+hd)*g.queries+first:][:s.Rows])
	large := slices.ContainsFunc(total, coarse)
	scale := look(g.heads, g.p, &s, bn, hd, first, large)
	if large {
		total = small(g.p, total, s)
	}
	vec.SoftmaxRowsGrad(g.p, g.ds, total, s, scale)
	if by := float32(g.Scale); by != scale {
		vec.Scale(g.ds[:s.Rows*s.Stride], g.ds[:s.Rows*s.Stride], by)
	}
	g.panels(g.panelsP, g.p, first, s)
	row := g.panels(g.panelsDS, g.ds, first, s)
	p := pairProduct{rows: s.Rows, cols: g.depth, pairs: (s.Cols + 1) / 2, panelPairs: g.keyPairs, a: g.rounded, rowA: row, panels: g.packedSteps,
		c: g.out, rowC: g.depth}
	p.run()
	dq := halfStep(g.heads, g.dq, bn, g.queries, first, hd, g.depth)
	vec.BFloat16.NarrowRows(dq, g.out, g.depth, s.Rows, g.heads.heads*g.depth, g.depth)
}

// panels rounds the probabilities or gradients of a block. It leaves them as rows of pairs of keys, and returns the
// distance between the rows. It also packs them, as pairs of queries, into the block's part of the panels.
func (g *halfAttentionGradient) panels(dst, scores []float32, first int, s vec.Scores) int {
	row, width, panel := roundedRow(s.Cols), micro.PanelWidth[float32](), g.groupPairs()*micro.PanelWidth[float32]()
	dst = dst[first%g.groupRows/2*width:]
	if filled := s.Stride / width; filled*width < s.Stride { // other blocks may see more of the last panel
		clear(dst[filled*panel:][:(s.Rows+1)/2*width])
	}
	vec.BFloat16.RoundPairs(pairBits(dst), inHalves(g.rounded), scores, s.Stride, s.Rows, panel, 2*row, s.Stride)
	return row
}

// addSteps adds the contribution of a group of queries that begins at first to the transposed gradients of keys or
// values: the products of the group's rows of o with the panels.
func (g *halfAttentionGradient) addSteps(dst, panels []float32, o *plan.Operand, bn, hd, first, size int) {
	last := min(first+g.groupRows, g.queries)
	width, whole, pairs := micro.PanelWidth[float32](), g.groupPairs(), (last-first+1)/2
	rowA := pairs + halfRowGap
	src := halfStep(g.heads, o, bn, g.queries, first, hd, size)
	gemm.PackPairs(pairBits(g.lines), src, size, pairs, last-first, size, g.heads.heads*size)
	micro.Transpose(g.turned, g.lines, pairs, size, rowA, size)
	seen := g.visible(last)
	p := pairProduct{rows: size, rowA: rowA, rowC: vec.ScoreStride(g.keys), panelPairs: whole, accumulate: last < g.queries}
	for col := 0; col < seen; col += p.cols {
		unseen := 0 // pairs of queries, of whole blocks, that see none of these keys
		p.cols = seen - col
		if g.Causal {
			block := max(col-first, 0) / g.rows
			unseen = block * g.rows / 2
			p.cols = min(p.cols, max((first+(block+1)*g.rows-col)/width, 1)*width)
		}
		p.a, p.panels, p.c, p.pairs = g.turned[unseen:], panels[col*whole+unseen*width:], dst[col:], pairs-unseen
		p.run()
	}
}

const backRows = 64 // rows that are transposed at once

// storeTransposed stores the gradients of keys or values of a head from their transpose, and zeros for steps that no
// query sees.
func (g *halfAttentionGradient) storeTransposed(o *plan.Operand, from []float32, bn, hd, size int) {
	steps, row := g.visible(g.queries), g.heads.heads*size
	to := halfStep(g.heads, o, bn, g.keys, 0, hd, size)
	for step := 0; step < steps; step += backRows {
		n := min(backRows, steps-step)
		micro.Transpose(g.out, from[step:], size, n, size, vec.ScoreStride(g.keys))
		vec.BFloat16.NarrowRows(to[step*row:], g.out, size, n, row, size)
	}
	for step := steps; step < g.keys; step++ {
		clear(to[step*row:][:size])
	}
}
