package conv

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// A few groups of sizes that no other way suits are computed as convolutions of their own. The channels of a group are
// copied out of some images, and its results back. That costs little compared with the products, and the group can be
// computed in any way that a convolution without groups can. Only float32 is computed this way.

const (
	splitMax     = 1 << 19 // elements of the copies that are in memory at a time
	splitFlops   = 1 << 15 // fewest operations of an image of a group: its overhead is small compared with them
	splitTaps    = 20      // fewest taps of the window: copies cost little compared with their products
	splitFilters = 12      // filters of a channel from which on copying results is better than copying inputs once for each filter;
	splitSparse  = 4       // the same if strides skip
	splitSkipped = 8       // as many pixels
	splitPlanes  = 6       // inputs of a group from which on planes of one or two outputs cost more
	splitVolume  = 5       // outputs of a group from which on its volumes fill tiles better alone
	splitData    = 9       // taps of a window over the whole image from which on a group's input gradient is better as a matrix product,
	splitTile    = 64      // unless a tap has at least that many weights for each tap of the window, and so fills tiles;
	splitWeights = 24      // the same taps for the kernel gradient

	splitFar       = 18 // times that an input is seen, from which on dilated volumes gain, with
	splitFarOut    = 3  // at most so many outputs of a group,
	splitFarTile   = 24 // and weights of a tap, beyond which they fill tiles
	splitSumTaps   = 16 // taps from which on kernel gradients of volumes with strides or dilations gain, with
	splitSumInputs = 6  // at most so many inputs of a group
	splitSumOut    = 31 // and so many outputs, unless they are a vector,
	splitSumVector = 16 // which reads no part of another line,
	splitSumRow    = 3  // in rows of at least so many outputs,
	splitSumSeen   = 4  // if inputs of dilated volumes are seen so often
)

// copiesOut reports whether groups may be copied out.
func copiesOut(s *Shape) bool {
	return s.Batch > 0 && s.Groups > 1 && !s.Pairs && !s.without() && s.sizeX() > 0 && s.sizeY() > 0 && groupedLanes[float32](s) == 0 && !isWide[float32](s, 10)
}

// splits reports whether an operation may be split up. It ignores the batch and the height, because they must not
// change bits and images may come in bands of rows. It takes images to be square.
func splits(s *Shape) bool {
	if !copiesOut(s) {
		return false
	}
	pixels := s.Out()
	if pixels[1] > 1 || s.Kernel[1] > 1 {
		pixels[1] = pixels[2]
	}
	if products, all := s.seen(); products*s.OutChannels/s.Groups < all { // the copies alone cost more
		return false
	}
	return 2*volume(pixels)*volume(s.Kernel)*s.InChannels/s.Groups*s.OutChannels/s.Groups >= splitFlops
}

// splitsForward reports whether the convolution is split up.
func splitsForward[T Float](s *Shape) bool {
	in, out := s.InChannels/s.Groups, s.OutChannels/s.Groups
	return single[T]() && (s.manyFilters() && s.Kernel[0] > 1 || in == 1 && out >= splitSparse && volume(s.Strides) >= splitSkipped ||
		s.splitsDilatedVolume() || in > 1 && out >= splitVolume && volume(s.Kernel) >= splitTaps && (s.Kernel[0] > 1 || s.Dilation[2] > 1)) &&
		splits(s) && bySplits.Taken()
}

// splitsDilatedVolume reports whether copies pay for a dilated volume of few outputs. This, and the rule below, follow
// measurements of random shapes, with AVX-512 and AVX2.
func (s *Shape) splitsDilatedVolume() bool {
	in, out := s.InChannels/s.Groups, s.OutChannels/s.Groups
	products, pixels := s.seen()
	return s.Kernel[0] > 1 && s.Dilation[2] > 1 && in > 1 && out <= splitFarOut && in*out < splitFarTile && products >= splitFar*pixels
}

// splitsSums reports whether the kernel gradient of a volume with strides or a dilation has so few channels in a group
// that the copies pay: without them, a sum makes a call for each tap, for little of a tile.
func (s *Shape) splitsSums() bool {
	in, out := s.InChannels/s.Groups, s.OutChannels/s.Groups
	if s.Kernel[0] == 1 || volume(s.Kernel) < splitSumTaps || in < 2 || in > splitSumInputs || out < 2 || out > splitSumOut || out == splitSumVector || s.Out()[2] < splitSumRow {
		return false
	}
	if out <= planesFilters && in < splitPlanes && s.OutChannels >= splitSumVector { // planes fill vectors
		return false
	}
	products, pixels := s.seen()
	if s.Dilation[2] > 1 {
		return in <= unfoldInputs && products >= splitSumSeen*pixels
	}
	return s.Strides[2] > 1 && 2*products >= 3*pixels
}

