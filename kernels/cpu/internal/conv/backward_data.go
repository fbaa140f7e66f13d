package conv

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// BackwardDataScratch returns the number of elements of scratch memory that BackwardData needs: a flipped copy of the
// kernel, and copies of rows for some depthwise shapes.
func BackwardDataScratch[T Float](s *Shape, workers int) int {
	return TransposedScratch[T](s, workers, false)
}

// TransposedScratch returns the number of elements of scratch memory that [Transposed] needs. It depends on whether
// there is a bias, because a matrix product with a bias may be cut up differently.
func TransposedScratch[T Float](s *Shape, workers int, bias bool) int {
	var local decisions
	d := decisionsOf[T](s, ofData, &local)
	return scratchOf[T](d, ofData, workers, bias && d.shape.InChannels == s.InChannels)
}

// dataScratch is the same for what was decided.
func dataScratch[T Float](d *decisions, workers int, bias bool) int {
	n := &d.shape
	switch d.way {
	case wayEmpty, wayCovered:
		return 0
	case wayProduct:
		a := pointwiseData[T](n, nil, nil, nil)
		if bias {
			a.Bias = []T{}
		}
		return gemm.ScratchSize(&a, workers)
	case wayAbreast:
		return abreastScratch(n, &d.abreast, workers)
	case waySplit:
		return splitScratch(d, ofData, workers, bias && !n.unfoldsRows(ofData))
	case wayOverlap:
		return n.overlapScratch(workers)
	case wayTapRows:
		return d.rows.scratch(ofData, workers)
	case wayRepeat:
		return d.parts[0].sizeX() + scratchOfParts[T](d, ofData, workers, false)
	case wayPlanes:
		return n.planesScratch() + scratchOfParts[T](d, ofData, workers, false)
	}
	size := 0
	switch g := &d.phases; {
	case g.wide:
		for h := n.nextPhase(1, 0); h < n.phases(1); h = n.nextPhase(1, h+1) {
			for at := n.nextPhase(2, 0); at < n.phases(2); at = n.nextPhase(2, at+1) {
				height, width := n.backwardPhase(1, h, g.out), n.backwardPhase(2, at, g.out)
				w := backwardWide[T](n, n.mostPlanes(), &height.axis, &width.axis)
				size = max(size, w.size(volume(n.Kernel), workers))
			}
		}
	case n.depthwise():
		size = g.copiesLocal * max(workers, 1)
	default:
		size = g.spreadLocal * max(workers, 1)
		if d.frame.on() {
			size += d.frame.scratch(n.Batch, n.OutChannels, workers)
		}
	}
	return d.phases.panels + size
}

// backwardPanels returns the number of elements that the kernel's panels for its input gradient take, over all phases.
func backwardPanels[T Float](s *Shape) int {
	return volume(s.Kernel) * s.OutChannels * packedColumns[T](s, s.InChannels/s.Groups)
}

// backwardWide returns the geometry of an input gradient along the width: every filter of a channel counts as a
// channel, and their sums are added.
func backwardWide[T Float](s *Shape, planes int, height, width *axis) wideCorrelation[T] {
	return wideCorrelation[T]{wide: newWide[T](planes, height, width, s.OutChannels, 1), on: true, fold: s.OutChannels / s.InChannels, apart: width.outStep}
}

// mostPlanes returns the largest number of taps that a phase has along the depth.
func (s *Shape) mostPlanes() int {
	return ceil(s.Kernel[0], s.Strides[0]/gcd(s.Strides[0], s.Dilation[0]))
}

// BackwardData computes dx, the gradient with respect to the convolution's input, from dy, the one with respect to its
// output:
//
//	dx[n, i, c] = Σ_{o, t: o·stride − padLow + t·dilation = i} Σ_k dy[n, o, k] · kernel[t, c, k]
//
// It is also the transposed convolution of dy.
func BackwardData[T Float](p *pool.Pool, s *Shape, dy, kernel, dx, scratch []T) {
	Transposed(p, s, dy, kernel, nil, false, dx, scratch)
}

// dataPhases is what the phases of an input gradient have in common.
type dataPhases struct {
	out          [3]int
	wide         bool // see wide.go
	together     bool // see phases.go
	copies       bool // see slide_copies.go
	panels       int  // elements of the kernels of all phases
	spreadLocal  int  // scratch memory of a worker in the phase that needs most: all share it, because workers may be in different ones at the same time
	copiesLocal  int  // the same for copies
	count, lanes int  // of the phases, and of the vectors in which the kernels are packed
}

