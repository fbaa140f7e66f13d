package conv

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// The last layer of an autoencoder or of a generator of images has one channel, or three. They fill little of a vector,
// even if the taps along the width become columns (spread.go) or the phases of a transposed convolution share a tile.
// Where that wastes much, the operation is a matrix product whose rows are all taps and channels, and whose columns are
// pixels:
//
//	z[t, c, j] = Σ_k kernel[t, c, k] · x[j, k]      y[i, c] = bias[c] + Σ_{t, j: j·stride + low + t·step = i} z[t, c, j]
//
// This covers input gradients, with dy in the place of x and dx in that of y, and convolutions without strides. The
// rows of z are added to planes of the result. A plane holds one channel of the pixels with the same residues modulo
// the strides. Its lines are as long as those of x, so that all lines of a row of z are added at once. In the end the
// planes are transposed into pixels. Images are cut into bands, so that z stays in the second-level cache. Only float32
// is computed this way.

const (
	tapRowsSums    = 1 << 17 // numbers of z in memory at a time
	tapRowsHalo    = 4       // fewest pixels of a band for each tap along its axis: neighbouring bands share the products under the taps
	tapRowsLeast   = 8       // fewest terms of a sum
	tapRowsMost    = 6       // most channels of the result: more fill vectors well enough by themselves
	tapRowsElement = 12      // half cycles times lanes to store and add an element of z
	tapRowsImage   = 1200    // half cycles of overhead for an image
	tapRowsBlock   = 8       // rows that micro.TransposeShort reads
	tapRowsInside  = 3       // products with taps outside the result count if all products are more than so many times those inside
	tapRowsPixels  = 9       // in volumes, and with AVX2: fewest pixels of an image,
	tapRowsBeyond  = 16      // unless the window has so many times the image's pixels,
	tapRowsTerms   = 150     // and, with AVX2, fewest products of pixels and terms of a sum for each square of the channels
)

// tapRows is the geometry of a convolution, or of an input gradient, whose taps become rows.
type tapRows struct {
	in, out, taps     [3]int // pixels of x and of the result, and the size of the window
	stride, low, step [3]int // tap t adds pixel j of x to pixel j·stride + low + t·step of the result
	batch             int
	sums, channels    int // channels of x and of the result
	axis              int // which is cut into bands
	length, bands     int // results of a band along that axis, and the number of bands
}

// newTapRows returns the geometry of an operation, and whether it should be computed this way. The decision ignores the
// batch, and also the height of images, which may come in bands of rows.
func newTapRows[T Float](s *Shape, o operation) (tapRows, bool) {
	lanes, sums, channels := micro.PadColumns[T](1), s.InChannels, s.OutChannels
	if o == ofData {
		sums, channels = channels, sums
	}
	switch {
	case channels > tapRowsMost || sums < tapRowsLeast || !single[T]() || lanes == 1 || s.Groups != 1 || s.Pairs || s.sizeX() == 0 || s.sizeY() == 0:
		return tapRows{}, false
	case o == ofForward && (volume(s.Strides) != 1 || s.unfolds()) || o == ofData && overlaps[T](s):
		return tapRows{}, false
	}
	g := tapRows{in: s.In, out: s.Out(), taps: s.Kernel, stride: s.Strides, batch: s.Batch, sums: sums, channels: channels, axis: 1, bands: 1}
	if o == ofData {
		g.in, g.out = g.out, g.in
	}
	for i := range g.low {
		if g.low[i], g.step[i] = s.PadLow[i], -s.Dilation[i]; o == ofData {
			g.low[i], g.step[i] = -s.PadLow[i], s.Dilation[i]
		}
	}
	return g, g.pays(lanes) && g.paysPixels() && g.cut() && byTapRows.Taken()
}

// pays compares costs for each pixel of x, in half cycles times lanes, with those of tiles whose columns are the taps
// along the width, of each phase. A single vector of columns takes as long as two where vectors are short, because each
// needs an element of x. An element of z costs about half more than its products, and what it takes to store and add
// it. It takes images to be square.
func (g *tapRows) pays(lanes int) bool {
	vectors, least := 0, 1
	if lanes < 16 {
		least = 2
	}
	for phase := range g.stride[2] {
		taps := 0
		for t := range g.taps[2] {
			if modulo(g.low[2]+t*g.step[2], g.stride[2]) == phase {
				taps++
			}
		}
		if taps > 0 {
			vectors += max(ceil(taps*g.channels, lanes), least)
		}
	}
	adds := spreadAdd*(ceil(g.taps[2], g.stride[2])+1)*ceil(g.channels, lanes) + spreadRow
	plain := lanes * (g.taps[0]*g.taps[1]*vectors*g.sums + volume(g.stride)*adds)
	image := g.pixels()
	if inside, all := g.inside(); tapRowsInside*inside < all && volume(g.taps) < tapRowsBeyond*image {
		plain = plain * tapRowsInside * inside / all
	}
	mine := volume(g.taps)*g.channels*(g.sums*3/2+tapRowsElement) + 2*g.sums + lanes*tapRowsImage/image
	return 10*mine <= 9*plain
}

