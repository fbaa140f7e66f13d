package conv

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// The gradient of a 3x3 kernel is Winograd's F(2x2, 3x3) read backwards. The input's tiles d are transformed as for the
// convolution, and tiles e of 2x2 pixels of the result's gradient become A·e·Aᵀ (see [vec.WinogradGradient]). The 16
// products of both, summed over all tiles, are 16 matrices of input by output channels. At the end they are transformed
// to the nine taps, once. That takes 16 products for each tile and pair of channels instead of 36. Sums are rounded
// about as much as those of the nine taps.

const (
	gradientChannels   = 64  // channels of a unit, whose sums stay in the second-level cache
	gradientTiles      = 128 // tiles that are transformed and multiplied together
	gradientColumns    = 96  // most tiles of a row of an image that are processed together
	gradientPiece      = 512 // sums that are transformed to taps together
	minGradientSavings = 1.2 // direct products for each of Winograd's
	gradientFinish     = 8   // tiles whose products take as long as the final transformation of the sums
	gradientGap        = 16  // numbers between matrices of tiles: at multiples of 4 KB, they would share a few sets of the first-level cache
	partTiles          = 64  // fewest tiles of a partial result: fewer do not pay for another transformation
)

// winogradWeights is the state of a running kernel gradient by Winograd's products.
type winogradWeights struct {
	shape               Shape
	out                 [3]int
	rows, pieces, cols  int // rows of tiles in an image, the pieces that each is cut into, and the tiles of a piece
	inputs, outputs     int // channels of a unit: whole vectors
	inBlocks, outBlocks int // blocks of that many channels
	parts               int // blocks of rows of tiles with a partial result each
	block               int // pieces whose products are summed at once
	local               int // scratch of a worker

	x, dy, dkernel, partial, scratch []float32
	summing                          sumTask[float32]
}

var winogradGradients pool.Recycler[winogradWeights]

// hasWinogradWeights reports whether the kernel gradient is computed by Winograd's products.
func hasWinogradWeights[T Float](s *Shape) bool {
	var zero T
	if unsafe.Sizeof(zero) != 4 || s.Pairs || s.Kernel != [3]int{1, 3, 3} || s.Strides != [3]int{1, 1, 1} || s.Dilation != [3]int{1, 1, 1} || s.Groups != 1 ||
		s.In[0] != 1 || s.PadLow[0] != 0 || s.PadHigh[0] != 0 || !fillsGradient(s.InChannels) || !fillsGradient(s.OutChannels) {
		return false
	}
	for i := 1; i < 3; i++ {
		if min(s.PadLow[i], s.PadHigh[i]) < 0 || max(s.PadLow[i], s.PadHigh[i]) > mostPad {
			return false
		}
	}
	out := s.Out()
	tiles := ceil(out[1], 2) * ceil(out[2], 2)
	return s.Batch > 0 && float64(9*s.Batch*out[1]*out[2]) >= minGradientSavings*float64(16*(s.Batch*tiles+gradientFinish)) && byWinogradWeights.Taken()
}

// fillsGradient reports whether that many channels fill vectors well enough for the transformations.
func fillsGradient(channels int) bool { return channels == 16 || channels >= 24 }

// set computes everything that follows from the shape.
func (w *winogradWeights) set(s *Shape) {
	w.shape, w.out = *s, s.Out()
	tiles := ceil(w.out[2], 2)
	w.rows, w.cols = ceil(w.out[1], 2), ceil(tiles, ceil(tiles, gradientColumns))
	w.pieces = ceil(tiles, w.cols)
	w.inputs, w.outputs = gradientBlock(s.InChannels), gradientBlock(s.OutChannels)
	w.inBlocks, w.outBlocks = ceil(s.InChannels, w.inputs), ceil(s.OutChannels, w.outputs)
	total := w.total()
	w.parts = max(min(ceil(wantChunks, w.inBlocks*w.outBlocks), total*w.cols/partTiles, total), 1)
	w.block = min(max(gradientTiles/w.cols, 1), ceil(total, w.parts))
	w.local = w.sizeX() + w.sizeDY() + 16*(w.block*w.cols*(w.inputs+w.outputs)+2*gradientGap+w.inputs*w.outputs) + gradientPiece
}

// gradientBlock returns how many of the channels a unit takes: whole vectors, and a few more if none are left then.
func gradientBlock(channels int) int {
	const vector = 16
	blocks := max(ceil(channels-vector, gradientChannels), 1)
	return ceil(channels, blocks*vector) * vector
}

