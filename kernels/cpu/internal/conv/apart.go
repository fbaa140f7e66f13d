package conv

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// A group of a few inputs has short sums. The other groups' channels lie between one tap and the next, so a contiguous
// sum covers a single tap, and the overhead of a tap exceeds its products. So the groups of a few images are copied
// apart from each other. Then the taps of a row form one sum. The copies include the padding, so all outputs see all
// taps.

const (
	apartInputs  = 6       // most inputs of a group: sums of more are long enough
	apartOutputs = 4       // fewest outputs of a group: copies cost little compared with their products
	apartMax     = 1 << 17 // elements of the copies that each worker has at a time
	apartLimit   = 1 << 22 // elements of the copies of one image
	apartTile    = 40      // cycles of overhead for a tile,
	apartPiece   = 6       // for each contiguous piece of its sums,
	apartCopy    = 3       // and for copying up to four numbers
)

// apart reports whether groups are copied apart. It ignores the batch, whose size must not change bits.
func apart[T Float](s *Shape) bool {
	in, out := s.InChannels/s.Groups, s.OutChannels/s.Groups
	if s.Batch == 0 || s.Groups == 1 || s.Pairs || in < 2 || in > apartInputs || out < apartOutputs || s.Kernel[2] == 1 || s.Dilation[2] > 1 || s.without() {
		return false
	}
	if min(s.PadLow[0], s.PadLow[1], s.PadLow[2], s.PadHigh[0], s.PadHigh[1], s.PadHigh[2]) < 0 || s.apartSize(1) > apartLimit {
		return false
	}
	o := s.Out()
	if volume(o) == 0 || max(s.insideOutputs(1, o), s.insideOutputs(2, o)) <= joinRows { // such shapes join images instead
		return false
	}
	now, then := s.apartCost()
	return then < now && groupedLanes[T](s) == 0 && !spreads[T](s) && !planes[T](s) && byApart.Taken()
}

// apartCost estimates the cycles for one image and group and one panel of the kernel: in place (now), and from a copy
// (then). Outputs at edges are assumed to see three quarters of the taps, each a different subset.
func (s *Shape) apartCost() (now, then int) {
	out := s.Out()
	var parts [3][2]struct{ count, outputs, taps int }
	for i := range parts {
		inside, taps := s.insideOutputs(i, out), s.Kernel[i]
		parts[i][0].count, parts[i][0].outputs, parts[i][0].taps = min(inside, 1), inside, taps
		parts[i][1].count, parts[i][1].outputs, parts[i][1].taps = out[i]-inside, 1, max(3*taps/4, 1)
	}
	in := s.InChannels / s.Groups
	for _, d := range parts[0] {
		for _, h := range parts[1] {
			for _, w := range parts[2] {
				if count := d.count * h.count * w.count; count > 0 {
					now += count * d.outputs * apartTiles(h.outputs, w.outputs, d.taps*h.taps*w.taps, in)
				}
			}
		}
	}
	then = out[0] * apartTiles(out[1], out[2], s.Kernel[0]*s.Kernel[1], s.Kernel[2]*in)
	panels := ceil(s.OutChannels/s.Groups, 16)
	return now * panels, then*panels + apartCopy*s.apartSize(1)/s.InChannels*ceil(in, 4)
}

// insideOutputs returns how many outputs along axis i see all taps.
func (s *Shape) insideOutputs(i int, out [3]int) int {
	ax := s.forwardAxis(i, out)
	first, _ := ax.outputs(0)
	_, end := ax.outputs(ax.taps - 1)
	return max(end-first, 0)
}

// apartTiles estimates the cycles of the tiles of height x width outputs, whose sums consist of that many pieces.
func apartTiles(height, width, pieces, length int) int {
	rows, lines := width, height
	if fill(height) > fill(width) {
		rows, lines = height, width
	}
	tiles := ceil(rows, fullRows)
	return lines * (tiles*(apartTile+pieces*apartPiece) + pieces*length*max(rows, 4*tiles))
}

// apartShape is the convolution of the padded copies of the given number of images.
//
//go:noinline
func (s *Shape) apartShape(images int) Shape {
	r := *s
	r.Batch, r.PadLow, r.PadHigh = images, [3]int{}, [3]int{}
	for i := range r.In {
		r.In[i] += s.PadLow[i] + s.PadHigh[i]
	}
	return r
}

// apartSize is the number of elements of these copies.
//
//go:noinline
func (s *Shape) apartSize(images int) int {
	r := s.apartShape(images)
	return r.sizeX()
}

// apartImages is the number of images that are copied at a time.
func (s *Shape) apartImages(workers int) int {
	return max(min(apartMax*max(workers, 1)/max(s.apartSize(1), 1), s.Batch), 1)
}

