package cpu

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// Sums over queries are as long as the panels of so many pairs of them by all keys, of probabilities and of gradients,
// stay in the second-level cache: short ones go through memory often, and each costs the matrix registers' preparation.
const (
	groupPanels  = 1 << 15
	groupQueries = 512
)

// halfAttentionGradient are the operands of the gradient of attention in pairs, whose formulas are those of
// attentionGrad, and what a worker needs. Blocks of queries are in groups: the gradients of keys and values are added
// up a group at a time.
type halfAttentionGradient struct {
	halfHeads
	q, k, v, total, dy, dq, dk, dv *plan.Operand
	groupRows                      int // queries of a group, whole blocks

	packedK, packedV, packedSteps []float32 // of the head: its keys and values, their transposes, and its keys again, in pairs of steps
	dkT, dvT                      []float32 // the transposes of the head's results
	p, ds                         []float32 // of a block: its probabilities and the gradients of its scores
	rounded                       []float32 // one of these in pairs of keys
	panelsP, panelsDS             []float32 // of a group: panels of these in pairs of queries
	turned, lines, out, t         []float32 // queries or upstream gradients with their pairs in rows, on their way to that, results, and logarithms
}

// groupPairs are the pairs of queries of a group.
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

// head computes the gradients of a head; more says that another one follows.
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
	g.turnBack(g.dk, g.dkT, bn, hd, g.depth)
	g.turnBack(g.dv, g.dvT, bn, hd, g.width)
}

// block computes the gradients of the queries from first on, and the panels of the block that the sums over queries
// read.
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

// panels rounds the probabilities or gradients of a block, whose rows of pairs of keys stay, and returns the distance
// of these; and makes the block's part of their panels in pairs of queries.
func (g *halfAttentionGradient) panels(dst, scores []float32, first int, s vec.Scores) int {
	row, width, panel := roundedRow(s.Cols), micro.PanelWidth[float32](), g.groupPairs()*micro.PanelWidth[float32]()
	dst = dst[first%g.groupRows/2*width:]
	if filled := s.Stride / width; filled*width < s.Stride { // other blocks may see more of the last panel
		clear(dst[filled*panel:][:(s.Rows+1)/2*width])
	}
	vec.BFloat16.RoundPairs(pairBits(dst), inHalves(g.rounded), scores, s.Stride, s.Rows, panel, 2*row, s.Stride)
	return row
}

// addSteps adds to the transpose of the gradients of keys or values what the group of queries from first on gives: the
// products of its rows of o with the panels.
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
		unseen := 0 // pairs of queries of whole blocks that see none of these keys
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

const backRows = 64 // that are turned at once

// turnBack stores the transpose of a head's gradients of keys or values, and zeros for those that no query sees.
func (g *halfAttentionGradient) turnBack(o *plan.Operand, from []float32, bn, hd, size int) {
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