// pixels is the number of pixels of an image, or of a plane of a volume, which is taken to be square, since the height
// must not change bits.
func (g *tapRows) pixels() int {
	if g.in[1] > 1 || g.taps[1] > 1 {
		return g.in[2] * g.in[2]
	}
	return g.in[2]
}

// inside returns how many of all products of a pixel with a tap lie inside the result, along the depth and the width.
// Along the height, it takes the same part of them as along the width.
func (g *tapRows) inside() (inside, all int) {
	inside, all = g.insideAxis(0)
	n, of := g.insideAxis(2)
	if g.in[1] > 1 || g.taps[1] > 1 {
		n, of = n*n, of*of
	}
	return inside * n, all * of
}

func (g *tapRows) insideAxis(axis int) (inside, all int) {
	for t := range g.taps[axis] {
		at := g.low[axis] + t*g.step[axis]
		first, end := max(ceil(-at, g.stride[axis]), 0), min(ceil(g.out[axis]-at, g.stride[axis]), g.in[axis])
		inside += max(end-first, 0)
	}
	return inside, g.in[axis] * g.taps[axis]
}

// paysPixels reports whether an image has enough pixels and, with AVX2, terms of a sum for its channels. Otherwise
// several small images are better computed together. This follows grids of shapes on Zen 3 and 4.
func (g *tapRows) paysPixels() bool {
	pixels := g.pixels()
	switch {
	case volume(g.taps) >= tapRowsBeyond*pixels:
		return true
	case usesAVX2():
		return pixels >= tapRowsPixels && g.sums*pixels >= tapRowsTerms*g.channels*g.channels
	}
	return g.taps[0] == 1 || pixels >= tapRowsPixels
}

// cut cuts the result into bands, and reports whether their products fit into memory.
func (g *tapRows) cut() bool {
	most := tapRowsSums / (volume(g.taps) * g.channels) // pixels
	volumes := g.in[0] > 1 || g.out[0] > 1
	if !volumes && g.in[1] == 1 && g.out[1] == 1 {
		g.axis = 2
	}
	length := most / (volume(g.in) / g.in[g.axis])
	if volumes {
		g.length = g.out[g.axis]
		return length >= g.in[g.axis]
	}
	reach := (g.taps[g.axis] - 1) * max(g.step[g.axis], -g.step[g.axis]) / g.stride[g.axis]
	if length < tapRowsHalo*(reach+1) {
		return false
	}
	s := g.stride[g.axis]
	all := ceil(g.out[g.axis], s)
	g.bands = ceil(all, length-reach)
	g.length = ceil(all, g.bands) * s
	g.bands = ceil(g.out[g.axis], g.length)
	return true
}

// modulo is the remainder that is not negative.
func modulo(a, b int) int { return (a%b + b) % b }

// band returns the results [from, to) of a band along the axis that is cut, and the pixels [first, end) of x that they
// depend on.
func (g *tapRows) band(i int) (from, to, first, end int) {
	a := g.axis
	if g.bands == 1 {
		return 0, g.out[a], 0, g.in[a]
	}
	from, to = i*g.length, min((i+1)*g.length, g.out[a])
	near, far := g.low[a], g.low[a]+(g.taps[a]-1)*g.step[a]
	near, far = min(near, far), max(near, far)
	first = max(-((far - from) / g.stride[a]), 0)
	if from > far {
		first = ceil(from-far, g.stride[a])
	}
	if to-1 >= near {
		end = min((to-1-near)/g.stride[a]+1, g.in[a])
	}
	return from, to, min(first, end), end
}

// product returns the product of a band with n pixels along the axis that is cut. The rows of z are an odd number of
// cache lines apart, which spreads them over all sets of a cache.
func (g *tapRows) product(n int) gemm.Args[float32] {
	pixels := volume(g.in) / g.in[g.axis] * n
	return gemm.Args[float32]{M: volume(g.taps) * g.channels, N: pixels, K: g.sums, TransB: true, LDC: (ceil(pixels, 16) | 1) * 16}
}

// plane returns the lines of a plane for each depth of the result, and their length. With several lines it is that of x
// or more, so that the lines of z that are added are contiguous in both.
func (g *tapRows) plane() (lines, length int) {
	out := g.out
	out[g.axis] = g.length
	if lines, length = ceil(out[1], g.stride[1]), ceil(out[2], g.stride[2]); g.axis == 1 {
		length = max(length, g.in[2])
	}
	return lines, length
}

