package conv

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// Moments computes the moments of the channels of a convolution's result, block by block while the rows are in the
// cache. Batch normalization needs them, and so need not read the result first.
type Moments[T Float] struct {
	decided decisions
	rows    []int // pixels of each block
}

// maxPointwise is the largest number of input channels for which a convolution that is a matrix product is computed
// here. Longer sums need the blocks of package gemm.
const maxPointwise = 128

// NewMoments returns the blocks of a shape. It returns nil if reading the result again costs less, or if the result is
// empty. The blocks depend on the shape alone.
func NewMoments[T Float](s *Shape) *Moments[T] {
	m := &Moments[T]{}
	d := &m.decided
	decide[T](d, s, ofForward)
	switch {
	case d.frame.on(): // small images: of 60 such shapes, none gained and those of few channels lost up to a third
		return nil
	case d.way == wayTiles, d.way == wayPad, d.way == wayCovered:
	case d.way != wayProduct || d.shape.InChannels > maxPointwise:
		return nil
	}
	d.tiles = &rememberedTiles{list: make([]correlation[float32], 1)}
	c := correlationOf[T](d.tiles, 0)
	m.set(c)
	c.keeps = true
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

// set sets up the correlation, except for its memory.
func (m *Moments[T]) set(c *correlation[T]) {
	setForward(c, &m.decided)
	c.joins, c.gathers = false, true
}

// Rows returns the number of pixels of each block; some may have none.
func (m *Moments[T]) Rows() []int { return m.rows }

// Scratch returns the number of elements of scratch memory that Forward needs.
func (m *Moments[T]) Scratch(workers int) int {
	n := &m.decided.shape
	if isWideForward[T](n) {
		return ForwardScratch[T](n, workers)
	}
	return panelsScratch[T](n, &frame{}, workers)
}

// Forward is [Forward]. It also stores, for each block, the means of all channels and then the sums of squared
// differences from them. For blocks without pixels it stores nothing.
func (m *Moments[T]) Forward(p *pool.Pool, x, kernel, bias []T, relu bool, y, scratch []T, moments []float64) {
	d := &m.decided
	n := &d.shape
	n.need("x", len(x), d.x)
	n.need("kernel", len(kernel), d.kernel)
	n.need("y", len(y), d.y)
	n.need("scratch", len(scratch), m.Scratch(p.Size()))
	n.need("moments", len(moments), 2*len(m.rows)*n.OutChannels)
	if bias != nil {
		n.need("bias", len(bias), n.OutChannels)
	}
	remembered := d.tiles.take()
	var c *correlation[T]
	if remembered {
		c = correlationOf[T](d.tiles, 0)
	} else {
		c = getCorrelation[T]()
		m.set(c)
	}
	c.moments = moments
	runForward(p, d, c, x, kernel, bias, relu, y, scratch)
	if remembered {
		d.tiles.release()
		return
	}
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
