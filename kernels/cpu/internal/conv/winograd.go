package conv

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// Winograd is the forward convolution by F(2x2, 3x3) or F(4x4, 3x3) (Lavin and Gray, 2015). For 3x3 taps, a tile of 2x2
// outputs costs 16 products for each pair of channels instead of 36, and a tile of 4x4 outputs 36 instead of 144. The
// input's tiles and the kernel are transformed, 16 or 36 matrix products sum over channels, and their results are
// transformed back. Rounding differs from that of [Forward] by some 1e-6 of the largest result, and by 5e-6 with tiles
// of 4x4. An infinite input turns its tile into NaN.
//
// Kernels of more taps, with strides too, are cut into groups of three taps along each axis, a stride apart. Each group
// sees the input from its first tap on, as if that were further channels: 5x5 taps cost 9 products for each output
// instead of 25. If the kernel is one row, a tile is four outputs along the width, which see six inputs: three taps
// cost 1.5 products instead of 3, seven cost 4.5.
//
// A value must be used by one goroutine at a time. The result depends neither on the number of images nor on that of
// workers.
type Winograd struct {
	shape           Shape
	out             [3]int
	first           [2][]int // tap of each group along the height and width
	flat            bool     // the kernel is one row: tiles have one dimension, and a row of tiles is a part of a row of pixels
	side            int      // pixels of a tile of outputs along each axis: 2 or 4
	rows, cols      int      // of tiles in an image
	inputs, outputs int      // channels of the input and of the sums in scratch memory: whole vectors for tiles of 2x2
	strideV         int      // from one row of the transformed input to the next
	block           int      // rows of tiles that are computed together
	shared          bool     // blocks are shared by all workers, because there are too few for each worker to have some
	local           int      // elements of scratch memory for each worker
	common          int      // and for all workers together

	x, kernel, bias, y, scratch []float32
	relu                        bool
	turned                      bool // the kernel has its taps in reverse and its channels exchanged

	read, write winogradRows // of the block that all workers compute together
	transforms  winogradTransform
}

const (
	winogradChannels = 32  // fewer do not pay for the transformations
	winogradPixels   = 5   // along each axis: fewer leave too few tiles for a product
	winogradLarge    = 25  // fewest tiles of 4x4 outputs of an image: fewer fill no products, and the kernel has more matrices to read
	largeWhole       = 16  // fewest of them if the image cuts none off
	minLargeSavings  = 3.2 // direct products for each of Winograd's that make tiles of 4x4 pay for few channels too
	winogradTiles    = 64  // tiles of a block; each block reads the kernel
	manyTiles        = 112
	fewTiles         = 42        // the same if each tile sees several groups of taps
	fitsCache        = 512 << 10 // bytes of a kernel that stays in the second-level cache
)

// NewWinograd returns nil if [Forward] is better. That depends only on the shape of an image and of the kernel.
func NewWinograd(s *Shape) *Winograd {
	w := &Winograd{shape: s.checked(ofForward)}
	n := &w.shape
	w.out = n.Out()
	if w.flat = n.Kernel[1] == 1 && n.Strides[1] == 1 && n.PadLow[1] == 0 && n.PadHigh[1] == 0; w.flat { // each row of pixels counts as an image
		n.Batch, n.In[1], w.out[1] = n.Batch*n.In[1], 1, 1
	}
	if n.Kernel[0] != 1 || n.Dilation != [3]int{1, 1, 1} || n.Strides[0] != 1 || n.Groups != 1 || n.In[0] != 1 || n.PadLow[0] != 0 || n.PadHigh[0] != 0 || n.Batch == 0 {
		return nil
	}
	w.first = [2][]int{groups(n.Kernel[1], n.Strides[1]), groups(n.Kernel[2], n.Strides[2])}
	w.prepare(4)
	tiles := w.rows * w.cols
	switch {
	case min(n.Kernel[1], n.Kernel[2]) == 2:
		return nil
	case w.flat || n.Kernel != [3]int{1, 3, 3} || n.Strides != [3]int{1, 1, 1}:
		if min(w.depth(), n.OutChannels) < winogradChannels || !w.savesEnough(tiles) {
			return nil
		}
	case min(w.out[1], w.out[2]) < winogradPixels || min(n.InChannels, n.OutChannels) < winogradChannels && !w.paysForFewChannels(tiles):
		return nil
	case tiles < winogradLarge && (tiles < largeWhole || w.out[1]%4 != 0 || w.out[2]%4 != 0):
		w.prepare(2)
	}
	if !byWinograd.Taken() {
		return nil
	}
	return w
}

