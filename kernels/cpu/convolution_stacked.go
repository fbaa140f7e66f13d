package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/conv"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// stackedGradient is the gradient of a kernel from images that are stacked for matrix registers, a band of rows of as
// many images as fill one at a time: it stays in the second-level cache in between.
type stackedGradient struct {
	b             *build
	batch, row    int // numbers of a row of x
	outRow        int // and of dy
	sizeX, sizeDY int // and of an image of each
	most          int // pairs of images of a band
	bands         []stackedBand
	now           *stackedBand
	x, dy         *plan.Operand
}

// stackedBand is such a band.
type stackedBand struct {
	shape         conv.Shape // of what it sees of x
	image, images int
	line          int // the first row of x,
	out, outs     int // and of dy, and how many
}

// stackedPiece is how many numbers of a row of x are stacked at a time: those of all images and what they become stay
// in the first-level cache.
const stackedPiece = 256

// convKernelGradStacked is the gradient of a kernel in pairs, from stacked images; nil: they are not to be stacked. How
// they are cut into bands depends on the shape alone, as the order of the sums does.
func convKernelGradStacked(b *build, s *conv.Shape) func() {
	g := &stackedGradient{b: b, batch: s.Batch, sizeX: b.in(0).N / s.Batch, sizeDY: b.in(1).N / s.Batch}
	if !g.cut(*s) {
		return nil
	}
	x, dy, scratch, pool := 0, 0, 0, b.rt().pool
	for i := range g.bands {
		s := &g.bands[i].shape
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

// cut cuts the images into bands. It reports whether they are to be stacked.
func (g *stackedGradient) cut(s conv.Shape) bool {
	pairs := (s.Batch + 1) / 2
	g.most = (pairs + conv.MatrixRows - 1) / conv.MatrixRows // blocks of images
	g.most = (pairs + g.most - 1) / g.most
	s.Batch, s.Pairs = g.most, true
	if !s.Stacks() {
		return false
	}
	s.Stacked = true
	out := s.Out()
	g.row, g.outRow = s.In[2]*s.InChannels, out[2]*s.OutChannels
	// Sums are added up band by band: a large kernel is worth larger bands.
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

// pairRowsOf is [vec.PairRows] of so many rows, the last of which is alone if they are odd.
func pairRowsOf(to []uint32, from []uint16, columns, rows, toRow, fromRow int) {
	vec.PairRows(to, from, columns, rows/2, toRow, fromRow)
	if rows%2 > 0 {
		last := to[rows/2*toRow:]
		for i, v := range from[(rows-1)*fromRow:][:columns] {
			last[i] = uint32(v)
		}
	}
}
