package conv

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// A convolution whose groups have one input channel works channel by channel. If there are many channels, or they fill
// whole vectors, the columns of a tile are channels. Otherwise, the columns of a tile run along the width and the
// channels together. The numbers of an output row are contiguous, and so are those that a tap meets if the stride along
// the width is 1. The weights of a tap are repeated for as many pixels as fill whole vectors. Input rows are copied
// with zeros around them, so that all pixels see all taps along the width. If channels have several filters, the copy
// repeats each channel for each filter, so that every channel has one.
//
// With a stride along the width, a copied row is split into parts: the pixels that are a stride apart lie side by side,
// so that within a part the stride is 1. An input gradient computes each phase as a row of its own; at the end, it
// moves the pixels of that row apart.
//
// In volumes, the rows of all planes that an output sees are copied, and the taps along the depth become one more axis
// of the sums.

const (
	wideBytes   = 96 << 10 // bytes of copied rows
	wideWeights = 16 << 10 // bytes of repeated weights: a part of the first-level cache
	evenSurplus = 24       // overhead, in columns, of a piece that is not whole vectors

	wideRow            = 8  // outputs of a row from which on strided windows of a single tap gain,
	wideStrided        = 4  // other strided windows,
	wideGradient       = 12 // and their kernel gradients
	volumeTaps         = 15 // outputs of a row times taps along it, from which on strided volumes gain,
	volumeGradientTaps = 25 // and their kernel gradients
)

// wide is the geometry of a computation along the width.
type wide struct {
	channels int // of the output: input channels times filters
	repeat   int // filters of a channel
	taps     int // along the width
	step     int // between taps, in pixels
	stride   int // between the windows of neighbouring outputs, in pixels; if it is not 1, step is 1
	parts    int // of a copied row: the pixels of each are a stride apart
	planes   int // planes whose rows are copied at a time: one for each tap along the depth
	first    int // the first pixel of a copied row, which may lie outside the input
	pixels   int // of a part
	out      int // pixels of an output row
	rows     int // output rows of a block
	copied   int // input rows of a block
	period   int // columns of the repeated weights
}

// isWide reports whether the shape may be computed along the width. Many channels fill the vectors of tiles well enough
// even if they are not whole vectors: channels as columns are faster once they fill that many eighths of a panel, or,
// with a stride or on amd64, the shortest vector; and so they are if not even a row of the result fills it.
func isWide[T Float](s *Shape, eighths int) bool {
	width := micro.PanelWidth[T]()
	narrow := micro.NarrowChannels[T]()
	return s.Groups > 1 && s.Groups == s.InChannels && s.OutChannels > 0 && s.OutChannels%(width/2) != 0 && 8*s.OutChannels < eighths*width &&
		(s.OutChannels < narrow || !isa.Active().Has(isa.Vectors256)) && s.Out()[2]*s.OutChannels >= narrow &&
		(s.Kernel[0] == 1 || volumesWide[T](s, eighths > 8)) && (s.Strides[2] == 1 || stridesWide[T](s, eighths > 8)) && byWide.Taken()
}

// usesAVX2 reports whether the widest vectors in use are those of AVX2, so that rules for these hold.
func usesAVX2() bool {
	return isa.Active().Has(isa.Vectors256) && !isa.Active().Has(isa.Vectors512) && byRulesAVX2.Taken()
}

// volumesWide reports whether windows of several planes may be computed along the width, and whether their kernel
// gradients may. They need fewer channels than fill the shortest vector and, with a stride, rows that are long enough.
func volumesWide[T Float](s *Shape, gradient bool) bool {
	row, narrow, least := s.Out()[2], micro.NarrowChannels[T](), volumeTaps
	if gradient {
		least = volumeGradientTaps
	}
	return single[T]() && s.OutChannels < narrow && row*s.OutChannels >= narrow && (s.Strides[2] == 1 || row*s.Kernel[2] >= least) &&
		(!gradient || 2*row >= s.Kernel[2])
}

