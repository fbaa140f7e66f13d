package conv

import "github.com/gokeras/gokeras/kernels/cpu/internal/isa"

// Estimates of the time of bands (banded.go) and of what they replace. They follow measurements of several hundred
// shapes on Zen 4, AVX-512 and AVX2: of half of the shapes, bands are within 8 % of their estimate, and tiles within a
// third.

const (
	bandStore  = 5   // half cycles to store a vector,
	bandMasked = 30  // a part of one with AVX2,
	bandHalf   = 48  // terms of a sum from which on a part takes half a vector
	bandCall   = 750 // of overhead for the rows of a chunk that share a matrix,
	bandWeight = 6   // and for an element of a matrix
	bandPays   = 80  // percentage of the other cost up to which bands pay
)

// lineCost estimates the half cycles for a line of the result that sees that many taps of the other axes.
func (g *bands) lineCost(taps int) (sum int) {
	for r := g.next(0); r.pieces > 0; r = g.next(r.first + r.pieces*g.pixels) {
		columns, terms := r.pixels*g.to, taps*(r.high-r.low)*g.sums
		vectors := ceil(columns, g.lanes)
		one := vectors * (g.halves*terms + bandStore)
		if g.halves == 1 && columns%g.lanes != 0 {
			one += bandMasked
		}
		if rest := columns - (vectors-1)*g.lanes; g.halves > 1 && 2*rest <= g.lanes && isa.HalfUnits() && (2*rest == g.lanes || terms >= bandHalf) {
			one -= terms * 4 / 5
		}
		sum += r.pieces * one
	}
	return sum
}

// imageCost estimates the half cycles for an image, and counts the calls for all.
func (g *bands) imageCost(s *Shape) (cost, calls int) {
	r := getBandsRun[float32]()
	defer putBandsRun(r)
	r.bands = *g
	r.setAxes(s)
	runs, lines := 0, 0
	for b := g.next(0); b.pieces > 0; b = g.next(b.first + b.pieces*g.pixels) {
		runs++
	}
	for i := range r.planes {
		ad := &r.planes[i].axis
		for d := range ad.out {
			first, end := ad.inside(d)
			for k := range r.lines {
				lines += runs
				for _, h := range r.spans[k] {
					cost += (h.end - h.first) * g.lineCost((end-first)*(h.tapEnd-h.tap))
					calls += runs
				}
			}
		}
	}
	r.batch = s.Batch
	if r.cut(1, s); r.out[0] == 1 {
		calls += lines * (r.blocks - 1)
	}
	return cost, calls * ceil(r.batch, r.images)
}

// otherCost is what another way costs: the half cycles for an image, alone and among many.
type otherCost struct {
	alone, many int
	same        bool // sums are in the same order, so that the batch and the height may decide
}

// bandsPay reports whether bands cost less than the way that was chosen.
func bandsPay[T Float](d *decisions, o operation) bool {
	n := d.shape
	switch d.way {
	case wayTiles, wayPad, wayTapRows, wayOverlap:
	default:
		return false
	}
	g, ok := newBands[T](&n, o)
	if !ok {
		return false
	}
	d.bands = g
	other := otherOf[T](d, &n, o)
	if !other.same {
		n = n.squared()
		n.Batch = 1
		if g, ok = newBands[T](&n, o); !ok {
			return false
		}
		other = otherOf[T](d, &n, o)
	}
	image, calls := g.imageCost(&n)
	once, batch := bandCall*calls+bandWeight*g.size, n.Batch
	switch {
	case other.same && batch < joinLeast:
		return 100*(image*batch+once) < bandPays*other.alone*batch && byBands.Taken()
	case other.same:
		return 100*(image*batch+once) < bandPays*other.many*batch && byBands.Taken()
	}
	return 100*(image+once) < bandPays*other.alone && 100*(image+once/joinImages) < bandPays*other.many && byBands.Taken()
}

// squared takes images to be square.
func (s *Shape) squared() Shape {
	n := *s
	if n.In[0] != 1 || n.Kernel[0] != 1 || n.In[1] == 1 && n.Kernel[1] == 1 {
		return n
	}
	n.In[1], n.PadLow[1], n.PadHigh[1] = n.In[2], 0, 0
	if n.PadLow[2] > 0 {
		n.PadLow[1] = (n.Kernel[1] - 1) * n.Dilation[1] / 2
		n.PadHigh[1] = (n.Kernel[1]-1)*n.Dilation[1] - n.PadLow[1]
	}
	return n
}

// otherOf estimates the way that was chosen.
func otherOf[T Float](d *decisions, n *Shape, o operation) (cost otherCost) {
	switch d.way {
	case wayTapRows:
		cost.alone = d.rows.imageCost()
		cost.many = cost.alone
		return cost
	case wayOverlap:
		cost.alone = n.overlapCost()
		cost.many = cost.alone
		return cost
	}
	c := getCorrelation[T]()
	defer putCorrelation(c)
	if o == ofForward {
		c.forward(n)
		cost.same = c.spread.columns == 0
	} else {
		cost.same = spreadBackward[T](n) == 0
		c.backward(n)
		c.outs = n.In
	}
	c.copies = slideCopies{}
	tilesCost(c, n, o, &cost)
	if !cost.same {
		cost.alone, cost.many = cost.alone/2, cost.many/2
	}
	return cost
}

// tilesCost estimates tiles: with zeros around copies if that is better, and with joined images.
func tilesCost[T Float](c *correlation[T], n *Shape, o operation, cost *otherCost) {
	var f frame
	each := func(use func(axes [3]axis, count int)) bool {
		if o == ofForward {
			use(c.axes, 1)
			return true
		}
		return n.eachPhase(use)
	}
	if !each(func(axes [3]axis, _ int) { f.join(&axes) }) { // too many phases to look at
		cost.alone, cost.many = 1<<40, 1<<40
		return
	}
	now, then, joined := 0, 0, 0
	each(func(axes [3]axis, count int) {
		c.axes = axes
		one := c.frameCosts(&f)
		now, then = now+one.now*count, then+(one.then+f.copyCost(c.in))*count
		cost.same = cost.same && !one.reorders
		if c.cutSpans(); one.joins {
			one.now = c.joinedCost()
		}
		joined += one.now * count
	})
	cost.alone, cost.many = min(now, then), min(joined, then)
}