// paysForFewChannels reports whether that many tiles of 4x4 outputs pay even for few channels, if these fill vectors.
func (w *Winograd) paysForFewChannels(tiles int) bool {
	return tiles >= winogradLarge && w.Spared() >= minLargeSavings && fillsGradient(w.shape.InChannels) && fillsGradient(w.shape.OutChannels)
}

// prepare computes what follows from the shape, for tiles of side x side outputs.
func (w *Winograd) prepare(side int) {
	w.inputs, w.outputs = w.shape.InChannels, w.shape.OutChannels
	w.strideV = gemm.SpacedRow[float32](w.depth())
	if w.setSide(side); side == 2 {
		w.inputs, w.outputs = ceil(w.inputs, 16)*16, ceil(w.outputs, 16)*16
		w.strideV = gemm.SpacedRow[float32](w.inputs)
	}
}

const (
	lineTiles        = 6   // fewest tiles of a row of pixels, for kernels of one row: fewer leave the tiles of products empty
	groupTiles       = 6   // fewest tiles of an image, for large kernels
	minInputChannels = 8   // fewest input channels: fewer fill no vectors
	minLineSavings   = 1.3 // direct products for each of Winograd's, for kernels of one row
	minGroupSavings  = 1.8 // the same for large kernels, whose groups are transformed one by one

	maxKernelBytes = 32 << 20 // most bytes of a transformed kernel
)

// savesEnough reports whether groups of taps save enough products to pay for the transformations, with that many tiles
// of an image.
func (w *Winograd) savesEnough(tiles int) bool {
	n := &w.shape
	least, savesEnough := groupTiles, minGroupSavings
	if w.flat {
		least, savesEnough = lineTiles, minLineSavings
	}
	return tiles >= least && 4*w.KernelSize() <= maxKernelBytes && n.InChannels >= minInputChannels && w.Spared() >= savesEnough
}

// Spared returns how many products [Forward] has for each product of w.
func (w *Winograd) Spared() float64 {
	n := &w.shape
	return float64(w.out[1]*w.out[2]*n.Kernel[1]*n.Kernel[2]*n.InChannels) / float64(w.rows*w.cols*w.matrices()*w.depth())
}

// groups cuts taps into groups of three, a stride apart, and returns the first tap of each.
func groups(taps, stride int) (first []int) {
	for phase := range min(stride, taps) {
		for tap := phase; tap < taps; tap += 3 * stride {
			first = append(first, tap)
		}
	}
	return first
}

// depth is the number of channels of all groups of taps together.
func (w *Winograd) depth() int { return len(w.first[0]) * len(w.first[1]) * w.shape.InChannels }

// setSide sets the number of outputs of a tile along each axis.
func (w *Winograd) setSide(side int) {
	w.side, w.rows, w.cols = side, ceil(w.out[1], side), ceil(w.out[2], side)
	if w.flat && w.cols > 0 {
		tiles := w.cols
		w.cols = ceil(tiles, ceil(tiles, winogradTiles))
		w.rows = ceil(tiles, w.cols)
	}
}

// Form tells apart kernels that are transformed differently, among those with the same number of elements and of
// results.
func (w *Winograd) Form() int {
	n := &w.shape
	return (((n.InChannels*1024+n.Kernel[1])*1024+n.Strides[1])*1024+n.Strides[2])*64 + w.matrices()
}

// points is the number of inputs that a tile sees along each axis, lines the number of rows of pixels, and matrices the
// number of matrix products.
func (w *Winograd) points() int { return w.side + 2 }

func (w *Winograd) lines() int {
	if w.flat {
		return 1
	}
	return w.points()
}

func (w *Winograd) matrices() int { return w.lines() * w.points() }

// KernelSize returns the number of elements of a transformed kernel.
func (w *Winograd) KernelSize() int {
	return w.matrices() * gemm.PackedSize[float32](w.shape.OutChannels, w.depth())
}

// Scratch returns the number of elements of scratch memory that [Winograd.Forward] needs.
func (w *Winograd) Scratch(workers int) int {
	workers = max(workers, 1)
	n, total := &w.shape, w.shape.Batch*w.rows
	tiles := winogradTiles
	switch {
	case !w.flat && w.depth() > n.InChannels:
		tiles = fewTiles
	case w.matrices()*w.depth()*n.OutChannels*4 > fitsCache:
		tiles = manyTiles
	}
	w.block = min(max(tiles/w.cols, 1), total)
	if w.shared = workers > 1 && ceil(total, w.block) < 2*workers; w.shared {
		w.block = total
	}
	w.local = w.inputSize() + w.rowSize()
	w.common = w.outputs
	a := w.product(w.block*w.cols, nil, nil, nil)
	if sums := w.matrices() * w.block * w.cols * (w.strideV + w.outputs); w.shared {
		w.common += sums + gemm.ScratchSize(&a, workers)
	} else {
		w.local += sums + gemm.ScratchSize(&a, 1)
	}
	return w.common + workers*w.local
}

