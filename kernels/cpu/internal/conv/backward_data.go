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
	n := s.checked(ofData)
	bias = bias && n.InChannels == s.InChannels
	if n.pointwise() {
		a := pointwiseData[T](&n, nil, nil, nil)
		if bias {
			a.Bias = []T{}
		}
		return gemm.ScratchSize(&a, workers)
	}
	if coversChannels[T](&n) {
		return 0
	}
	if abreast[T](&n, ofData) {
		return abreastScratch(&n, workers, ofData)
	}
	if splitsGradients[T](&n, ofData) {
		return splitScratch(&n, workers, ofData, bias && !n.unfoldsRows(ofData))
	}
	if overlaps[T](&n) {
		return n.overlapScratch(workers)
	}
	if g, ok := newTapRows[T](&n, ofData); ok {
		return g.scratch(ofData, workers)
	}
	if isWideData[T](&n) {
		size, out := 0, n.Out()
		for h := n.nextPhase(1, 0); h < n.phases(1); h = n.nextPhase(1, h+1) {
			for at := n.nextPhase(2, 0); at < n.phases(2); at = n.nextPhase(2, at+1) {
				height, width := n.backwardPhase(1, h, out), n.backwardPhase(2, at, out)
				w := backwardWide[T](&n, n.mostPlanes(), &height.axis, &width.axis)
				size = max(size, w.size(volume(n.Kernel), workers))
			}
		}
		return n.sizeKernel() + size
	}
	if n.depthwise() {
		return n.sizeKernel() + copiesBackward[T](&n)*max(workers, 1)
	}
	if repeats[T](&n, ofData) {
		r := n.repeated()
		return r.sizeX() + BackwardDataScratch[T](&r, workers)
	}
	if planesData[T](&n) {
		most, last := n.planesShapes()
		return n.planesScratch() + max(BackwardDataScratch[T](&most, workers), BackwardDataScratch[T](&last, workers))
	}
	size := backwardPanels[T](&n) + spreadBackward[T](&n)*max(workers, 1)
	if f := framesBackward[T](&n); f.on() {
		size += f.scratch(n.Batch, n.OutChannels, workers)
	}
	return size
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

// backwardPhases computes the phases of an input gradient. It packs their kernels into scratch memory.
func backwardPhases[T Float](p *pool.Pool, n *Shape, c *correlation[T], k *packing[T], scratch []T) {
	out, wide := n.Out(), isWideData[T](n)
	together, local := n.together() && !wide, spreadBackward[T](n)
	copies, copiesLocal := slidesCopies[T](n) && n.Strides[2] == 1, copiesBackward[T](n)
	list := getPhases[T]()
	for d := range n.phases(0) {
		list.list = list.list[:0]
		to := scratch
		for h := range n.phases(1) {
			for w := range n.phases(2) {
				k.phases = [3]phase{n.backwardPhase(0, d, out), n.backwardPhase(1, h, out), n.backwardPhase(2, w, out)}
				for i := range c.axes {
					c.axes[i] = k.phases[i].axis
				}
				if c.spread = (spread{}); !wide {
					c.setSpreadBackward()
					c.spread.local = local // shared by all phases, because workers may be in different ones at the same time
					c.setCopies(copies && c.axes[1].taps > 0)
					c.copies.local = copiesLocal
				}
				k.arrange([3]int{c.axes[0].taps, c.axes[1].taps, c.axes[2].taps}, c.inGroup, c.outGroup, c.spread.columns)
				k.dst = to
				switch {
				case wide:
					k.flippedChannels()
					c.wide = backwardWide[T](n, n.mostPlanes(), &c.axes[1], &c.axes[2])
					c.wide.prepare(scratch, nil, scratch[n.sizeKernel():], c.axes[0].taps*c.axes[1].taps*c.axes[2].taps)
				case c.depthwise:
					k.flippedChannels()
				default:
					k.run(p)
				}
				if c.w = to; together {
					list.add(c)
					to = to[k.size():]
					continue
				}
				runFramed(p, c, nil)
			}
		}
		if together {
			runFramed(p, c, list)
		}
	}
	putPhases(list)
}
