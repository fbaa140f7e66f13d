package conv

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
)

// Where many tiles read the same rows, and pixels of dy are not whole vectors, the kernel gradient copies
// both operands first. It copies a block of columns of dy so that they are contiguous, because vectors in place would
// straddle cache lines. It copies rows of the input with zeros around them, so that one sum covers all pixels for every
// tap and the processor can prefetch. An infinite dy at the left or right edge of an image turns the sums of taps
// beyond the edge into NaN. So it does in XLA, which adds products with zeros too; oneDNN and the other ways here leave
// them out.

const (
	copiedTiles = 8        // fewest tiles that read the columns of dy for which copying pays,
	copiedLine  = 16       // unless the channels are a multiple of this: then vectors do not straddle cache lines
	copiedLeast = 16       // most outputs of an image for which joining images in one sum gains more
	copiedBytes = 24 << 10 // bytes of columns of dy: part of a first-level cache
)

// gradientCopies is the geometry of the copies.
type gradientCopies struct {
	rows, pixels int // of a block of outputs: its rows, and the pixels of a row, which are part of a row if rows are long; 0: nothing is copied
	panel, input int // elements of the copies of columns of dy and of the input
	line         int // elements of a copied row of the input
}

// gradientCopiesOf returns the geometry for a kernel gradient.
func gradientCopiesOf[T Float](s *Shape) gradientCopies {
	width := micro.PanelWidth[T]()
	tiles := s.Kernel[1] * ceil(s.Kernel[2]*s.InChannels, 14)
	out := s.Out()
	if (usesAVX2() || volume(s.Strides) > 1) && !copiesFew(s, out) || volume(out) <= copiedLeast || s.OutChannels <= width || s.OutChannels%copiedLine == 0 || s.Groups > 1 || tiles < copiedTiles || s.Kernel[1]*s.Kernel[2] == 1 || s.Pairs || isWideGradient[T](s) || slidesSums[T](s) || gradientBlocksOf[T](s).planes > 0 || !byGradientCopies.Taken() {
		return gradientCopies{}
	}
	var zero T
	size := int(unsafe.Sizeof(zero))
	pixels := even(out[2], copiedBytes/(width*size))
	line := ((pixels-1)*s.Strides[2] + (s.Kernel[2]-1)*s.Dilation[2] + 1) * s.InChannels
	rows := min(max(copiedBytes/(pixels*width*size), 1), max(sumBytes/(line*s.Strides[1]*size), 1), out[1])
	if pixels < out[2] {
		rows = 1
	}
	return gradientCopies{rows: rows, pixels: pixels, panel: rows * pixels * width, line: line, input: ((rows-1)*s.Strides[1] + (s.Kernel[1]-1)*s.Dilation[1] + 1) * line}
}

// copiesFew reports whether copies pay with AVX2, or where a stride skips pixels: for few images, of one row, or of few
// pixels under large windows.
func copiesFew(s *Shape, out [3]int) bool {
	return s.Batch <= 2 && (out[0]*out[1] == 1 || volume(s.Kernel) >= 25 && volume(out) <= 64)
}

// even returns the size of the parts if n is cut into nearly equal parts of at most most.
func even(n, most int) int { return ceil(n, ceil(n, most)) }

// local is the number of elements of scratch memory of a worker.
func (g *gradientCopies) local() int { return g.panel + g.input }

// copiedPlane adds the contribution of a plane of outputs to rows [firstTap, endTap) of the kernel, from copies.
func (c *kernelGradient[T]) copiedPlane(scratch, dst []T, planeX, planeY, firstTap, endTap, col, cols int) {
	for first := 0; first < c.out[1]; first += c.copies.rows {
		end := min(first+c.copies.rows, c.out[1])
		for at := 0; at < c.out[2]; at += c.copies.pixels {
			c.copiedBlock(scratch, dst, planeX, planeY, first, end, at, min(c.copies.pixels, c.out[2]-at), firstTap, endTap, col, cols)
		}
	}
}

// copiedBlock adds that of the given number of pixels, from pixel at on, in the rows [first, end) of outputs.
func (c *kernelGradient[T]) copiedBlock(scratch, dst []T, planeX, planeY, first, end, at, pixels, firstTap, endTap, col, cols int) {
	s, g := &c.shape, &c.copies
	panel, input := scratch[:g.panel], scratch[g.panel:g.panel+g.input]
	width := micro.PanelWidth[T]()
	t := micro.Tile[T]{Outer: 1, CRow: s.OutChannels, Accumulate: true, K: pixels, AK: s.Strides[2] * s.InChannels, BK: width,
		ASegment: s.Strides[1] * g.line, BSegment: pixels * width, Rows: s.Kernel[2] * s.InChannels, ARow: 1}
	low := first*s.Strides[1] - s.PadLow[1]
	c.copyInput(input, planeX, low+firstTap*s.Dilation[1], low+(end-1-first)*s.Strides[1]+(endTap-1)*s.Dilation[1]+1, at*s.Strides[2]-s.PadLow[2])
	for column := 0; column < cols; column += width {
		t.Cols = min(width, cols-column)
		micro.PackPanel(panel, c.dy[((planeY*c.out[1]+first)*c.out[2]+at)*s.OutChannels+col+column:], (end-first)*pixels, t.Cols, s.OutChannels, 1)
		c.copiedPanel(&t, panel, input, dst[col+column:], first, end, pixels, firstTap, endTap)
	}
}

// copiedPanel adds that of a panel of columns.
func (c *kernelGradient[T]) copiedPanel(t *micro.Tile[T], panel, input, dst []T, first, end, pixels, firstTap, endTap int) {
	s, g, width := &c.shape, &c.copies, micro.PanelWidth[T]()
	for h := firstTap; h < endTap; h++ {
		from, until := c.axes[1].outputs(h)
		if from, until = max(from, first), min(until, end); from >= until {
			continue
		}
		t.Segments = until - from
		t.B = panel[(from-first)*pixels*width:]
		rows := input[((from-first)*s.Strides[1]+(h-firstTap)*s.Dilation[1])*g.line:]
		to := dst[h*s.Kernel[2]*s.InChannels*s.OutChannels:]
		if s.Dilation[2] == 1 { // the rows under a kernel row are contiguous
			t.A, t.C = rows, to
			micro.Run(t)
			continue
		}
		t.Rows = s.InChannels
		for tap := range s.Kernel[2] {
			t.A, t.C = rows[tap*s.Dilation[2]*s.InChannels:], to[tap*s.InChannels*s.OutChannels:]
			micro.Run(t)
		}
	}
}

// copyInput copies lines of the rows [low, high) of a plane of the input, from column left on, with the zeros around
// the rows.
func (c *kernelGradient[T]) copyInput(to []T, plane, low, high, left int) {
	s, line, n := &c.shape, c.copies.line, c.shape.InChannels
	before := min(max(-left, 0)*n, line)
	end := max(min((s.In[2]-left)*n, line), before)
	for row := low; row < high; row++ {
		dst := to[(row-low)*line : (row-low+1)*line]
		if row < 0 || row >= s.In[1] {
			continue // no output sees it
		}
		clear(dst[:before])
		if before < end {
			copy(dst[before:end], c.x[((plane*s.In[1]+row)*s.In[2]+left)*n+before:])
		}
		clear(dst[end:])
	}
}