func dataPhasesOf[T Float](n *Shape) dataPhases {
	g := dataPhases{out: n.Out(), wide: isWideData[T](n), panels: n.sizeKernel(), count: n.phases(0) * n.phases(1) * n.phases(2), lanes: groupedLanes[T](n)}
	g.together = n.together() && !g.wide
	if g.spreadLocal = spreadBackward[T](n); !n.depthwise() {
		g.panels = backwardPanels[T](n)
	}
	g.copies, g.copiesLocal = slidesCopies[T](n) && n.Strides[2] == 1, copiesBackward[T](n)
	return g
}

// phaseAt returns phase i of all.
func (g *dataPhases) phaseAt(n *Shape, i int) [3]phase {
	h, w := n.phases(1), n.phases(2)
	return [3]phase{n.backwardPhase(0, i/(h*w), g.out), n.backwardPhase(1, i/w%h, g.out), n.backwardPhase(2, i%w, g.out)}
}

// setData sets up a correlation for all phases of an input gradient, except for its memory.
func setData[T Float](c *correlation[T], d *decisions) {
	c.backward(&d.shape)
	c.outs, c.joins, c.frame = d.shape.In, true, d.frame
}

// setPhase sets it up for one of them.
func setPhase[T Float](c *correlation[T], d *decisions, phases *[3]phase) {
	g := &d.phases
	for i := range c.axes {
		c.axes[i] = phases[i].axis
	}
	if c.spread = (spread{}); g.wide {
		c.wide = backwardWide[T](&d.shape, d.shape.mostPlanes(), &c.axes[1], &c.axes[2])
		return
	}
	c.setSpreadBackward()
	c.spread.local = g.spreadLocal
	c.setCopies(g.copies && c.axes[1].taps > 0)
	if c.copies.local = g.copiesLocal; c.frame.on() {
		c.axes = c.frame.inside(c.axes)
	}
}

// transposedTiles is [Transposed] in the general case: phase by phase. It packs their kernels into scratch memory.
func transposedTiles[T Float](p *pool.Pool, d *decisions, dy, kernel, bias []T, relu bool, dx, scratch []T) {
	n, g := &d.shape, &d.phases
	remembered := d.tiles.take()
	k, list := getPacking[T](), getPhases[T]()
	var c *correlation[T]
	if !remembered {
		c = getCorrelation[T]()
		setData(c, d)
	}
	k.kernel, k.shape, k.flip, k.lanes, k.groups = kernel, *n, true, g.lanes, n.Groups
	to, plane := scratch, max(n.phases(1)*n.phases(2), 1)
	for i := range g.count {
		if remembered {
			c, k.phases = correlationOf[T](d.tiles, i), d.tiles.phases[i]
		} else {
			k.phases = g.phaseAt(n, i)
			setPhase(c, d, &k.phases)
		}
		c.x, c.y, c.bias, c.relu, c.w = dy[:d.y], dx[:d.x], bias, relu, to
		if !g.wide {
			c.local = scratch[g.panels:]
		}
		packPhase(p, n, c, k, scratch)
		if !g.together {
			runFramed(p, c, nil)
			continue
		}
		list.add(c)
		if to = to[k.size():]; (i+1)%plane == 0 {
			runFramed(p, c, list)
			to, list.list = scratch, list.list[:0]
		}
	}
	putPhases(list)
	putPacking(k)
	if remembered {
		d.tiles.release()
		return
	}
	putCorrelation(c)
}

// packPhase packs the kernel of a phase.
func packPhase[T Float](p *pool.Pool, n *Shape, c *correlation[T], k *packing[T], scratch []T) {
	ax := &k.phases
	k.arrange([3]int{ax[0].axis.taps, ax[1].axis.taps, ax[2].axis.taps}, c.inGroup, c.outGroup, c.spread.columns)
	k.dst = c.w
	switch {
	case c.wide.on:
		k.flippedChannels()
		c.wide.prepare(scratch, nil, scratch[n.sizeKernel():], ax[0].axis.taps*ax[1].axis.taps*ax[2].axis.taps)
	case c.depthwise:
		k.flippedChannels()
	default:
		k.run(p)
	}
}
