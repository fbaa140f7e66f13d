package cpu

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// halfAttentionGradient are the operands of the gradient of attention in pairs, whose formulas are those of
// attentionGrad, and what a worker needs.
type halfAttentionGradient struct {
	halfHeads
	q, k, v, total, dy, dq, dk, dv *plan.Operand

	packedK, packedV, packedSteps []float32 // of the head: its keys and values, their transposes, and its keys again, in pairs of steps
	dkT, dvT                      []float32 // the transposes of the head's results
	p, ds                         []float32 // of a block: its probabilities and the gradients of its scores
	rounded, panel                []float32 // one of these in pairs of keys, and a panel of it in pairs of queries
	turned, lines, out, t         []float32 // queries or upstream gradients with their pairs in rows, on their way to that, results, and logarithms
}

// queryPairs are those of a block.
func (g *halfAttentionGradient) queryPairs() int { return (g.rows + 1) / 2 }

func (g *halfAttentionGradient) sizes() [13]int {
	stride, most, pairs := vec.ScoreStride(g.keys), max(g.depth, g.width), g.queryPairs()
	return [...]int{panelsSize(g.depth/2, g.keys), panelsSize(g.width/2, g.keys), panelsSize(g.keyPairs, g.depth),
		g.depth * stride, g.width * stride, g.rows * stride, g.rows * stride,
		(g.rows + 1) * roundedRow(g.keys), panelsSize(pairs, 1),
		most * (pairs + halfRowGap), pairs * most, max(g.rows, backRows) * most, g.rows}
}

func (g *halfAttentionGradient) carve(memory carved, sizes [13]int) {
	for i, part := range [...]*[]float32{&g.packedK, &g.packedV, &g.packedSteps, &g.dkT, &g.dvT, &g.p, &g.ds, &g.rounded, &g.panel,
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
	sizes := g.sizes()
	size := carvedSizes(sizes[:]...)
	b.rt().need(size * 4)
	work := g.queries * g.keys * (g.depth + g.width)
	return b.rt().parallel(g.batch*g.heads.heads, grain(work/8), func(w *worker, lo, hi int) {
		g := *g
		g.carve(scratchOf[float32](w, size), sizes)
		for head := lo; head < hi; head++ {
			bn, hd := head/g.heads.heads, head%g.heads.heads
			g.packTransposed(g.packedK, g.k, bn, hd, g.depth)
			g.packTransposed(g.packedV, g.v, bn, hd, g.width)
			g.packSteps(g.packedSteps, g.k, bn, hd, g.depth)
			for block := g.blocks() - 1; block >= 0; block-- {
				g.block(bn, hd, block*g.rows)
			}
			g.turnBack(g.dk, g.dkT, bn, hd, g.depth)
			g.turnBack(g.dv, g.dvT, bn, hd, g.width)
		}
	})
}

// block adds the gradients of the queries from first on.
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
	row := g.round(g.p, s)
	g.addSteps(g.dvT, g.dy, bn, hd, first, g.width, row, s)
	row = g.round(g.ds, s)
	g.addSteps(g.dkT, g.q, bn, hd, first, g.depth, row, s)
	p := pairProduct{rows: s.Rows, cols: g.depth, pairs: (s.Cols + 1) / 2, panelPairs: g.keyPairs, a: g.rounded, rowA: row, panels: g.packedSteps,
		c: g.out, rowC: g.depth}
	p.run()
	dq := halfStep(g.heads, g.dq, bn, g.queries, first, hd, g.depth)
	vec.BFloat16.NarrowRows(dq, g.out, g.depth, s.Rows, g.heads.heads*g.depth, g.depth)
}

// round rounds a block of probabilities or gradients and returns the distance of its rows.
func (g *halfAttentionGradient) round(scores []float32, s vec.Scores) int {
	return roundScores(inHalves(g.rounded), scores, s)
}

// addSteps adds to the transpose of the gradients of keys or values what the rounded scores give, rows of which are row
// pairs apart: the products of the block's rows of o with them.
func (g *halfAttentionGradient) addSteps(dst []float32, o *plan.Operand, bn, hd, first, size, row int, s vec.Scores) {
	width, pairs := micro.PanelWidth[float32](), (s.Rows+1)/2
	rowA := pairs + halfRowGap
	src := halfStep(g.heads, o, bn, g.queries, first, hd, size)
	gemm.PackPairs(pairBits(g.lines), src, size, pairs, s.Rows, size, g.heads.heads*size)
	micro.Transpose(g.turned, g.lines, pairs, size, rowA, size)
	t := micro.Tile[float32]{A: g.turned, ARow: rowA, AK: 1, B: g.panel, BK: width, CRow: vec.ScoreStride(g.keys), Rows: size, K: pairs,
		Segments: 1, Outer: 1, Pairs: true, Accumulate: first+s.Rows < g.queries}
	for col := 0; col < s.Cols; col += width {
		t.C, t.Cols = dst[col:], min(width, s.Cols-col)
		gemm.PackPairs(pairBits(g.panel), inHalves(g.rounded)[col:], t.Cols, pairs, s.Rows, width, 2*row)
		micro.Run(&t)
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