// inputSize and rowSize are the elements of the rows of pixels that a row of tiles sees, and of those that it yields,
// including intermediate ones.
func (w *Winograd) inputSize() int { return w.lines() * w.line() }

// line is the distance in elements between the rows of pixels that a row of tiles sees: whole vectors.
func (w *Winograd) line() int { _, _, all := w.pixels(0); return ceil(all*w.inputs, 16) * 16 }

func (w *Winograd) rowSize() int {
	if w.side == 4 && !w.flat {
		return (4 + 6) * 4 * w.cols * w.outputs
	}
	return 4 * w.cols * w.outputs
}

// product describes the matrix products for that many tiles.
func (w *Winograd) product(tiles int, v, kernel, m []float32) gemm.Args[float32] {
	n := &w.shape
	return gemm.Args[float32]{M: tiles, N: n.OutChannels, K: w.depth(), A: v, LDA: w.strideV, B: kernel, Packed: true, C: m, LDC: w.outputs, Batch: [2]int{w.matrices(), 1},
		StrideA: [2]int{tiles * w.strideV, 0}, StrideB: [2]int{gemm.PackedSize[float32](n.OutChannels, w.depth()), 0}, StrideC: [2]int{tiles * w.outputs, 0}}
}

// Forward is the package's [Forward] with a kernel from [Winograd.Transform].
func (w *Winograd) Forward(p *pool.Pool, x, kernel, bias []float32, relu bool, y, scratch []float32) {
	n := &w.shape
	n.need("x", len(x), n.sizeX())
	n.need("transformed kernel", len(kernel), w.KernelSize())
	n.need("y", len(y), n.sizeY())
	n.need("scratch", len(scratch), w.Scratch(p.Size()))
	common, scratch := scratch[:w.common], scratch[w.common:]
	if bias != nil {
		n.need("bias", len(bias), n.OutChannels)
	}
	if len(bias) < w.outputs {
		clear(common[copy(common[:w.outputs], bias):w.outputs])
		bias = common[:w.outputs]
	}
	w.x, w.kernel, w.bias, w.y, w.scratch, w.relu = x, kernel, bias, y, scratch, relu
	if w.shared {
		w.together(p, common[w.outputs:])
	} else {
		p.Parallel(ceil(n.Batch*w.rows, w.block), 1, w)
	}
	w.x, w.kernel, w.bias, w.y, w.scratch = nil, nil, nil, nil, nil
}

// together computes all rows of tiles; all workers go through the stages together.
func (w *Winograd) together(p *pool.Pool, scratch []float32) {
	total := w.shape.Batch * w.rows
	v, m, rest := w.sums(scratch, total)
	grain := max((1<<14)/(w.rowSize()+w.inputSize()), 1)
	w.read = winogradRows{w: w, v: v, end: total}
	p.Parallel(total, grain, &w.read)
	runProduct(p, w.product(total*w.cols, v, w.kernel, m), rest)
	w.write = winogradRows{w: w, m: m, end: total}
	p.Parallel(total, grain, &w.write)
	w.read, w.write = winogradRows{}, winogradRows{}
}

// sums cuts the memory for the transformed input and the sums of rows of tiles off scratch.
func (w *Winograd) sums(scratch []float32, rows int) (v, m, rest []float32) {
	tiles := w.matrices() * rows * w.cols
	v, scratch = scratch[:tiles*w.strideV], scratch[tiles*w.strideV:]
	return v, scratch[:tiles*w.outputs], scratch[tiles*w.outputs:]
}

// winogradRows transforms the rows of tiles [first, end) into v, or back from m.
type winogradRows struct {
	w          *Winograd
	v, m       []float32
	first, end int
}

