package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/conv"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// stackedGradient computes the gradient of a kernel from images that are stacked for matrix registers. It works on
// bands of rows, of as many images as fill a register, so that a band stays in the second-level cache.
type stackedGradient struct {
	b             *build
	batch, row    int // row: elements of a row of x
	outRow        int // of a row of dy
	sizeX, sizeDY int // elements of an image of x and of dy
	most          int // pairs of images in a band, at most
	bands         []stackedBand
	now           *stackedBand
	x, dy         *plan.Operand
}

// stackedBand is such a band.
type stackedBand struct {
	shape         conv.Shape // of the part of x that it reads
	image, images int
	line          int // first row of x
	out, outs     int // first row of dy, and number of its rows
}

// stackedPiece is how many elements of a row of x are stacked at a time. Those of all images, before and after
// stacking, fit into the first-level cache.
const stackedPiece = 256

// convKernelGradStacked is the gradient of a kernel in pairs, from stacked images. It returns nil if they should not be
// stacked. The cuts into bands depend on the shape alone, so that the order of the sums does too.
func convKernelGradStacked(b *build, s *conv.Shape) func() {
	g := &stackedGradient{b: b, batch: s.Batch, sizeX: b.in(0).N / s.Batch, sizeDY: b.in(1).N / s.Batch}
	if !g.cut(*s) {
		return nil
	}
	x, dy, scratch, pool := 0, 0, 0, b.rt().pool
	for i := range g.bands {
		s := &g.bands[i].shape
		s.Remember()
		x, dy = max(x, s.Batch*s.In[1]*g.row), max(dy, s.Batch*s.StackedGradient())
		scratch = max(scratch, conv.BackwardWeightsScratch[float32](s, pool.Size()))
	}
	out := b.out(0)
	g.x, g.dy = b.scratch(ir.Uint32, x), b.scratch(ir.Uint32, dy)
	sums, part, local := b.scratch(ir.Float32, out.N), (*plan.Operand)(nil), b.scratch(ir.Float32, scratch)
	if len(g.bands) > 1 {
		part = b.scratch(ir.Float32, out.N)
	}
	stackX, pairDY := g.stackX(), g.pairDY()
	return func() {
		total := plan.Data[float32](sums)
		for i := range g.bands {
			g.now = &g.bands[i]
			stackX()
			pairDY()
			to := total
			if i > 0 {
				to = plan.Data[float32](part)
			}
			conv.BackwardWeights(pool, &g.now.shape, floatsAt(g.x.Ptr(), g.x.N), floatsAt(g.dy.Ptr(), g.dy.N), to, plan.Data[float32](local))
			if i > 0 {
				vec.Add(total, total, to)
			}
		}
		vec.Float32ToBF16(plan.Data[uint16](out), total)
	}
}

// cut cuts the images into bands. It reports whether to stack them.
func (g *stackedGradient) cut(s conv.Shape) bool {
	pairs := (s.Batch + 1) / 2
	g.most = (pairs + conv.MatrixRows - 1) / conv.MatrixRows // number of blocks of images
	g.most = (pairs + g.most - 1) / g.most
	s.Batch, s.Pairs = g.most, true
	if !s.Stacks() {
		return false
	}
	s.Stacked = true
	out := s.Out()
	g.row, g.outRow = s.In[2]*s.InChannels, out[2]*s.OutChannels
	// The gradient is accumulated band by band, so a large kernel calls for larger bands.
	memory := max(pairedBytes, 8*g.b.out(0).N)
	lines := max(memory/max(4*g.most*(s.Strides[1]*g.row+g.outRow), 1), 1)
	bands := (out[1] + lines - 1) / lines
	for image := 0; image < g.batch; image += 2 * g.most {
		images := min(2*g.most, g.batch-image)
		s.Batch = (images + 1) / 2
		for i := range bands {
			first, end := i*out[1]/bands, (i+1)*out[1]/bands
			shape, line := s.Lines(first, end)
			g.bands = append(g.bands, stackedBand{shape: shape, image: image, images: images, line: line, out: first, outs: end - first})
		}
	}
	return true
}

// stackX returns the function that stacks the rows of x.
func (g *stackedGradient) stackX() func() {
	pieces := (g.row + stackedPiece - 1) / stackedPiece
	g.b.rt().need(4 * g.most * stackedPiece)
	lines := 0
	for i := range g.bands {
		lines = max(lines, g.bands[i].shape.In[1])
	}
	x := g.b.in(0)
	return g.b.rt().parallel(lines*pieces, grain(g.most*stackedPiece), func(w *worker, lo, hi int) {
		band, from := g.now, plan.Data[uint16](x)[g.now.image*g.sizeX:]
		pairs := band.shape.Batch
		to, paired := floatsAt(g.x.Ptr(), g.x.N), scratchOf[uint32](w, g.most*stackedPiece)
		for i := lo; i < min(hi, band.shape.In[1]*pieces); i++ {
			line, at := i/pieces, i%pieces*stackedPiece
			n := min(stackedPiece, g.row-at)
			pairRowsOf(paired, from[(band.line+line)*g.row+at:], n, band.images, stackedPiece, g.sizeX)
			micro.Transpose(to[(line*g.row+at)*pairs:], floatsAt(unsafe.Pointer(unsafe.SliceData(paired)), len(paired)), pairs, n, pairs, stackedPiece)
		}
	})
}

// pairDY returns the function that pairs the images of dy.
func (g *stackedGradient) pairDY() func() {
	dy := g.b.in(1)
	return g.b.rt().parallel(g.most, grain(g.bands[0].shape.StackedGradient()), func(_ *worker, lo, hi int) {
		band := g.now
		from, to := plan.Data[uint16](dy)[band.image*g.sizeDY+band.out*g.outRow:], plan.Data[uint32](g.dy)
		apart := band.shape.StackedGradient()
		if images := min(band.images, 2*hi) - 2*lo; images > 0 {
			pairRowsOf(to[lo*apart:], from[2*lo*g.sizeDY:], band.outs*g.outRow, images, apart, g.sizeDY)
		}
	})
}

// pairRowsOf is [vec.PairRows] for the given number of rows. If it is odd, the last row is paired with zeros.
func pairRowsOf(to []uint32, from []uint16, columns, rows, toRow, fromRow int) {
	vec.PairRows(to, from, columns, rows/2, toRow, fromRow)
	if rows%2 > 0 {
		last := to[rows/2*toRow:]
		for i, v := range from[(rows-1)*fromRow:][:columns] {
			last[i] = uint32(v)
		}
	}
}