// stridesWide reports whether a shape with a stride may be, and whether its kernel gradient may.
func stridesWide[T Float](s *Shape, gradient bool) bool {
	least := wideStrided
	if s.Kernel[0] > 1 { // see volumesWide
		least = 1
	} else if gradient {
		least = wideGradient
	}
	return single[T]() && s.Dilation[2] == 1 && s.depthwise() && s.OutChannels < micro.NarrowChannels[T]() && s.Out()[2] >= least
}

// isWideForward reports whether the convolution is computed along the width; if package micro slides over rows, it is
// not.
func isWideForward[T Float](s *Shape) bool {
	return isWide[T](s, 7) && !slides[T](s) && !slidesCopies[T](s) && !slidesForward[T](s) && (!s.skipsPixels() || s.Out()[2] >= wideRow)
}

// isWideData reports the same for the input gradient.
func isWideData[T Float](s *Shape) bool {
	return isWide[T](s, 7) && !slides[T](s) && !slidesCopies[T](s) && !s.skipsPixels()
}

// isWideGradient reports the same for the kernel gradient.
func isWideGradient[T Float](s *Shape) bool {
	return isWide[T](s, 10) && !slidesSums[T](s) && !s.skipsPixels()
}

// skipsPixels reports whether the window is a single tap and its stride skips pixels of a row. Copying these takes
// longer than the products.
func (s *Shape) skipsPixels() bool { return volume(s.Kernel) == 1 && s.Strides[2] > 1 }

// newWide returns the geometry for the axes of a correlation whose rows have out pixels, each of which sees planes
// planes.
func newWide[T Float](planes int, height, width *axis, channels, repeat int) wide {
	w := wide{planes: max(planes, 1), channels: channels, repeat: repeat, taps: width.taps, step: width.tapStep, stride: width.inStep, first: width.inOffset, out: width.out}
	w.parts = max(min(w.stride, w.taps), 1)
	w.pixels = width.out + max(width.taps-1, 0)*width.tapStep/w.stride
	var zero T
	size := int(unsafe.Sizeof(zero))
	w.rows = min(max(wideBytes/max(w.planes*w.rowSize()*height.inStep*size, 1), 4), max(height.out, 1))
	w.copied = (w.rows-1)*height.inStep + max(height.taps-1, 0)*height.tapStep + 1
	unit := channels * micro.PanelWidth[T]() / 2 / gcd(channels, micro.PanelWidth[T]()/2)
	want := wideWeights / size / max(planes*height.taps*width.taps, 1) / unit
	w.period = min(max(want, 1)*unit, w.out*channels)
	w.evenPeriod()
	return w
}

// evenPeriod makes the pieces of a row about equally long where that saves much. The last piece then overlaps the one
// before it.
func (w *wide) evenPeriod() {
	if total := w.out * w.channels; total > w.period {
		calls := (total + w.period/2) / w.period
		if even := ceil(w.out, calls) * w.channels; 10*calls*(even+evenSurplus) < 9*ceil(total, w.period)*w.period {
			w.period = even
		}
	}
}

// rowSize is the number of elements of a copied row, planeSize of those of a plane.
func (w *wide) rowSize() int   { return w.parts * w.pixels * w.channels }
func (w *wide) planeSize() int { return w.copied * w.rowSize() }

// tapsOf returns the number of taps that meet a part.
func (w *wide) tapsOf(part int) int { return ceil(w.taps-part, w.stride) }

// copyRow copies a row of in pixels with zeros around it.
func copyRow[T Float](w *wide, dst, row []T, in int) {
	if w.stride > 1 {
		copyParts(w, floats(dst), floats(row), in)
		return
	}
	lo := min(max(-w.first, 0), w.pixels)
	hi := max(min(in-w.first, w.pixels), lo)
	clear(dst[:lo*w.channels])
	if hi > lo {
		from := (w.first + lo) * w.channels / w.repeat
		part := dst[lo*w.channels : hi*w.channels]
		row = row[from : from+len(part)/w.repeat]
		if w.repeat == 1 {
			copy(part, row)
		} else {
			copyFilters(part, row, w.repeat)
		}
	}
	clear(dst[hi*w.channels:])
}

