package conv

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// The few channels of a result fill little of a vector, and with strides, an input gradient falls into phases of few
// taps. Short rows and small images add a call for each set of outputs that see the same taps. So several neighbouring
// outputs of a row, with all their channels, are the columns of one tile. They see a run of neighbouring inputs, which
// is contiguous with all its channels, and their weights form a band of a matrix that is zero elsewhere:
//
//	y[o, c] = Σ_i Σ_k x[i, k] · m[(i, k), (o, c)]      m[(i, k), (o, c)] = kernel[t, k, c] if o sees i at tap t, else 0
//
// The rows of tiles are such pieces of a row, rows of an image, or images, whichever are many. The taps along the other
// axes are summed as in other tiles, and the order of sums is the same. An infinite input times such a zero is NaN, for
// all outputs of the piece that sees it.

const (
	bandBytes = 192 << 10 // bytes of inputs and outputs that a chunk reads and writes: they stay in the second-level cache
	bandMost  = 1 << 16   // most elements of all matrices
	bandEdges = 1 << 10   // outputs of a row up to which all may see less than a whole window
)

// bands is the geometry of such a convolution or input gradient.
type bands struct {
	data              bool
	in, out           [3]int // pixels of x and y
	taps              [3]int
	sums, to          int // channels of x and of y
	stride, low, step int // along the width, of the convolution
	pixels            int // outputs of a piece
	size              int // elements of all matrices
	lanes, halves     int // of a vector, and half cycles for its products with a number
}

// bandRun is a run of neighbouring pieces that see the same of their inputs, and so share a matrix.
type bandRun struct {
	first, pieces int // the first output, and how many pieces
	pixels        int // outputs of a piece
	low, high     int // inputs that the first piece sees
}

// width is the number of columns of the run's matrix, with padding.
func (g *bands) width(r *bandRun) int { return ceil(r.pixels*g.to, g.lanes) * g.lanes }

// moves is the distance between the inputs of neighbouring pieces.
func (g *bands) moves() int {
	if g.data {
		return g.pixels / g.stride
	}
	return g.pixels * g.stride
}

// sees returns the inputs [low, high) that n outputs from one on see, some of which may lie outside the input.
func (g *bands) sees(o, n int) (low, high int) {
	reach := (g.taps[2] - 1) * g.step
	if g.data {
		return -floor(reach-o-g.low, g.stride), floor(o+n-1+g.low, g.stride) + 1
	}
	return o*g.stride - g.low, (o+n-1)*g.stride - g.low + reach + 1
}

// floor is the quotient, rounded down.
func floor(a, b int) int { return (a - modulo(a, b)) / b }

// next returns the run of pieces that begins at an output; none has no pieces.
func (g *bands) next(o int) (r bandRun) {
	if o >= g.out[2] {
		return r
	}
	r = bandRun{first: o, pieces: 1, pixels: min(g.pixels, g.out[2]-o)}
	low, high := g.sees(o, r.pixels)
	if low >= 0 && high <= g.in[2] && r.pixels == g.pixels {
		r.pieces = min((g.out[2]-o)/g.pixels, (g.in[2]-high)/max(g.moves(), 1)+1)
	}
	r.low, r.high = max(low, 0), min(high, g.in[2])
	r.high = max(r.low, r.high)
	return r
}

// matrix is the number of elements of a run's matrix for one tap of the other axes.
func (g *bands) matrix(r *bandRun) int { return (r.high - r.low) * g.sums * g.width(r) }

// setSize computes the size of all matrices.
func (g *bands) setSize() {
	g.size = 0
	for r := g.next(0); r.pieces > 0; r = g.next(r.first + r.pieces*g.pixels) {
		g.size += g.matrix(&r) * g.taps[0] * g.taps[1]
	}
}