// splitsGradients reports whether the gradients are split up. Groups of a few inputs with one or two outputs are better
// in planes (planes.go), and large strides leave each group few products. If the window covers the image, a group
// becomes a matrix product (covered.go), where other ways make a call for each tap.
func splitsGradients[T Float](s *Shape, o operation) bool {
	in, out := s.InChannels/s.Groups, s.OutChannels/s.Groups
	if s.covers() && (in > 1 || out > splitVolume) && (o == ofData && s.coversManyTaps() || o == ofWeights && splitsCovered[T](s)) {
		return single[T]() && copiesOut(s) && bySplits.Taken()
	}
	if o == ofWeights && s.splitsSums() && splits(s) {
		return single[T]() && bySplits.Taken()
	}
	if in == 1 && (out <= splitVolume || o == ofData) || out <= planesFilters && in < splitPlanes || volume(s.Strides) > splitSkipped && !s.manyFilters() {
		return false
	}
	return single[T]() && (volume(s.Kernel) >= splitTaps || s.manyFilters()) && splits(s) && bySplits.Taken()
}

// coversManyTaps reports, for a window that covers the image, whether the input gradient has so many taps that copies
// cost less than a call for each. Calls are better if the weights of one tap fill tiles.
func (s *Shape) coversManyTaps() bool {
	taps := volume(s.Kernel)
	return taps >= splitData && s.InChannels/s.Groups*(s.OutChannels/s.Groups) < splitTile*taps
}

// splitsCovered reports whether the kernel gradient of such a window is better split up. If planes could compute it,
// that is so only for many inputs, except in sequences, where many inputs fill tiles anyway.
func splitsCovered[T Float](s *Shape) bool {
	many := s.InChannels > planesInputs*s.Groups
	return volume(s.Kernel) >= splitWeights && (many || !planesForm[T](s)) && (!many || s.Kernel[0]*s.Kernel[1] > 1)
}

// manyFilters reports whether groups of one input have many outputs.
func (s *Shape) manyFilters() bool {
	return s.InChannels == s.Groups && s.OutChannels/s.Groups >= splitFilters && volume(s.Kernel) > 2
}

// splitOne returns the convolution of one group of some images.
func (s *Shape) splitOne(images int) Shape {
	r := *s
	r.Batch, r.Groups, r.InChannels, r.OutChannels = images, 1, s.InChannels/s.Groups, s.OutChannels/s.Groups
	return r
}

// splitImages is the number of images copied at a time; unfolds says whether their rows are unfolded.
func (s *Shape) splitImages(unfolds bool) int {
	r := s.rowsOf(1, unfolds)
	return max(min(splitMax/(r.sizeX()+r.sizeY()), s.Batch), 1)
}

// operation is one of the three operations on a shape.
type operation int

const (
	ofForward operation = iota
	ofData
	ofWeights
)

// splitScratch returns the number of elements of scratch memory that an operation needs: copies of operands, of the
// kernel and of a part of its gradient, and what it needs for a group.
func splitScratch(d *decisions, o operation, workers int, bias bool) int {
	r := &d.parts[0]
	return r.sizeX() + r.sizeY() + 2*r.sizeKernel() + scratchOfParts[float32](d, o, workers, bias)
}

// splitUp runs an operation that is split up. x, y and the kernel are its operands and result.
func splitUp(p *pool.Pool, d *decisions, o operation, x, kernel, bias []float32, relu bool, y, scratch []float32) {
	s, images := &d.shape, d.parts[0].Batch
	unfolds := s.unfoldsRows(o)
	imageX, imageY := d.x/max(s.Batch, 1), d.y/max(s.Batch, 1)
	whole := splitBuffers(&d.parts[0], scratch)
	in, out := s.InChannels/s.Groups, s.OutChannels/s.Groups
	for g := range s.Groups {
		b := whole
		firstIn, firstOut := g*in, g*out
		if b.bias = bias; bias != nil && o == ofForward {
			b.bias = bias[firstOut:][:out]
		} else if bias != nil {
			b.bias = bias[firstIn:][:in]
		}
		if o != ofWeights {
			copyColumns(p, b.kernel, kernel, out, s.OutChannels, firstOut, false)
		}
		for first := 0; first < s.Batch; first += images {
			r := d.partOf(min(images, s.Batch-first))
			b.x, b.y = b.x[:r.sizeX()], b.y[:r.sizeY()]
			switch {
			case o == ofData:
			case unfolds:
				copyUnfolded(p, s, b.x, x[first*imageX:], firstIn, r.Batch, false)
			default:
				copyColumns(p, b.x, x[first*imageX:], in, s.InChannels, firstIn, false)
			}
			if o != ofForward {
				copyColumns(p, b.y, y[first*imageY:], out, s.OutChannels, firstOut, false)
			}
			b.run(p, r, o, relu, first == 0)
			switch {
			case o == ofForward:
				copyColumns(p, b.y, y[first*imageY:], out, s.OutChannels, firstOut, true)
			case o == ofData && unfolds:
				copyUnfolded(p, s, b.x, x[first*imageX:], firstIn, r.Batch, true)
			case o == ofData:
				copyColumns(p, b.x, x[first*imageX:], in, s.InChannels, firstIn, true)
			}
		}
		if o == ofWeights {
			copyColumns(p, b.kernel, kernel, out, s.OutChannels, firstOut, true)
		}
	}
}