// copyParts is copyRow for strides.
func copyParts(w *wide, dst, row []float32, in int) {
	for part := range w.parts {
		to := dst[part*w.pixels*w.channels:][:w.pixels*w.channels]
		first := w.first + part // the row's pixel that comes first in the part
		lo := min(ceil(max(-first, 0), w.stride), w.pixels)
		hi := max(min(ceil(max(in-first, 0), w.stride), w.pixels), lo)
		clear(to[:lo*w.channels])
		clear(to[hi*w.channels:])
		if lo < hi {
			copyPixelsApart(to[lo*w.channels:], row[(first+lo*w.stride)*w.channels:], hi-lo, w.channels, w.channels, w.stride*w.channels)
		}
	}
}

// copyPixelsApart copies count pixels of that many channels; the steps are the distances between pixels.
func copyPixelsApart(dst, x []float32, count, channels, dstStep, xStep int) {
	_, _ = dst[(count-1)*dstStep+channels-1], x[(count-1)*xStep+channels-1]
	if channels >= 4 {
		copyArrays[[4]float32](dst, x, count, dstStep, xStep, 0)
		dst, x, channels = dst[4:], x[4:], channels-4
	}
	switch channels {
	case 1:
		copyArrays[[1]float32](dst, x, count, dstStep, xStep, 0)
	case 2:
		copyArrays[[2]float32](dst, x, count, dstStep, xStep, 0)
	case 3:
		copyArrays[[3]float32](dst, x, count, dstStep, xStep, 0)
	}
}

// repeated fills dst with copies of v; the last copy is cut off where dst ends.
func repeated[T Float](dst, v []T) {
	for len(dst) > 0 {
		dst = dst[copy(dst, v):]
	}
}

// wideCorrelation is what a correlation needs in addition to compute rows along the width.
type wideCorrelation[T Float] struct {
	wide
	on      bool
	weights []T // [taps of all axes, period]
	bias    []T // [period], or nil
	scratch []T // of all workers: copied rows, and sums of rows before filters are added up
	fold    int // filters whose sums are added up: those of the input gradient
	apart   int // distance in pixels between the outputs of a row, for a phase of the input gradient; 0 means 1
}

// sums reports whether rows are computed in scratch memory first.
func (w *wideCorrelation[T]) sums() bool { return w.fold > 1 || w.apart > 1 }

// localSize is the scratch memory of one worker.
func (w *wideCorrelation[T]) localSize() int {
	n := w.planes * w.planeSize()
	if w.sums() {
		n += w.rows * w.out * w.channels
	}
	return n
}

// size is the scratch memory of a correlation along the width.
func (w *wideCorrelation[T]) size(taps, workers int) int {
	return (taps+1)*w.period + max(workers, 1)*w.localSize()
}

// prepare lays out the scratch memory and fills in the weights [taps, channels], repeated.
func (w *wideCorrelation[T]) prepare(kernel, bias, scratch []T, taps int) {
	w.weights, scratch = scratch[:taps*w.period], scratch[taps*w.period:]
	for t := range taps {
		repeated(w.weights[t*w.period:(t+1)*w.period], kernel[t*w.channels:(t+1)*w.channels])
	}
	w.bias = nil
	if bias != nil {
		w.bias = scratch[:w.period]
		repeated(w.bias, bias)
	}
	w.scratch = scratch[w.period:]
}