// total is the number of pieces of all images.
func (w *winogradWeights) total() int { return w.shape.Batch * w.rows * w.pieces }

// lineX is the number of elements of a row of pixels that a piece sees, sizeX that of all its rows, and sizeDY that of
// the result's gradient.
func (w *winogradWeights) lineX() int  { return (2*w.cols + 2) * w.inputs }
func (w *winogradWeights) sizeX() int  { return 4 * w.lineX() }
func (w *winogradWeights) sizeDY() int { return 4 * w.cols * w.outputs }

// winogradWeightsScratch returns the number of elements of scratch memory that [backwardWeightsWinograd] needs.
func winogradWeightsScratch(s *Shape, workers int) int {
	var w winogradWeights
	w.set(s)
	size := max(workers, 1) * w.local
	if w.parts > 1 {
		size += w.parts * s.sizeKernel()
	}
	return size
}

func backwardWeightsWinograd(p *pool.Pool, s *Shape, x, dy, dkernel, scratch []float32) {
	w := winogradGradients.Get()
	w.set(s)
	w.x, w.dy, w.dkernel = x[:s.sizeX()], dy[:s.sizeY()], dkernel[:s.sizeKernel()]
	if w.partial = w.dkernel; w.parts > 1 {
		size := w.parts * len(w.dkernel)
		w.partial, scratch = scratch[:size], scratch[size:]
	}
	w.scratch = scratch
	p.Parallel(w.parts*w.inBlocks*w.outBlocks, 1, w)
	if w.parts > 1 {
		w.summing = sumTask[float32]{w.dkernel, w.partial, w.parts}
		w.summing.run(p)
	}
	*w = winogradWeights{} // lets go of the caller's memory
	winogradGradients.Put(w)
}

// Run implements pool.Task: a unit is a block of input channels and one of output channels over a block of the images.
func (w *winogradWeights) Run(worker, lo, hi int) {
	for i := lo; i < hi; i++ {
		in, rest := i%w.inBlocks, i/w.inBlocks
		u := gradientUnit{winogradWeights: w, firstIn: in * w.inputs, firstOut: rest % w.outBlocks * w.outputs}
		u.ins, u.outs = min(w.inputs, w.shape.InChannels-u.firstIn), min(w.outputs, w.shape.OutChannels-u.firstOut)
		scratch := w.scratch[worker*w.local : (worker+1)*w.local]
		for _, part := range []struct {
			of   *[]float32
			size int
		}{{&u.rowsX, w.sizeX()}, {&u.rowsDY, w.sizeDY()}, {&u.sums, 16 * w.inputs * w.outputs}, {&u.piece, gradientPiece}} {
			*part.of, scratch = scratch[:part.size], scratch[part.size:]
		}
		u.tiles = scratch
		part := rest / w.outBlocks
		u.compute(part*w.total()/w.parts, (part+1)*w.total()/w.parts)
		u.finish(w.partial[part*len(w.dkernel):])
	}
}

// gradientUnit is the gradient of a block of input channels and one of output channels.
type gradientUnit struct {
	*winogradWeights
	firstIn, firstOut int
	ins, outs         int // channels

	rowsX, rowsDY []float32 // rows of pixels that tiles are read from
	tiles         []float32 // transformed ones
	sums, piece   []float32
}

// compute sums the products of the pieces [first, end).
func (u *gradientUnit) compute(first, end int) {
	clear(u.rowsX)
	clear(u.rowsDY)
	if first == end {
		clear(u.sums)
	}
	for at := first; at < end; at += u.block {
		count := min(u.block, end-at)
		tiles := count * u.cols
		planeX, planeDY := tiles*u.inputs+gradientGap, tiles*u.outputs+gradientGap
		v, e := u.tiles[:16*planeX], u.tiles[16*planeX:]
		for i := range count {
			row := (at + i) / u.pieces
			image, row, column := row/u.rows, row%u.rows, (at+i)%u.pieces*u.cols
			u.readX(image, row, column)
			vec.WinogradInput(v[i*u.cols*u.inputs:], u.rowsX, u.cols, u.inputs, u.inputs, planeX, u.lineX())
			u.readDY(e[i*u.cols*u.outputs:], image, row, column, planeDY)
		}
		u.multiply(v, e, tiles, at > first)
	}
}