// newBands returns the geometry of an operation, if it can be computed this way.
func newBands[T Float](s *Shape, o operation) (g bands, ok bool) {
	g = bands{data: o == ofData, in: s.In, out: s.Out(), taps: s.Kernel, sums: s.InChannels, to: s.OutChannels, stride: s.Strides[2], low: s.PadLow[2], step: s.Dilation[2], lanes: micro.PadColumns[T](1)}
	if g.data {
		g.in, g.out, g.sums, g.to = g.out, g.in, g.to, g.sums
	}
	width, unit := micro.PanelWidth[T](), 1
	g.halves = max(4*g.lanes/width, 1)
	if g.data {
		unit = g.stride
	}
	far := (g.taps[2]-1)*g.step >= g.in[2] && g.out[2] > bandEdges
	if far || g.data && max(s.phases(0), s.phases(1)) > frameStride || g.lanes == 1 || s.Groups != 1 || s.Pairs || s.Turned || s.Stacked || s.sizeX() == 0 || s.sizeY() == 0 || unit*g.to > width {
		return bands{}, false
	}
	g.choose(width, unit)
	return g, g.size <= bandMost
}

// choose chooses the length of pieces.
func (g *bands) choose(width, unit int) {
	least := 0
	for pixels := unit; pixels*g.to <= width; pixels += unit {
		t := *g
		t.pixels = pixels
		if cost := t.lineCost(g.taps[0] * g.taps[1]); least == 0 || cost < least {
			least, *g = cost, t
		}
		if pixels >= g.out[2] {
			break
		}
	}
	g.setSize()
}

// bandsRun is such an operation while it runs.
type bandsRun[T Float] struct {
	bands
	x, y, matrices, bias []T // the bias of all outputs of a piece
	relu                 bool
	row                  int // distance between the kernel's rows of a convolution
	batch                int
	images, blocks       int // images of a chunk, and blocks of an image
	list                 []bandRun
	planes, lines        []phase
	spans                [][]span // of the lines
}

var (
	bandsRuns32 pool.Recycler[bandsRun[float32]]
	bandsRuns64 pool.Recycler[bandsRun[float64]]
)

func getBandsRun[T Float]() *bandsRun[T] {
	if single[T]() {
		return (*bandsRun[T])(unsafe.Pointer(bandsRuns32.Get()))
	}
	return (*bandsRun[T])(unsafe.Pointer(bandsRuns64.Get()))
}

func putBandsRun[T Float](r *bandsRun[T]) {
	r.x, r.y, r.matrices, r.bias = nil, nil, nil, nil // let go of the caller's memory
	if single[T]() {
		bandsRuns32.Put((*bandsRun[float32])(unsafe.Pointer(r)))
		return
	}
	bandsRuns64.Put((*bandsRun[float64])(unsafe.Pointer(r)))
}

// scratch is the number of elements of scratch memory: the matrices and the biases.
func (g *bands) scratch() int { return g.size + g.pixels*g.to }

// runBands computes the operation. The kernel of a convolution may be packed by package gemm: into one panel.
func runBands[T Float](p *pool.Pool, s *Shape, g *bands, x, kernel, bias []T, relu bool, y, scratch []T, packed bool) {
	r := getBandsRun[T]()
	r.bands, r.x, r.y, r.relu, r.batch, r.bias = *g, x, y, relu, s.Batch, nil
	if r.matrices, r.row = scratch[:g.size], g.to; packed {
		r.row = micro.PanelWidth[T]()
	}
	if bias != nil {
		r.bias = scratch[g.size : g.size+g.pixels*g.to]
		repeated(r.bias, bias[:g.to])
	}
	r.setAxes(s)
	matrices := r.matrices
	r.list = r.list[:0]
	for b := g.next(0); b.pieces > 0; b = g.next(b.first + b.pieces*g.pixels) {
		r.list = append(r.list, b)
		size := g.matrix(&b) * g.taps[0] * g.taps[1]
		r.pack(&b, matrices[:size], kernel)
		matrices = matrices[size:]
	}
	chunks, grain := r.cut(p.Workers(), s)
	p.Parallel(chunks, grain, r)
	putBandsRun(r)
}