// widePlane computes the rows [first, end) of plane d of image n along the width.
func (c *correlation[T]) widePlane(worker, n, d, first, end int) {
	w := &c.wide
	local := w.scratch[worker*w.localSize() : (worker+1)*w.localSize()]
	rows, sums := local[:w.planes*w.planeSize()], local[w.planes*w.planeSize():]
	height := &c.axes[1]
	td, tdEnd := c.axes[0].inside(d)
	for ; first < end; first += w.rows {
		last := min(first+w.rows, end)
		from := first*height.inStep + height.inOffset
		for tap := td; tap < tdEnd; tap++ {
			plane := c.x[(n*c.axes[0].in+d*c.axes[0].inStep+c.axes[0].inOffset+tap*c.axes[0].tapStep)*c.planeX():]
			rows := rows[tap*w.planeSize():]
			for r := max(from, 0); r < min((last-1)*height.inStep+height.inOffset+max(height.taps-1, 0)*height.tapStep+1, height.in); r++ {
				copyRow(&w.wide, rows[(r-from)*w.rowSize():(r-from+1)*w.rowSize()], plane[r*c.axes[2].in*c.in:], c.axes[2].in)
			}
		}
		if !w.sums() { // tiles write to parts of many rows, which the processor cannot prefetch
			rowY := c.outs[2] * c.out
			y := c.y[((n*c.outs[0]+c.axes[0].outStart+d*c.axes[0].outStep)*c.outs[1]+height.outStart+first*height.outStep)*rowY:]
			vec.Fetch(y, last-first, rowY, height.outStep*rowY)
		}
		for _, h := range c.spans[1] {
			h.first, h.end = max(h.first, first), min(h.end, last)
			if h.first >= h.end {
				continue
			}
			if td == tdEnd || w.taps == 0 {
				h.tap, h.tapEnd = 0, 0
			}
			c.wideRows(rows[td*w.planeSize()+(h.first-first)*height.inStep*w.rowSize():], sums, n, d, td, max(tdEnd-td, 1), h)
		}
	}
}

// wideRows computes the rows of a span, which see that many planes from tap td on. x is the copied row that the first
// tap of the first row would see.
func (c *correlation[T]) wideRows(x, sums []T, n, d, td, planes int, h span) {
	w := &c.wide
	height, total := &c.axes[1], w.out*w.channels
	start := ((n*c.outs[0]+c.axes[0].outStart+d*c.axes[0].outStep)*c.outs[1]+height.outStart+h.first*height.outStep)*c.outs[2]*c.out + c.axes[2].outStart*c.out
	y, stride := c.y[start:], height.outStep*c.outs[2]*c.out
	into, step := y, stride
	if w.sums() {
		into, step = sums, total
	}
	t := micro.Tile[T]{Rows: h.end - h.first, CRow: step, AK: w.step * w.channels, BK: w.stride * w.period, Segments: h.tapEnd - h.tap,
		ASegment: height.tapStep * w.rowSize(), BSegment: w.taps * w.period,
		Outer: planes, AOuter: w.planeSize(), BOuter: height.taps * w.taps * w.period, ARow: height.inStep * w.rowSize(), Cols: w.period}
	for col := 0; col < total; col += w.period {
		col = min(col, total-w.period) // columns that are computed twice get the same bits
		t.C = into[col:]
		for part := range w.parts {
			t.A, t.B = x[h.tap*height.tapStep*w.rowSize()+part*w.pixels*w.channels+col:], w.weights[((td*height.taps+h.tap)*w.taps+part)*w.period:]
			t.K, t.Accumulate, t.Bias, t.ReLU = w.tapsOf(part), part > 0, nil, false
			if part == w.parts-1 {
				t.Bias, t.ReLU = w.bias, c.relu
			}
			micro.RunChannels(&t)
		}
	}
	if w.sums() {
		for r := range t.Rows {
			c.storeRow(y[r*stride:], sums[r*total:(r+1)*total])
		}
	}
}