// multiply computes the 16 products of that many tiles.
func (u *gradientUnit) multiply(v, e []float32, tiles int, adds bool) {
	width := micro.PanelWidth[float32]()
	for m := range 16 {
		for col := 0; col < u.outs; col += width {
			t := micro.Tile[float32]{Rows: u.ins, Cols: min(width, u.outs-col), K: tiles, Segments: 1, Outer: 1, ARow: 1, AK: u.inputs, BK: u.outputs, CRow: u.outputs, Accumulate: adds}
			t.A, t.B, t.C = v[m*(tiles*u.inputs+gradientGap):], e[m*(tiles*u.outputs+gradientGap)+col:], u.sums[m*u.inputs*u.outputs+col:]
			micro.Run(&t)
		}
	}
}

// readX copies the rows of an image that tiles see, from a column on, with zeros outside the image.
func (u *gradientUnit) readX(image, row, column int) {
	n, c, line := &u.shape, u.inputs, u.lineX()
	left := n.PadLow[2] - 2*column
	lo := min(max(left, 0), 2*u.cols+2)
	hi := max(min(n.In[2]+left, 2*u.cols+2), lo)
	for i := range 4 {
		to, at := u.rowsX[i*line:][:line], 2*row+i-n.PadLow[1]
		if at < 0 || at >= n.In[1] {
			clear(to)
			continue
		}
		clear(to[:lo*c])
		clear(to[hi*c:])
		if lo < hi {
			copyBlocks(to[lo*c:], u.x[((image*n.In[1]+at)*n.In[2]+lo-left)*n.InChannels+u.firstIn:], hi-lo, u.ins, c, n.InChannels)
		}
	}
}

// copyBlocks copies channels of each of that many pixels; to and from are the distances between pixels.
func copyBlocks(dst, src []float32, pixels, channels, to, from int) {
	if channels == to && to == from {
		copy(dst[:pixels*to], src)
		return
	}
	for i := range pixels {
		copy(dst[i*to:i*to+channels], src[i*from:])
	}
}

// readDY transforms the tiles of the result's gradient, from a column on. Where an image ends within tiles, it first
// copies rows with zeros behind them.
func (u *gradientUnit) readDY(dst []float32, image, row, column, plane int) {
	n, c := &u.shape, u.outputs
	height, width := min(u.out[1]-2*row, 2), min(u.out[2]-2*column, 2*u.cols)
	from := u.dy[((image*u.out[1]+2*row)*u.out[2]+2*column)*n.OutChannels+u.firstOut:]
	if height == 2 && width == 2*u.cols && u.outs == c {
		vec.WinogradGradient(dst, from, u.cols, c, c, plane, u.out[2]*n.OutChannels, n.OutChannels)
		return
	}
	line := 2 * u.cols * c
	for i := range 2 {
		to := u.rowsDY[i*line:][:line]
		if i >= height {
			clear(to)
			continue
		}
		copyBlocks(to, from[i*u.out[2]*n.OutChannels:], width, u.outs, c, n.OutChannels)
		clear(to[width*c:])
	}
	vec.WinogradGradient(dst, u.rowsDY, u.cols, c, c, plane, line, c)
}

// finish transforms the sums to the taps of dkernel, first down the columns.
func (u *gradientUnit) finish(dkernel []float32) {
	n, size := &u.shape, u.inputs*u.outputs
	for at := 0; at < size; at += gradientPiece {
		count := min(gradientPiece, size-at)
		sums := func(i int) []float32 { return u.sums[i*size+at:][:count] }
		for j := range 4 {
			toTaps(sums(j), sums(4+j), sums(8+j), sums(12+j), u.piece[:count])
		}
		for i := 0; i < 16; i += 4 {
			if i != 8 {
				toTaps(sums(i), sums(i+1), sums(i+2), sums(i+3), u.piece[:count])
			}
		}
	}
	places := [3]int{0, 1, 3}
	for i, line := range places {
		for j, column := range places {
			from := u.sums[(4*line+column)*size:]
			to := dkernel[((3*i+j)*n.InChannels+u.firstIn)*n.OutChannels+u.firstOut:]
			copyBlocks(to, from, u.ins, u.outs, n.OutChannels, u.outputs)
		}
	}
}

// toTaps replaces a, b and d by a + (b + c), b - c and (b + c) - d.
func toTaps(a, b, c, d, sum []float32) {
	vec.Add(sum, b, c)
	vec.Sub(b, b, c)
	vec.Add(a, a, sum)
	vec.Sub(d, sum, d)
}
