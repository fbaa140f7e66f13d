package conv

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
)

// The few outputs of such a kernel do not fill a vector, so its gradient is computed as its transpose: vectors run over
// the inputs of all taps along the width, which lie side by side, and the rows of a tile are outputs. Each worker
// transposes its sums at the end.

const fewPixels = 64 // fewest outputs for which transposing the sums costs little compared with the products

// few reports whether the kernel gradient is computed as its transpose.
func few[T Float](s *Shape) bool {
	lanes, pixels := micro.PadColumns[T](1), s.Batch*volume(s.Out())
	if !single[T]() || lanes == 1 || s.Pairs || s.Turned || s.depthwise() || pixels < fewPixels || isWideGradient[T](s) || groupedSumsLanes[T](s) > 0 {
		return false
	}
	if c := gradientCopiesOf[T](s); c.local() > 0 {
		return false
	}
	inGroup, outGroup := s.InChannels/s.Groups, s.OutChannels/s.Groups
	columns := inGroup
	if s.sideBySide() {
		columns *= s.Kernel[2]
	}
	// Counts of vector products; up to eight at a time take as long as one.
	plain := columns * ceil(outGroup, lanes)
	mine := ceil(columns, 2*lanes) * max(2*outGroup, 8)
	return outGroup > 0 && columns >= lanes && 10*mine <= 8*plain && byFew.Taken()
}

// sideBySide reports whether the inputs under a row of the kernel are contiguous.
func (s *Shape) sideBySide() bool { return s.Dilation[2] == 1 && s.Groups == 1 }

// fewLocal is the scratch memory of a worker: the sums of a unit.
func (s *Shape) fewLocal() int {
	size := s.Kernel[2] * s.InChannels / s.Groups * s.OutChannels / s.Groups
	if s.tapsInside() {
		size *= s.Kernel[1]
	}
	return size
}

// fewUnit computes dkernel[d, firstTap:endTap, all, all, group] over one block of images.
func fewUnit(c *kernelGradient[float32], worker, part, d, firstTap, endTap, g int) {
	s := &c.shape
	inGroup, outGroup := s.InChannels/s.Groups, s.OutChannels/s.Groups
	row := s.Kernel[2] * inGroup
	size := s.fewLocal()
	sums := c.local[worker*size:][:(endTap-firstTap)*outGroup*row]
	clear(sums)
	firstD, endD := c.axes[0].outputs(d)
	rowBytes := (s.In[2]*inGroup*s.Strides[1] + c.out[2]*outGroup) * int(unsafe.Sizeof(sums[0]))
	block, images := max(sumBytes/max(rowBytes, 1), 1), 0
	for n, end := part*s.Batch/c.parts, (part+1)*s.Batch/c.parts; n < end; n += images {
		images = c.imagesTogether(block, outGroup, n, end)
		for od := firstD; od < endD; od++ {
			planeX := n*s.In[0] + od*s.Strides[0] - s.PadLow[0] + d*s.Dilation[0]
			planeY := n*c.out[0] + od
			for first := 0; first < c.out[1]; first += block {
				for h := firstTap; h < endTap; h++ {
					oh, end := c.axes[1].outputs(h)
					if oh, end = max(oh, first), min(end, first+block); oh >= end {
						continue
					}
					rowX := planeX*s.In[1] + oh*s.Strides[1] - s.PadLow[1] + h*s.Dilation[1]
					for _, w := range c.spans {
						if w.tap < w.tapEnd {
							accumulateFew(c, sums[(h-firstTap)*outGroup*row:], rowX, planeY*c.out[1]+oh, end-oh, images, w, g)
						}
					}
				}
			}
		}
	}
	dst := c.partial[part*len(c.dkernel)+(d*s.Kernel[1]+firstTap)*row*s.OutChannels+g*outGroup:]
	for h := range endTap - firstTap {
		micro.Transpose(dst[h*row*s.OutChannels:], sums[h*outGroup*row:], outGroup, row, s.OutChannels, row)
	}
}

// accumulateFew adds the products of the outputs in span w to the sums of a row of the kernel. It takes the given
// number of output rows of images; these start at row rowY of dy and meet row rowX of x.
func accumulateFew(c *kernelGradient[float32], sums []float32, rowX, rowY, rows, images int, w span, g int) {
	s, width := &c.shape, micro.PanelWidth[float32]()
	inGroup, outGroup := s.InChannels/s.Groups, s.OutChannels/s.Groups
	t := micro.Tile[float32]{Rows: outGroup, ARow: 1, CRow: s.Kernel[2] * inGroup, Accumulate: true,
		K: w.end - w.first, AK: s.OutChannels, BK: s.Strides[2] * s.InChannels,
		Segments: rows, ASegment: c.out[2] * s.OutChannels, BSegment: s.Strides[1] * s.In[2] * s.InChannels,
		Outer: images, AOuter: volume(c.out) * s.OutChannels, BOuter: volume(s.In) * s.InChannels,
		A: c.dy[(rowY*c.out[2]+w.first)*s.OutChannels+g*outGroup:]}
	longestInside(&t)
	x := c.x[(rowX*s.In[2]+w.first*s.Strides[2]-s.PadLow[2]+w.tap*s.Dilation[2])*s.InChannels+g*inGroup:]
	taps, columns := w.tapEnd-w.tap, inGroup
	if s.sideBySide() {
		taps, columns = 1, taps*inGroup
	}
	for tap := range taps {
		for col := 0; col < columns; col += width {
			t.Cols, t.B, t.C = min(width, columns-col), x[tap*s.Dilation[2]*s.InChannels+col:], sums[(w.tap+tap)*inGroup+col:]
			micro.Run(&t)
		}
	}
}