// setAxes sets up the axes but the width.
func (r *bandsRun[T]) setAxes(s *Shape) {
	r.planes, r.lines = r.planes[:0], r.lines[:0]
	if out := s.Out(); !r.data {
		r.planes, r.lines = append(r.planes, phase{axis: s.forwardAxis(0, out)}), append(r.lines, phase{axis: s.forwardAxis(1, out)})
	} else {
		for i := range s.phases(0) {
			r.planes = append(r.planes, s.backwardPhase(0, i, out))
		}
		for i := range s.phases(1) {
			r.lines = append(r.lines, s.backwardPhase(1, i, out))
		}
	}
	for len(r.spans) < len(r.lines) {
		r.spans = append(r.spans, nil)
	}
	for i := range r.lines {
		r.spans[i] = r.lines[i].axis.spans(r.spans[i][:0])
	}
}

// cut cuts the batch into chunks.
func (r *bandsRun[T]) cut(workers int, s *Shape) (chunks, grain int) {
	var zero T
	size := (volume(r.in)*r.sums + volume(r.out)*r.to) * int(unsafe.Sizeof(zero))
	r.images, r.blocks = min(max(bandBytes/size, 1), r.batch), ceil(size, bandBytes)
	if workers > 1 {
		r.images = min(r.images, ceil(r.batch, 2*workers))
		r.blocks = max(r.blocks, ceil(2*workers, ceil(r.batch, r.images)))
	}
	for _, n := range [...]int{r.out[0], r.out[1], r.out[2] / r.pixels} { // see blockOf
		if n > 1 {
			r.blocks = min(r.blocks, n)
			break
		}
	}
	r.blocks = min(r.blocks, volume(r.out))
	chunks = ceil(r.batch, r.images) * r.blocks
	return chunks, max(chunkFlops/2/max(s.FLOPs()/chunks, 1), 1)
}

// pack makes the matrices of a run: one for each tap of the other axes, whose order is reversed for an input gradient.
func (r *bandsRun[T]) pack(b *bandRun, dst, kernel []T) {
	clear(dst)
	size, tap := r.matrix(b), r.sums*r.row
	width := r.width(b)
	for row := range r.taps[0] * r.taps[1] {
		to, from := dst[row*size:(row+1)*size], kernel[row*r.taps[2]*tap:][:r.taps[2]*tap]
		if r.data {
			to = dst[len(dst)-(row+1)*size:][:size]
		}
		for o := range b.pixels {
			for t := range r.taps[2] {
				i := (b.first+o)*r.stride - r.low + t*r.step
				if r.data {
					if i = b.first + o + r.low - t*r.step; i%r.stride != 0 {
						continue
					}
					i /= r.stride
				}
				if i >= b.low && i < b.high {
					r.packTap(to[(i-b.low)*r.sums*width+o*r.to:], from[t*tap:(t+1)*tap], width)
				}
			}
		}
	}
}

// packTap copies the weights of a tap.
func (r *bandsRun[T]) packTap(to, from []T, width int) {
	for k := range r.sums {
		row := to[k*width:][:r.to]
		if !r.data {
			copy(row, from[k*r.row:])
			continue
		}
		for c := range row {
			row[c] = from[c*r.sums+k]
		}
	}
}

// Run computes chunks: blocks of some images.
func (r *bandsRun[T]) Run(_, lo, hi int) {
	for chunk := lo; chunk < hi; chunk++ {
		n, block := chunk/r.blocks*r.images, chunk%r.blocks
		images := min(r.images, r.batch-n)
		for i := range r.planes {
			for d, end := r.blockOf(block, 0, r.planes[i].axis.out); d < end; d++ {
				for k := range r.lines {
					r.rows(n, images, block, &r.planes[i], d, k)
				}
			}
		}
	}
}

// blockOf returns the part of count outputs, or pieces, along an axis that a block has. The first axis with several
// outputs is cut.
func (r *bandsRun[T]) blockOf(block, axis, count int) (first, end int) {
	for i := range axis {
		if r.out[i] > 1 {
			return 0, count
		}
	}
	if r.out[axis] == 1 {
		return 0, count
	}
	return block * count / r.blocks, (block + 1) * count / r.blocks
}

// bandAxis is one of the things that the rows of tiles may be.
type bandAxis struct{ count, a, c int }