// Run implements pool.Task.
func (r *winogradRows) Run(worker, lo, hi int) {
	w := r.w
	tiles := (r.end - r.first) * w.cols
	rows := w.scratch[worker*w.local:][:w.inputSize()]
	edge := w.scratch[worker*w.local+len(rows):][:w.rowSize()]
	for i := lo; i < hi; i++ {
		image, row := (r.first+i)/w.rows, (r.first+i)%w.rows
		switch {
		case r.v != nil && w.side == 4:
			w.readSixes(r.v[i*w.cols*w.strideV:], rows, image, row, tiles*w.strideV)
		case r.v != nil:
			w.readRows(rows, image, row, 0)
			vec.WinogradInput(r.v[i*w.cols*w.strideV:], rows, w.cols, w.inputs, w.strideV, tiles*w.strideV, len(rows)/4)
		case w.flat:
			w.writeLine(edge, r.m[i*w.cols*w.outputs:], image, row, tiles*w.outputs)
		case w.side == 4:
			w.writeFours(edge, r.m[i*w.cols*w.outputs:], image, row, tiles*w.outputs)
		default:
			w.writeRows(edge, r.m[i*w.cols*w.outputs:], image, row, tiles*w.outputs)
		}
	}
}

// Run implements pool.Task: it computes blocks of rows of tiles.
func (w *Winograd) Run(worker, lo, hi int) {
	for block := lo; block < hi; block++ {
		first := block * w.block
		end := min(first+w.block, w.shape.Batch*w.rows)
		v, m, rest := w.sums(w.scratch[worker*w.local+w.inputSize()+w.rowSize():(worker+1)*w.local], end-first)
		read := winogradRows{w: w, v: v, first: first, end: end}
		read.Run(worker, 0, end-first)
		runProduct(nil, w.product((end-first)*w.cols, v, w.kernel, m), rest)
		write := winogradRows{w: w, m: m, first: first, end: end}
		write.Run(worker, 0, end-first)
	}
}

// pixels returns which pixels [lo, hi) of a copied row lie within the image, for a row of tiles, and the number of all
// its pixels.
func (w *Winograd) pixels(row int) (lo, hi, all int) {
	n := &w.shape
	all = n.Strides[2]*(w.side*w.cols+1) + slices.Max(w.first[1]) + 1
	low := n.PadLow[2] - w.column(row)
	lo = min(max(low, 0), all)
	return lo, max(min(n.In[2]+low, all), lo), all
}

// column returns the column of the padded image at which a row of tiles begins.
func (w *Winograd) column(row int) int {
	if w.flat {
		return row * w.side * w.cols * w.shape.Strides[2]
	}
	return 0
}

// line0 returns the first row of an image that a row of tiles sees, from a tap on.
func (w *Winograd) line0(row, tap int) int {
	if w.flat {
		return 0
	}
	return w.side*row*w.shape.Strides[1] + tap - w.shape.PadLow[1]
}

// readRows copies the rows of an image that a row of tiles sees, from a tap on, with zeros outside the image.
func (w *Winograd) readRows(rows []float32, image, row, tap int) {
	n := &w.shape
	lo, hi, _ := w.pixels(row)
	c, line := w.inputs, w.line()
	for i := range w.lines() {
		to := rows[i*line : (i+1)*line]
		at := w.line0(row, tap) + i*n.Strides[1]
		if at < 0 || at >= n.In[1] {
			clear(to)
			continue
		}
		clear(to[:lo*c])
		if lo < hi {
			copyChannels(to[lo*c:hi*c], w.x[((image*n.In[1]+at)*n.In[2]+lo-n.PadLow[2]+w.column(row))*n.InChannels:], hi-lo, c, n.InChannels)
		}
		clear(to[hi*c:])
	}
}

// writeRows transforms the sums of a row of tiles back; edge has room for what may lie outside the result.
func (w *Winograd) writeRows(edge, m []float32, image, row, plane int) {
	n := &w.shape
	c, line := w.outputs, w.out[2]*n.OutChannels
	y := w.y[(image*w.out[1]+2*row)*line:]
	count := min(w.out[1]-2*row, 2)
	if count == 2 && w.out[2]%2 == 0 && c == n.OutChannels {
		vec.WinogradOutput(y, m, w.bias, w.relu, w.cols, c, c, plane, line)
		return
	}
	vec.WinogradOutput(edge, m, w.bias, w.relu, w.cols, c, c, plane, 2*w.cols*c)
	for i := range count {
		copyChannels(y[i*line:(i+1)*line], edge[i*2*w.cols*c:], w.out[2], n.OutChannels, c)
	}
}

// copyChannels copies pixels between arrays with different numbers of channels; additional channels become zeros.
func copyChannels(dst, src []float32, pixels, to, from int) {
	if to == from {
		copy(dst[:pixels*to], src)
		return
	}
	for i := range pixels {
		pixel := dst[i*to : (i+1)*to]
		clear(pixel[copy(pixel, src[i*from:(i+1)*from]):])
	}
}