// planes is the number of planes.
func (g *tapRows) planes() int { return g.stride[1] * g.stride[2] * g.channels }

// direct reports whether the result is the only plane.
func (g *tapRows) direct() bool {
	_, length := g.plane()
	return g.planes() == 1 && (g.axis == 2 || length == g.out[2])
}

// local returns the sizes of a worker's scratch memory: z, the planes, and that of the product.
func (g *tapRows) local() (sizes [3]int) {
	for i, last := 0, -1; i < g.bands; i++ {
		if _, _, first, end := g.band(i); end-first != last {
			last = end - first
			a := g.product(last)
			sizes[0], sizes[2] = max(sizes[0], a.M*a.LDC), max(sizes[2], gemm.ScratchSize(&a, 1))
		}
	}
	if !g.direct() {
		lines, length := g.plane()
		sizes[1] = (g.planes() + tapRowsBlock) * g.out[0] * lines * length
	}
	return sizes
}

// scratch is the scratch memory of the operation.
func (g *tapRows) scratch(o operation, workers int) int {
	sizes := g.local()
	return (sizes[0]+sizes[1]+sizes[2])*max(workers, 1) + g.kernelSize(o)
}

// kernelSize is the size of the copy of a convolution's kernel, whose channels of the result come last.
func (g *tapRows) kernelSize(o operation) int {
	if o == ofData || g.channels == 1 {
		return 0
	}
	return volume(g.taps) * g.channels * g.sums
}

// tapRowsRun is such an operation while it runs.
type tapRowsRun struct {
	tapRows
	x, kernel, bias, y, scratch []float32
	relu                        bool
	sizes                       [3]int // of a worker's scratch memory: see local
}

var tapRowsRuns pool.Recycler[tapRowsRun]

// runTapRows computes the operation.
func runTapRows(p *pool.Pool, g *tapRows, o operation, x, kernel, bias []float32, relu bool, y, scratch []float32) {
	r := tapRowsRuns.Get()
	r.tapRows, r.x, r.kernel, r.bias, r.y, r.relu, r.sizes = *g, x, kernel, bias, y, relu, g.local()
	size := g.kernelSize(o)
	if r.scratch = scratch[size:]; size > 0 {
		r.kernel = scratch[:size]
		for t := 0; t < size; t += g.sums * g.channels {
			for c := range g.channels {
				for k := range g.sums {
					r.kernel[t+c*g.sums+k] = kernel[t+k*g.channels+c]
				}
			}
		}
	}
	flops := 2 * volume(g.in) * volume(g.taps) * g.channels * g.sums / g.bands
	p.Parallel(g.batch*g.bands, max(chunkFlops/2/max(flops, 1), 1), r)
	r.x, r.kernel, r.bias, r.y, r.scratch = nil, nil, nil, nil, nil // let go of the caller's memory
	tapRowsRuns.Put(r)
}

// Run computes bands.
func (r *tapRowsRun) Run(worker, lo, hi int) {
	z, planes, size := r.sizes[0], r.sizes[1], r.sizes[0]+r.sizes[1]+r.sizes[2]
	local := r.scratch[worker*size : (worker+1)*size]
	for i := lo; i < hi; i++ {
		b := tapRowsBand{tapRowsRun: r, image: i / r.bands, memory: local[z : z+planes]}
		b.compute(i%r.bands, local[:z], local[z+planes:])
	}
}

// tapRowsBand is a band of an image while it is computed.
type tapRowsBand struct {
	*tapRowsRun
	image         int
	memory        []float32 // the planes
	from, to      [3]int    // its part of the result,
	first, at     [3]int    // and of x: the first pixel and the numbers of pixels
	lines, length int       // of a plane
}

// compute computes a band.
func (b *tapRowsBand) compute(band int, z, scratch []float32) {
	b.to, b.at = b.out, b.in
	var end int
	b.from[b.axis], b.to[b.axis], b.first[b.axis], end = b.band(band)
	b.at[b.axis] = end - b.first[b.axis]
	b.lines, b.length = b.plane()
	if b.direct() {
		b.lines, b.length = b.to[1]-b.from[1], b.to[2]-b.from[2]
		b.memory = b.line(0, b.from[1], b.to[0]*b.lines)
	}
	b.begin()
	if pixels := volume(b.at); pixels > 0 {
		a := b.product(b.at[b.axis])
		begin := (b.image*volume(b.in) + b.first[1]*b.in[2] + b.first[2]) * b.sums
		a.A, a.B, a.C = b.kernel, b.x[begin:begin+pixels*b.sums], z[:a.M*a.LDC]
		gemm.Run(nil, &a, scratch)
		for t := range volume(b.taps) {
			for c := range b.channels {
				b.add(t, c, a.C[(t*b.channels+c)*a.LDC:][:pixels])
			}
		}
	}
	if !b.direct() {
		b.transpose()
	}
	if b.relu {
		for d := range b.out[0] {
			y := b.line(d, b.from[1], b.to[1]-b.from[1])
			vec.Relu(y, y)
		}
	}
}

