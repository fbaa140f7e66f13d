package conv

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// Transposed is [BackwardData] as a layer. It adds an optional bias (nil, or one number for each input channel of the
// shape, since these are the channels of the result) and applies max(·, 0) if relu is set.
func Transposed[T Float](p *pool.Pool, s *Shape, dy, kernel, bias []T, relu bool, dx, scratch []T) {
	var local decisions
	d := decisionsOf[T](s, ofData, &local)
	n := &d.shape
	folded := n.InChannels != s.InChannels // a channel of the product stands for several pixels
	n.need("dx", len(dx), d.x)
	n.need("kernel", len(kernel), d.kernel)
	n.need("dy", len(dy), d.y)
	n.need("scratch", len(scratch), scratchOf[T](d, ofData, p.Size(), bias != nil && !folded))
	if bias != nil {
		n.need("bias", len(bias), s.InChannels)
	}
	if (bias != nil || relu) && (bias != nil && folded || d.sumsData()) {
		transposed(p, d, dy, kernel, nil, false, dx, scratch)
		addBias(dx[:d.x], bias, relu)
		return
	}
	transposed(p, d, dy, kernel, bias, relu, dx, scratch)
}

// sumsData reports whether input gradients are sums of what is computed, so that a bias is added in the end.
func (d *decisions) sumsData() bool {
	n := &d.shape
	switch d.way {
	case wayAbreast:
		return n.InChannels != n.OutChannels
	case waySplit:
		return n.unfoldsRows(ofData)
	case wayTiles:
		return d.phases.wide
	}
	return d.way == wayOverlap || d.way == wayRepeat || d.way == wayPlanes
}

// transposed is [Transposed] for what was decided.
func transposed[T Float](p *pool.Pool, d *decisions, dy, kernel, bias []T, relu bool, dx, scratch []T) {
	n := &d.shape
	switch d.way {
	case wayEmpty:
		computeBias(dx[:d.x], bias, relu)
	case wayProduct:
		a := pointwiseData(n, dy, kernel, dx)
		a.Bias, a.ReLU = bias, relu
		runProduct(p, a, scratch)
	case wayCovered:
		runCovered(p, n, ofData, dx, kernel, bias, relu, dy)
	case wayAbreast:
		runAbreast(p, d, ofData, floats(dx), floats(kernel), floats(bias), relu, floats(dy), floats(scratch))
	case waySplit:
		splitUp(p, d, ofData, floats(dx), floats(kernel), floats(bias), relu, floats(dy), floats(scratch))
	case wayTapRows:
		runTapRows(p, &d.rows, ofData, floats(dy), floats(kernel), floats(bias), relu, floats(dx), floats(scratch))
	case wayOverlap:
		backwardOverlapped(p, n, floats(dy), floats(kernel), floats(dx[:d.x]), floats(scratch))
	case wayRepeat:
		r := &d.parts[0]
		to := scratch[:r.sizeX()]
		BackwardData(p, r, dy, kernel, to, scratch[len(to):])
		runFilters(p, dx[:d.x], to, true)
	case wayPlanes:
		backwardDataPlanes(p, d, dy, kernel, dx, scratch)
	default:
		transposedTiles(p, d, dy, kernel, bias, relu, dx, scratch)
	}
}

// addBias adds the bias to every pixel, and applies max(·, 0).
func addBias[T Float](y, bias []T, relu bool) {
	var several [128]T // pixels of few channels
	if n := len(bias); n > 0 && 2*n <= len(several) {
		for i := range len(several) / n {
			copy(several[i*n:], bias)
		}
		bias = several[:len(several)/n*n]
	}
	for i := 0; len(bias) > 0 && i < len(y); i += len(bias) {
		part := y[i:min(i+len(bias), len(y))]
		vec.Add(part, part, bias[:len(part)])
	}
	if relu {
		vec.Relu(y, y)
	}
}

// backward sets up the input gradient of the shape, except for its memory and axes.
func (c *correlation[T]) backward(n *Shape) {
	c.batch, c.groups, c.depthwise, c.packed = n.Batch, n.Groups, n.depthwise(), !n.depthwise()
	c.slides, c.lanes, c.pairs = slides[T](n), groupedLanes[T](n), n.Pairs
	c.in, c.inGroup = n.OutChannels, n.OutChannels/n.Groups
	c.out, c.outGroup = n.InChannels, n.InChannels/n.Groups
}
