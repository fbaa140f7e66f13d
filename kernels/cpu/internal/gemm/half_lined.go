package gemm

import "github.com/gokeras/gokeras/kernels/cpu/internal/micro"

// In matrix registers, a batch of small products takes less time than a call for each product would. So the panels of
// several entries are made, and their A copied where necessary, one after the other. Then the entries are lines of a
// tile.

const (
	linedWords = 1 << 13 // of the panels, and of the copies of A, of all these entries: they stay in the first-level cache
	linedMore  = 1 << 14 // the same if entries have fewer than linedSums results: a call for one computes little

	// linedCalls is how many calls, one for each entry, must become one call for each panel for that to pay: it costs
	// some cache misses, because results are written one panel after the other. Small results need fewer.
	linedCalls = 4
	linedSums  = 1 << 12
)

// setLines decides how many entries of the batch are lines of a tile.
func (p *halfPlan) setLines(a *HalfArgs) {
	p.lines = 1
	if !p.rounds || !p.short || p.rowChunks*p.colChunks > 1 || a.Packed != nil {
		return
	}
	whole := *p
	whole.step = p.rows // one call computes all rows
	c, blockA, panel, _ := whole.sizes(a)
	if p.passes(a) {
		c = 0
	}
	width := micro.PanelWidth[float32]()
	most, least := linedWords, linedCalls*ceil(a.N, width)
	switch {
	case a.M*a.N >= linedSums:
	case a.N > width && a.N%width == 0: // one call computes all panels of an entry, and so writes whole rows
		least = min(least, 2*linedCalls)
	default:
		most, least = linedMore, least/2
	}
	if whole.lines = min(most/max(c, blockA, panel, 1), a.Batch[a.linedAxis()]); whole.lines >= least {
		*p = whole
	}
}

// linedAxis is the axis of the batch along which entries become lines: one whose entries are consecutive chunks.
func (a *HalfArgs) linedAxis() int {
	if a.Batch[1] > 1 {
		return 1
	}
	return 0
}

// entries computes some entries of the batch, from one on and before another, and returns how many it computed.
func (j *halfJob) entries(worker, entry, end int) int {
	a, p, width, axis := &j.args, &j.plan, micro.PanelWidth[float32](), j.args.linedAxis()
	e := [2]int{entry / a.Batch[1], entry % a.Batch[1]}
	lines := min(p.lines, end-entry, a.Batch[axis]-e[axis])
	at := func(strides [2]int, line int) int { return e[0]*strides[0] + e[1]*strides[1] + line*strides[axis] }
	c, blockA := j.memory(worker)
	sizeA, sizeB := len(blockA)/p.lines, len(c.panels)/p.lines
	k := p.k + p.pads
	t := micro.Tile[float32]{Rows: a.M, K: k, Segments: 1, Outer: 1, CRow: p.lineC, BK: width, Pairs: true, ALine: sizeA, BLine: sizeB}
	for line := lines - 1; line >= 0; line-- { // the first line last, because the tile begins there
		j.setA(&t, blockA[line*sizeA:], a.A[at(a.StrideA, line):], 0, 0, false)
		j.packPanels(c.panels[line*sizeB:][:sizeB], c.lines, a.B[at(a.StrideB, line):], 0, k, 0, a.N)
	}
	if t.Lines = lines; p.inPlace {
		t.ALine = a.StrideA[axis] / 2
	}
	if !p.passes(a) {
		t.CLine = len(c.sums) / p.lines
	}
	var bias []float32
	if a.Bias != nil {
		bias = c.lines[:a.N]
		a.Type.Widen(bias, a.Bias[:a.N])
	}
	for col := 0; col < a.N; col += width {
		t.B, t.C, t.Cols = c.panels[col*k:], c.sums[col:], min(width, a.N-col)
		to := micro.Rounding{C: a.C[at(a.StrideC, 0)+col:], Row: a.LDC, Line: a.StrideC[axis], ReLU: a.ReLU}
		if bias != nil {
			to.Bias = bias[col:]
		}
		j.runTile(t, a.M, &to)
	}
	return lines
}
