package conv

import "github.com/gokeras/gokeras/kernels/cpu/internal/micro"

// What small images cost if their taps become columns (spread.go) is mostly overhead: of calls for the products of some
// rows, and of calls that add them up for the outputs that see the same taps. These estimates follow measurements of
// 823 random shapes on Zen 4, of which half are within 7 % of them.

const (
	spreadFew     = 16   // most outputs of a group for which other ways may cost less
	spreadCall    = 1950 // half cycles of overhead for the products of some rows,
	spreadSpan    = 830  // to add products for outputs that see the same taps,
	spreadOutputs = 52   // and to add those of an output
)

// pays reports whether the spread costs less than the other ways. Only vectors of 16 numbers were measured; volumes and
// sequences lost.
func (s *spread) pays(c *correlation[float32]) bool {
	if micro.PadColumns[float32](1) != 16 || c.outGroup > spreadFew || c.axes[0].taps > 1 || c.axes[0].out > 1 || c.axes[1].taps == 1 {
		return true
	}
	axes := c.axes
	c.square()
	c.cutSpans()
	mine := s.cost(c)
	var f frame
	f.join(&c.axes)
	other := c.frameCosts(&f)
	c.axes = axes
	return mine < min(other.now, other.then+f.copyCost(c.in)) || !bySpreadCosts.Taken()
}

// cost estimates the half cycles for an image.
func (s *spread) cost(c *correlation[float32]) (sum int) {
	ax := &c.axes
	low, high := ax[2].seen(0, ax[2].out)
	vectors := ceil(s.columns, 16)
	for d := range ax[0].out {
		td, tdEnd := ax[0].inside(d)
		for _, h := range c.spans[1] {
			rows, taps := h.end-h.first, (tdEnd-td)*(h.tapEnd-h.tap)
			if taps == 0 {
				continue
			}
			calls := ceil(rows, s.lines) * ceil(ax[2].out, s.outputs)
			sum += 2*rows*(high-low)*taps*c.inGroup*vectors + calls*ceil(vectors, 2)*spreadCall + rows*ax[2].out*spreadOutputs
			for _, w := range c.spans[2] {
				if w.tap < w.tapEnd {
					sum += calls * spreadSpan
				}
			}
		}
	}
	return sum * c.groups
}