// storeRow stores a row of sums.
func (c *correlation[T]) storeRow(y, row []T) {
	w := &c.wide
	if w.apart > 1 {
		copyPixelsApart(floats(y), floats(row), w.out, c.out, w.apart*c.out, c.out)
		return
	}
	foldRow(y[:w.out*c.out], row, w.fold)
}

// foldRow adds up each run of n numbers.
func foldRow[T Float](dst, x []T, n int) {
	for len(dst) > 0 {
		part := min(len(dst), filtersBlock)
		addFilters(dst[:part], x, n)
		dst, x = dst[part:], x[part*n:]
	}
}

// wideGeometry returns the geometry of a kernel gradient along the width.
func (c *kernelGradient[T]) wideGeometry() wide {
	s := &c.shape
	return newWide[T](1, &c.axes[1], &c.axes[2], s.OutChannels, s.OutChannels/s.InChannels)
}

// wideLocal is the scratch memory of a worker for a kernel gradient along the width: copied rows, and the sums for each
// pixel of a row.
func (c *kernelGradient[T]) wideLocal(w *wide) int {
	return w.planeSize() + c.shape.Kernel[1]*w.taps*w.out*w.channels
}

// wideUnit computes dkernel[d, firstTap:endTap, all, all] over one block of images. Each pixel of a row has sums of its
// own, which are added up at the end.
func (c *kernelGradient[T]) wideUnit(worker, part, d, firstTap, endTap int) {
	s, w := &c.shape, &c.wide
	local := c.local[worker*c.wideLocal(w) : (worker+1)*c.wideLocal(w)]
	rows, sums := local[:w.planeSize()], local[w.planeSize():]
	total := w.out * w.channels
	size := w.taps * total // elements of the sums of one tap of the height axis
	clear(sums[firstTap*size : endTap*size])
	height := &c.axes[1]
	firstD, endD := c.axes[0].outputs(d)
	for n := part * s.Batch / c.parts; n < (part+1)*s.Batch/c.parts; n++ {
		for od := firstD; od < endD; od++ {
			plane := c.x[(n*s.In[0]+od*s.Strides[0]-s.PadLow[0]+d*s.Dilation[0])*s.In[1]*s.In[2]*s.InChannels:]
			dy := c.dy[(n*c.out[0]+od)*c.out[1]*total:]
			for first := 0; first < c.out[1]; first += w.rows {
				last := min(first+w.rows, c.out[1])
				from := first*height.inStep + height.inOffset
				for r := max(from, 0); r < min((last-1)*height.inStep+height.inOffset+(height.taps-1)*height.tapStep+1, height.in); r++ {
					copyRow(w, rows[(r-from)*w.rowSize():(r-from+1)*w.rowSize()], plane[r*s.In[2]*s.InChannels:], s.In[2])
				}
				for h := firstTap; h < endTap; h++ {
					oh, end := height.outputs(h)
					oh, end = max(oh, first), min(end, last)
					if oh >= end {
						continue
					}
					x := rows[((oh-first)*height.inStep+h*height.tapStep)*w.rowSize():]
					for part := range w.parts {
						micro.RunChannels(&micro.Tile[T]{A: x[part*w.pixels*w.channels:], B: dy[oh*total:], C: sums[h*size+part*total:],
							Rows: w.tapsOf(part), Cols: total, ARow: w.step * w.channels, CRow: w.stride * total, K: end - oh, AK: height.inStep * w.rowSize(), BK: total,
							Segments: 1, Outer: 1, Accumulate: true})
					}
				}
			}
		}
	}
	dst := c.partial[part*len(c.dkernel)+d*s.Kernel[1]*w.taps*w.channels:]
	for tap := firstTap * w.taps; tap < endTap*w.taps; tap++ {
		row := dst[tap*w.channels : (tap+1)*w.channels]
		clear(row)
		for at := tap * total; at < (tap+1)*total; at += w.channels {
			for i, v := range sums[at : at+w.channels] {
				row[i] += v
			}
		}
	}
}
