package conv

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// Transposed is [BackwardData] as a layer. It adds an optional bias (nil, or one number for each input channel of the
// shape, since these are the channels of the result) and applies max(·, 0) if relu is set.
func Transposed[T Float](p *pool.Pool, s *Shape, dy, kernel, bias []T, relu bool, dx, scratch []T) {
	n := s.checked(ofData)
	n.need("dx", len(dx), n.sizeX())
	n.need("kernel", len(kernel), n.sizeKernel())
	n.need("dy", len(dy), n.sizeY())
	n.need("scratch", len(scratch), TransposedScratch[T](s, p.Size(), bias != nil))
	if bias != nil {
		n.need("bias", len(bias), s.InChannels)
	}
	if bias != nil && n.InChannels != s.InChannels { // a channel of the product stands for several pixels
		BackwardData(p, &n, dy, kernel, dx, scratch)
		addBias(dx[:n.sizeX()], bias, relu)
		return
	}
	if n.without() {
		computeBias(dx[:n.sizeX()], bias, relu)
		return
	}
	if n.pointwise() {
		a := pointwiseData(&n, dy, kernel, dx)
		a.Bias, a.ReLU = bias, relu
		runProduct(p, a, scratch)
		return
	}
	if coversChannels[T](&n) {
		runCovered(p, &n, ofData, dx, kernel, bias, relu, dy)
		return
	}
	if abreast[T](&n, ofData) && (bias == nil && !relu || n.InChannels == n.OutChannels) {
		runAbreast(p, &n, ofData, floats(dx), floats(kernel), floats(bias), relu, floats(dy), floats(scratch))
		return
	}
	if splitsGradients[T](&n, ofData) && (bias == nil && !relu || !n.unfoldsRows(ofData)) {
		splitUp(p, &n, ofData, floats(dx), floats(kernel), floats(bias), relu, floats(dy), floats(scratch))
		return
	}
	if g, ok := newTapRows[T](&n, ofData); ok {
		runTapRows(p, &g, ofData, floats(dy), floats(kernel), floats(bias), relu, floats(dx), floats(scratch))
		return
	}
	if (bias != nil || relu) && (abreast[T](&n, ofData) || splitsGradients[T](&n, ofData) || overlaps[T](&n) || repeats[T](&n, ofData) || planesData[T](&n) || isWideData[T](&n)) { // results are sums of what is computed
		BackwardData(p, s, dy, kernel, dx, scratch)
		addBias(dx[:n.sizeX()], bias, relu)
		return
	}
	if overlaps[T](&n) {
		backwardOverlapped(p, &n, floats(dy), floats(kernel), floats(dx[:n.sizeX()]), floats(scratch))
		return
	}
	if repeats[T](&n, ofData) {
		r := n.repeated()
		to := scratch[:r.sizeX()]
		BackwardData(p, &r, dy, kernel, to, scratch[len(to):])
		runFilters(p, dx[:n.sizeX()], to, true)
		return
	}
	if planesData[T](&n) {
		backwardDataPlanes(p, &n, dy, kernel, dx, scratch)
		return
	}
	transposedTiles(p, &n, dy, kernel, bias, relu, dx, scratch)
}

// transposedTiles is [Transposed] in the general case.
func transposedTiles[T Float](p *pool.Pool, n *Shape, dy, kernel, bias []T, relu bool, dx, scratch []T) {
	c, k := getCorrelation[T](), getPacking[T]()
	c.backward(n)
	c.x, c.y, c.bias, c.relu = dy[:n.sizeY()], dx[:n.sizeX()], bias, relu
	c.outs, c.joins = n.In, true
	if c.packed && !isWideData[T](n) {
		c.local = scratch[backwardPanels[T](n):]
	} else if c.depthwise && !isWideData[T](n) {
		c.local = scratch[n.sizeKernel():]
	}
	c.frame = framesBackward[T](n)
	k.kernel, k.shape, k.flip, k.lanes = kernel, *n, true, c.lanes
	k.groups = n.Groups
	backwardPhases(p, n, c, k, scratch)
	putPacking(k)
	putCorrelation(c)
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
