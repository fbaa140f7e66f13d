package conv

// Rows of few outputs are mostly edges: a row of eight pixels under a window of five has spans of 1, 1, 4, 1 and 1
// outputs that see the same taps, which leave tiles empty, and each of which reads all weights. Where that is less
// work, the taps along the width are added one after the other instead: each for all outputs that see it, which are
// most of the row. What they add to starts as zeros, and the taps that all outputs see come last, with the bias.

const (
	tapCall  = 60 // what a tile costs besides its products, in half cycles
	tapStore = 3  // and for each vector that it adds to memory
)

// setRuns cuts the taps along the width into runs of those that the same outputs see, if the rows are computed by taps.
// The batch has no say, so that its size does not change bits. Nor do images, which may come in bands of rows.
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

// runs appends the runs of taps that the same outputs see to s, those that all outputs see last; nothing if there are
// no such taps.
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

// cost estimates the half cycles for a panel of all outputs of a plane along the height, cut along the width as given.
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

// byTaps computes the columns [col, col+cols) of group g of the outputs of a span along the height by taps.
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

// part says how a rectangle of products is stored.
type part int

const (
	whole    part = iota // all that its outputs see
	adds                 // a part, which is added
	addsLast             // the last part
)