// line returns the part of a line of the result that the band computes, and of lines that follow it.
func (b *tapRowsBand) line(d, h, lines int) []float32 {
	at := ((b.image*b.out[0]+d)*b.out[1]+h)*b.out[2] + b.from[2]
	return b.y[at*b.channels : (at+lines*(b.to[2]-b.from[2]))*b.channels]
}

// begin sets the planes to the bias.
func (b *tapRowsBand) begin() {
	size := b.out[0] * b.lines * b.length
	for i := range b.planes() {
		plane := b.memory[i*size : (i+1)*size]
		if b.bias == nil {
			clear(plane)
			continue
		}
		plane[0] = b.bias[i%b.channels]
		for n := 1; n < size; n *= 2 {
			copy(plane[n:], plane[:n])
		}
	}
}

// reach returns where the pixels of x along an axis go, at a tap: to places of planes with a residue modulo the stride.
// Pixel first goes to place first + shift, and so on to before end. The others go beyond the band.
func (b *tapRowsBand) reach(axis, tap int) (residue, shift, first, end int) {
	start := b.first[axis]*b.stride[axis] + b.low[axis] + tap*b.step[axis] - b.from[axis]
	residue = modulo(start, b.stride[axis])
	shift = (start - residue) / b.stride[axis]
	return residue, shift, max(-shift, 0), min(b.at[axis], ceil(b.to[axis]-b.from[axis]-residue, b.stride[axis])-shift)
}

// add adds the products of a tap and channel to their plane.
func (b *tapRowsBand) add(t, c int, z []float32) {
	down, lower, top, bottom := b.reach(1, t/b.taps[2]%b.taps[1])
	right, later, left, end := b.reach(2, t%b.taps[2])
	if top >= bottom || left >= end {
		return
	}
	width, plane := b.at[2], b.lines*b.length
	at := ((down*b.stride[2]+right)*b.channels + c) * b.out[0] * plane
	together := width == b.length && 2*(end-left) > width
	for d := range b.at[0] {
		deep := d*b.stride[0] + b.low[0] + t/b.taps[2]/b.taps[1]*b.step[0]
		if deep < 0 || deep >= b.out[0] {
			continue
		}
		from, to := z[d*b.at[1]*width:], b.memory[at+deep*plane:][:plane]
		if !together {
			for h := top; h < bottom; h++ {
				row := to[(h+lower)*b.length+left+later : (h+lower)*b.length+end+later]
				vec.Add(row, row, from[h*width+left:][:len(row)])
			}
			continue
		}
		if left > 0 || end < width { // products that would go to a neighbouring line
			for h := top; h < bottom; h++ {
				clear(from[h*width : h*width+left])
				clear(from[h*width+end : (h+1)*width])
			}
		}
		rows := to[(top+lower)*width+left+later : (bottom-1+lower)*width+end+later]
		vec.Add(rows, rows, from[top*width+left:][:len(rows)])
	}
}

// transpose turns the planes into pixels.
func (b *tapRowsBand) transpose() {
	plane, beside := b.out[0]*b.lines*b.length, b.stride[2]*b.channels
	if height, width := b.to[1]-b.from[1], b.to[2]-b.from[2]; b.stride[1] == 1 && b.length*b.stride[2] == width && b.lines == height {
		transposePlanes(b.line(0, b.from[1], b.out[0]*height), b.memory, beside, plane)
		return
	}
	for d := range b.out[0] {
		for h := b.from[1]; h < b.to[1]; h++ {
			down, line := (h-b.from[1])%b.stride[1], (h-b.from[1])/b.stride[1]
			transposePlanes(b.line(d, h, 1), b.memory[down*beside*plane+(d*b.lines+line)*b.length:], beside, plane)
		}
	}
}

// transposePlanes stores numbers of some planes, which are step apart, side by side.
func transposePlanes(y, planes []float32, count, step int) {
	done, whole := 0, len(y)/count
	switch {
	case count == 1:
		done = copy(y, planes)
	case count <= tapRowsBlock:
		done = micro.TransposeShort(y, planes, count, whole, count, step)
	default:
		micro.Transpose(y, planes, count, whole, count, step)
		done = whole
	}
	for i := done * count; i < len(y); i++ {
		y[i] = planes[i%count*step+i/count]
	}
}