// apartScratch returns the number of elements of scratch memory that forwardApart needs.
func apartScratch[T Float](s *Shape, workers int) int {
	return s.apartSize(s.apartImages(workers)) + volume(s.Kernel)*s.InChannels*packedColumns[T](s, s.OutChannels/s.Groups)
}

// forwardApart is [Forward] for shapes whose groups are copied apart.
func forwardApart[T Float](p *pool.Pool, s *Shape, x, kernel, bias []T, relu bool, y, scratch []T) {
	images := s.apartImages(p.Size())
	size := s.apartSize(images)
	imageX, imageY := s.sizeX()/s.Batch, s.sizeY()/s.Batch
	panels, _ := packKernel(p, s, 0, 0, kernel, scratch[size:])
	for first := 0; first < s.Batch; first += images {
		r := s.apartShape(min(images, s.Batch-first))
		to := scratch[:r.sizeX()]
		copyApart(p, s, &r, x[first*imageX:], to)
		c := getCorrelation[T]()
		c.forward(&r)
		c.spread, c.packed = spread{}, true
		c.in, c.apart, c.joins = c.inGroup, true, true
		c.x, c.y, c.w, c.bias, c.relu = to, y[first*imageY:][:r.Batch*imageY], panels, bias, relu
		c.run(p)
		putCorrelation(c)
	}
}

// groupX is the distance of a group from the next one in x.
func (c *correlation[T]) groupX() int {
	if c.apart {
		return c.batch * c.axes[0].in * c.planeX()
	}
	return c.inGroup
}

// apartCopies copies rows of images, with their padding, group by group.
type apartCopies[T Float] struct {
	from, to Shape
	x, dst   []T
}

var (
	apartCopies32 pool.Recycler[apartCopies[float32]]
	apartCopies64 pool.Recycler[apartCopies[float64]]
)

// copyApart copies images of shape from to images of shape to.
func copyApart[T Float](p *pool.Pool, from, to *Shape, x, dst []T) {
	var zero T
	c := (*apartCopies[T])(nil)
	if unsafe.Sizeof(zero) == 4 {
		c = (*apartCopies[T])(unsafe.Pointer(apartCopies32.Get()))
	} else {
		c = (*apartCopies[T])(unsafe.Pointer(apartCopies64.Get()))
	}
	c.from, c.to, c.x, c.dst = *from, *to, x, dst
	p.Parallel(to.Batch*to.In[0]*to.In[1], max(1<<14/max(to.In[2]*to.InChannels, 1), 1), c)
	c.x, c.dst = nil, nil // let go of the caller's memory
	if unsafe.Sizeof(zero) == 4 {
		apartCopies32.Put((*apartCopies[float32])(unsafe.Pointer(c)))
		return
	}
	apartCopies64.Put((*apartCopies[float64])(unsafe.Pointer(c)))
}

// Run fills rows of all groups.
func (c *apartCopies[T]) Run(_, lo, hi int) {
	from, to := &c.from, &c.to
	in, pixels := to.InChannels/to.Groups, to.In[2]
	group := to.Batch * volume(to.In) * in
	for row := lo; row < hi; row++ {
		h, d, n := row%to.In[1]-from.PadLow[1], row/to.In[1]%to.In[0]-from.PadLow[0], row/(to.In[0]*to.In[1])
		outside := h < 0 || h >= from.In[1] || d < 0 || d >= from.In[0]
		for g := range to.Groups {
			dst := c.dst[g*group+row*pixels*in:][:pixels*in]
			if outside {
				clear(dst)
				continue
			}
			low, mid := from.PadLow[2]*in, from.In[2]*in
			clear(dst[:low])
			clear(dst[low+mid:])
			copyGroup(dst[low:low+mid], c.x[((n*from.In[0]+d)*from.In[1]+h)*from.In[2]*from.InChannels+g*in:], in, from.InChannels)
		}
	}
}

// copyGroup copies the first in channels of each pixel.
func copyGroup[T Float](dst, x []T, in, channels int) {
	switch in { // up to apartInputs
	case 2:
		copyPixels[[2]T](dst, x, in, channels)
	case 3:
		copyPixels[[3]T](dst, x, in, channels)
	case 4:
		copyPixels[[4]T](dst, x, in, channels)
	case 5:
		copyPixels[[5]T](dst, x, in, channels)
	default:
		copyPixels[[6]T](dst, x, in, channels)
	}
}

// copyPixels copies the first in numbers of each pixel, as one value of type P.
func copyPixels[P any, T Float](dst, x []T, in, channels int) {
	if len(dst) == 0 {
		return
	}
	_ = x[(len(dst)/in-1)*channels+in-1]
	size := unsafe.Sizeof(dst[0])
	to, from := unsafe.Pointer(&dst[0]), unsafe.Pointer(&x[0])
	for i := range uintptr(len(dst) / in) {
		*(*P)(unsafe.Add(to, i*uintptr(in)*size)) = *(*P)(unsafe.Add(from, i*uintptr(channels)*size))
	}
}
