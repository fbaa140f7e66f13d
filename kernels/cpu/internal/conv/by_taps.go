package conv

// Short rows are mostly edges: a row of eight pixels under a window of five has spans of 1, 1, 4, 1 and 1 outputs that
// see the same taps. Such spans leave tiles mostly empty, and each reads all weights. Where it is less work, the taps
// along the width are added one after the other instead, each for all outputs that see it, which is most of the row.
// The outputs start as zeros; the taps that all outputs see come last, with the bias.

const (
	tapCall  = 60 // half cycles of overhead for a tile
	tapStore = 3  // half cycles for each vector that a tile adds to memory
)

// setRuns groups the taps along the width into runs that the same outputs see, if rows are to be computed by taps. The
// decision ignores the batch, whose size must not change bits, and the height, since images may come in bands of rows.
func (c *correlation[T]) setRuns() {
	c.runs = c.runs[:0]
	image := c.axes[0].out == 1 && c.axes[0].taps == 1 && (c.axes[1].out > 1 || c.axes[1].taps > 1)
	if image || c.depthwise || c.wide.on || c.lanes > 0 || c.spread.columns > 0 || len(c.spans[2]) < 2 || c.inGroup == 0 {
		return
	}
	if c.runs = c.axes[2].runs(c.runs); len(c.runs) > 0 && 10*c.cost(c.runs, true) > 9*c.cost(c.spans[2], false) {
		c.runs = c.runs[:0]
	}
}

// runs appends to s the runs of taps that the same outputs see, the run that all outputs see last. It appends nothing
// if there is no such run.
func (a *axis) runs(s []span) []span {
	var all span
	for tap := 0; tap < a.taps; {
		first, end := a.outputs(tap)
		next := tap + 1
		for ; next < a.taps; next++ {
			if f, e := a.outputs(next); f != first || e != end {
				break
			}
		}
		switch {
		case first == 0 && end == a.out:
			all = span{0, a.out, tap, next}
		case first < end:
			s = append(s, span{first, end, tap, next})
		}
		tap = next
	}
	if all.tap == all.tapEnd {
		return s[:0]
	}
	return append(s, all)
}

// cost estimates the half cycles that one panel takes for all outputs of a plane, if rows are cut as widths says.
func (c *correlation[T]) cost(widths []span, adds bool) int {
	vectors, sum := min(ceil(c.outGroup, 16), 2), 0
	for _, h := range c.spans[1] {
		for _, w := range widths {
			rows, lines := w.end-w.first, h.end-h.first
			if fill(lines) > fill(rows) {
				rows, lines = lines, rows
			}
			k := c.axes[0].taps * (h.tapEnd - h.tap) * (w.tapEnd - w.tap) * c.inGroup
			for ; rows > 0; rows -= fullRows {
				r := min(rows, fullRows)
				one := max(r*vectors, 8)*k + tapCall
				if adds {
					one += tapStore * r * vectors
				}
				sum += lines * one
			}
		}
	}
	return sum
}

// byTaps computes the columns [col, col+cols) of group g by taps, for the outputs of a span along the height.
func (c *correlation[T]) byTaps(n, d int, h span, g, col, cols int) {
	ax := &c.axes
	for image := n; image < min(n+c.images, c.batch); image++ {
		for j := h.first; j < h.end; j++ {
			row := c.y[((image*c.outs[0]+ax[0].outStart+d*ax[0].outStep)*c.outs[1]+ax[1].outStart+j*ax[1].outStep)*c.outs[2]*c.out+g*c.outGroup+col:]
			for i := range ax[2].out {
				clear(row[(ax[2].outStart+i*ax[2].outStep)*c.out:][:cols])
			}
		}
	}
	for i, w := range c.runs {
		part := adds
		if i == len(c.runs)-1 {
			part = addsLast
		}
		c.rectangle(n, d, h, w, g, col, cols, part)
	}
}

// part says how the products of a rectangle are stored.
type part int

const (
	whole    part = iota // all taps that its outputs see
	adds                 // some taps, added to memory
	addsLast             // the last taps, also added
)