// splitBuffer is the memory for one group at a time.
type splitBuffer struct{ x, y, kernel, part, bias, rest []float32 }

// splitBuffers cuts the scratch memory up for the convolution of a group.
func splitBuffers(r *Shape, scratch []float32) (b splitBuffer) {
	nx, ny, n := r.sizeX(), r.sizeY(), r.sizeKernel()
	b.x, b.y, b.kernel, b.part, b.rest = scratch[:nx], scratch[nx:nx+ny], scratch[nx+ny:][:n], scratch[nx+ny+n:][:n], scratch[nx+ny+2*n:]
	return b
}

// run runs an operation on a group of some images.
func (b *splitBuffer) run(p *pool.Pool, r *Shape, o operation, relu, first bool) {
	switch {
	case o == ofForward:
		Forward(p, r, b.x, b.kernel, b.bias, relu, b.y, b.rest)
	case o == ofData:
		Transposed(p, r, b.y, b.kernel, b.bias, relu, b.x, b.rest)
	case first:
		BackwardWeights(p, r, b.x, b.y, b.kernel, b.rest)
	default:
		BackwardWeights(p, r, b.x, b.y, b.part, b.rest)
		vec.Add(b.kernel, b.kernel, b.part)
	}
}

// columnCopies copies some channels of each pixel out of all channels, or back.
type columnCopies struct {
	some, all []float32
	columns   int // channels of a pixel of some
	channels  int // channels of a pixel of all
	back      bool
}

var columnCopiesFree pool.Recycler[columnCopies]

// copyColumns copies the columns from first on between the pixels of all and those of some; back says which way.
func copyColumns(p *pool.Pool, some, all []float32, columns, channels, first int, back bool) {
	c := columnCopiesFree.Get()
	pixels := len(some) / columns
	c.some, c.all, c.columns, c.channels, c.back = some, all[first:][:max((pixels-1)*channels+columns, 0)], columns, channels, back
	p.Parallel(pixels, max(1<<14/columns, 1), c)
	c.some, c.all = nil, nil // let go of the caller's memory
	columnCopiesFree.Put(c)
}

// Run copies pixels.
func (c *columnCopies) Run(_, lo, hi int) {
	some, all := c.some[lo*c.columns:hi*c.columns], c.all[lo*c.channels:][:(hi-lo-1)*c.channels+c.columns]
	to, from, toStep, fromStep := some, all, c.columns, c.channels
	if c.back {
		to, from, toStep, fromStep = all, some, c.channels, c.columns
	}
	copyColumnsOf(to, from, c.columns, hi-lo, toStep, fromStep)
}

// copyColumnsOf copies count arrays of columns numbers. The steps are the distances between arrays.
func copyColumnsOf(to, from []float32, columns, count, toStep, fromStep int) {
	_, _ = to[(count-1)*toStep+columns-1], from[(count-1)*fromStep+columns-1]
	switch {
	case columns == 1:
		copyArrays[[1]float32](to, from, count, toStep, fromStep, 0)
	case columns < 4:
		copyArrays[[2]float32](to, from, count, toStep, fromStep, columns-2)
	case columns < 8:
		copyArrays[[4]float32](to, from, count, toStep, fromStep, columns-4)
	case columns <= 16:
		copyArrays[[8]float32](to, from, count, toStep, fromStep, columns-8)
	default:
		for i := range count {
			copy(to[i*toStep:][:columns], from[i*fromStep:])
		}
	}
}

// copyArrays copies the first numbers of each of count arrays, and as many numbers from a second place on, which may
// overlap with them. The steps are the distances between arrays; the slices have the length of an array.
//
//go:noinline
func copyArrays[P any](to, from []float32, count, toStep, fromStep, second int) {
	dst, src := unsafe.Pointer(&to[0]), unsafe.Pointer(&from[0])
	size := int(unsafe.Sizeof(to[0]))
	toStep, fromStep, second = toStep*size, fromStep*size, second*size
	t, f := 0, 0
	if second == 0 {
		for range count {
			*(*P)(unsafe.Add(dst, t)) = *(*P)(unsafe.Add(src, f))
			t, f = t+toStep, f+fromStep
		}
		return
	}
	for range count {
		*(*P)(unsafe.Add(dst, t)) = *(*P)(unsafe.Add(src, f))
		*(*P)(unsafe.Add(dst, t+second)) = *(*P)(unsafe.Add(src, f+second))
		t, f = t+toStep, f+fromStep
	}
}
