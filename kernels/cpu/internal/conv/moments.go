package conv

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// Moments computes the moments of the channels of a convolution's result, block by block while the rows are in the
// cache. Batch normalization needs them, and so need not read the result first.
type Moments[T Float] struct {
	shape Shape
	rows  []int // pixels of each block
}

// maxPointwise is the largest number of input channels for which a convolution that is a matrix product is computed
// here. Longer sums need the blocks of package gemm.
const maxPointwise = 128

// NewMoments returns the blocks of a shape. It returns nil if reading the result again costs less, or if the result is
// empty. The blocks depend on the shape alone.
func NewMoments[T Float](s *Shape) *Moments[T] {
	m := &Moments[T]{shape: s.checked(ofForward)}
	if _, rows := newTapRows[T](&m.shape, ofForward); rows || m.shape.without() || m.shape.unfolds() || abreast[T](&m.shape, ofForward) || splitsForward[T](&m.shape) || repeats[T](&m.shape, ofForward) || planes[T](&m.shape) || apart[T](&m.shape) || framesMoments[T](&m.shape) || m.shape.pointwise() && m.shape.InChannels > maxPointwise {
		return nil
	}
	c := getCorrelation[T]()
	defer putCorrelation(c)
	c.forward(&m.shape)
	c.gathers = true
	if isWideForward[T](&m.shape) {
		c.wide = forwardWide[T](&m.shape)
	}
	chunks, _ := c.cut(1)
	if chunks == 0 {
		return nil
	}
	pieces := c.pieces()
	for i := range chunks * pieces {
		first := i / pieces % c.rowChunks * c.rows
		end := min(first+c.rows, c.axes[1].out)
		first += i % pieces * c.block
		m.rows = append(m.rows, max(min(first+c.block, end)-first, 0)*c.axes[2].out)
	}
	return m
}

// Rows returns the number of pixels of each block; some may have none.
func (m *Moments[T]) Rows() []int { return m.rows }

// Scratch returns the number of elements of scratch memory that Forward needs.
func (m *Moments[T]) Scratch(workers int) int {
	if isWideForward[T](&m.shape) {
		return ForwardScratch[T](&m.shape, workers)
	}
	return panelsScratch[T](&m.shape, workers)
}

// Forward is [Forward]. It also stores, for each block, the means of all channels and then the sums of squared
// differences from them. For blocks without pixels it stores nothing.
func (m *Moments[T]) Forward(p *pool.Pool, x, kernel, bias []T, relu bool, y, scratch []T, moments []float64) {
	n := &m.shape
	n.need("x", len(x), n.sizeX())
	n.need("kernel", len(kernel), n.sizeKernel())
	n.need("y", len(y), n.sizeY())
	n.need("scratch", len(scratch), m.Scratch(p.Size()))
	n.need("moments", len(moments), 2*len(m.rows)*n.OutChannels)
	if bias != nil {
		n.need("bias", len(bias), n.OutChannels)
	}
	c := getCorrelation[T]()
	c.forward(n)
	c.x, c.y, c.w, c.bias, c.relu = x[:n.sizeX()], y[:n.sizeY()], kernel, bias, relu
	c.moments, c.gathers = moments, true
	switch {
	case isWideForward[T](n):
		c.wide = forwardWide[T](n)
		c.wide.prepare(kernel, bias, scratch, volume(n.Kernel))
	case c.copies.unit > 0:
		c.local = scratch
	case c.packed:
		c.w, c.local = packKernel(p, n, c.spread.columns, kernel, scratch)
	}
	c.run(p)
	putCorrelation(c)
}

// pieces is the number of blocks of a chunk.
func (c *correlation[T]) pieces() int { return ceil(c.rows, c.block) }

// gather computes the rows [first, end) of an image, which form a chunk, and their moments.
func (c *correlation[T]) gather(worker, chunk, image, first, end int) {
	pixel := c.outs[2] * c.out
	for i := 0; first < end; i++ {
		last := min(first+c.block, end)
		c.compute(worker, image, first, last, 0)
		y := c.y[(image*c.outs[1]+first)*pixel : (image*c.outs[1]+last)*pixel]
		m := c.moments[2*(chunk*c.pieces()+i)*c.out:][:2*c.out]
		vec.Moments(m[:c.out], m[c.out:], y, (last-first)*c.outs[2], c.out)
		first = last
	}
}