// rows computes the rows of some images in a block at depth d of a plane, in the phase k of the height.
func (r *bandsRun[T]) rows(n, images, block int, plane *phase, d, k int) {
	line := &r.lines[k]
	ad, ah := &plane.axis, &line.axis
	td, tdEnd := ad.inside(d)
	rowX, rowY := r.in[2]*r.sums, r.out[2]*r.to
	first, end := r.blockOf(block, 1, ah.out)
	for _, h := range r.spans[k] {
		if h.first, h.end = max(h.first, first), min(h.end, end); h.first >= h.end {
			continue
		}
		x := (n*r.in[0]+d*ad.inStep+ad.inOffset+td*ad.tapStep)*r.in[1]*rowX + (h.first*ah.inStep+ah.inOffset+h.tap*ah.tapStep)*rowX
		y := ((n*r.out[0]+ad.outStart+d*ad.outStep)*r.out[1] + ah.outStart + h.first*ah.outStep) * rowY
		t := micro.Tile[T]{Segments: h.tapEnd - h.tap, ASegment: ah.tapStep * rowX, Outer: tdEnd - td, AOuter: ad.tapStep * r.in[1] * rowX, AK: 1, Bias: r.bias, ReLU: r.relu}
		start, step, startD, stepD := h.tap, 1, td, 1
		if r.data {
			start, step = r.taps[1]-1-line.last+h.tap*line.step, line.step
			startD, stepD = r.taps[0]-1-plane.last+td*plane.step, plane.step
		}
		matrices := r.matrices
		for i := range r.list {
			b := &r.list[i]
			size := r.matrix(b)
			from, until := r.blockOf(block, 2, b.pieces)
			t.Cols, t.K, t.BK = b.pixels*r.to, (b.high-b.low)*r.sums, r.width(b)
			axes := [3]bandAxis{{until - from, r.moves() * r.sums, r.pixels * r.to}, {h.end - h.first, ah.inStep * rowX, ah.outStep * rowY}, {images, volume(r.in) * r.sums, volume(r.out) * r.to}}
			if from < until {
				empty := t.K*t.Segments*t.Outer == 0
				if !empty {
					t.BSegment, t.BOuter = step*size, stepD*r.taps[1]*size
					t.B, t.A = matrices[(startD*r.taps[1]+start)*size:], r.x[x+(b.low+from*r.moves())*r.sums:]
				}
				r.tiles(&t, &axes, y+(b.first+from*r.pixels)*r.to, empty)
			}
			matrices = matrices[size*r.taps[0]*r.taps[1]:]
		}
	}
}

// tiles computes the outputs along all three axes, from one on. The axis that fills tiles best becomes their rows.
func (r *bandsRun[T]) tiles(t *micro.Tile[T], axes *[3]bandAxis, y int, empty bool) {
	for i := range axes[:2] { // neighbouring axes that are one
		if a, b := &axes[i], &axes[i+1]; a.count*a.a == b.a && a.count*a.c == b.c {
			a.count *= b.count
			*b = *a
			a.count = 1
		}
	}
	rows := 0
	for i := range axes {
		if fill(axes[i].count) > fill(axes[rows].count) {
			rows = i
		}
	}
	axes[0], axes[rows] = axes[rows], axes[0]
	if axes[2].count > axes[1].count {
		axes[1], axes[2] = axes[2], axes[1]
	}
	t.Rows, t.ARow, t.CRow, t.Lines, t.ALine, t.CLine = axes[0].count, axes[0].a, axes[0].c, axes[1].count, axes[1].a, axes[1].c
	a := t.A
	for i := range axes[2].count {
		if t.C = r.y[y+i*axes[2].c:]; empty {
			r.empty(*t)
			continue
		}
		t.A = a[i*axes[2].a:]
		micro.Run(t)
	}
}

// empty computes outputs that see nothing of the input.
func (r *bandsRun[T]) empty(t micro.Tile[T]) {
	if t.Bias == nil {
		for line := range t.Lines {
			for row := range t.Rows {
				clear(t.C[line*t.CLine+row*t.CRow:][:t.Cols])
			}
		}
		return
	}
	t.K, t.Segments, t.Outer = 0, 0, 0
	micro.Run(&t)
}
