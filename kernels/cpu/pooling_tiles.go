package cpu

import (
	"math/bits"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/geometry"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// Pixels of a few channels fill only a small part of a vector. Images of such pixels are therefore pooled side by side:
// the elements of several images at one place are contiguous, as if they were channels.

const (
	imageTile   = 16      // images side by side
	fewChannels = 8       // pixels with as many channels fill a vector
	leastImages = 8       // least images in a tile; fewer are not worth moving
	longRow     = 32      // elements of a row for each cell of a window along it, so that few windows are cut off by the edges
	mostOfTile  = 1 << 17 // elements of a tile

	// Length of a row of results up to which images side by side are faster than the special code for windows that do
	// not overlap: maxima of 2x2 windows with more than one channel, and gradients of means.
	shortHalves = 48
	shortShares = 28
)

// rowsUpTo reports whether the rows of results have at most the given number of elements.
func rowsUpTo(p *geometry.Pooling, most int) bool { return p.Out[2]*p.Channels <= most }

// imageTiles gathers images that lie side by side, a band of lines of the result at a time.
type imageTiles struct {
	batch, lanes   int
	g              *geometry.Gather
	source, result int // elements of a line in all lanes
	bands          []imageBand
	from, to       int // lines of the longest band
}

// imageBand stands for lines [first, last) of the result, which are computed from lines [lo, hi) of the source.
type imageBand struct{ first, last, lo, hi int }

// newImageTiles returns nil if pixels are better gathered in place. gather is [geometry.Pooling]'s Forward or Backward.
// Long rows of windows that are one pixel apart fill vectors anyway.
func newImageTiles(p *geometry.Pooling, gather func(p *geometry.Pooling) *geometry.Gather) *imageTiles {
	switch {
	case p.Channels >= fewChannels || p.Batch < leastImages:
		return nil
	case fillsVectors(p):
		return nil
	}
	t := &imageTiles{batch: p.Batch, lanes: imageTile}
	if p.Batch == leastImages {
		t.lanes = leastImages
	}
	wide := *p
	wide.Channels *= t.lanes
	t.g = gather(&wide)
	t.source, t.result = t.g.Widths()
	for first := 0; first < t.g.Lines(); {
		band := imageBand{first: first, last: first}
		for ; band.last < t.g.Lines(); band.last++ {
			lo, hi := t.g.Sources(band.last)
			switch {
			case lo == hi:
				lo, hi = band.lo, band.hi
			case band.lo < band.hi:
				lo, hi = min(lo, band.lo), max(hi, band.hi)
			}
			if band.last > first && (hi-lo)*t.source+(band.last+1-first)*t.result > mostOfTile {
				break
			}
			band.lo, band.hi = lo, hi
		}
		t.bands = append(t.bands, band)
		t.from, t.to = max(t.from, band.hi-band.lo), max(t.to, band.last-first)
		first = band.last
	}
	if n := t.from*t.source + t.to*t.result; n == 0 || n > 4*mostOfTile || !byImageTiles.Taken() {
		return nil
	}
	return t
}

// fillsVectors reports whether windows are one pixel apart and fill vectors, however few channels pixels have.
func fillsVectors(p *geometry.Pooling) bool {
	return p.Stride[2] == 1 && p.Out[2]*p.Channels >= longRow*p.Window[2]
}

func (t *imageTiles) tiles() int { return (t.batch + t.lanes - 1) / t.lanes }

// images returns the images of a tile. All tiles have about the same number.
func (t *imageTiles) images(tile int) (first, n int) {
	first = tile * t.batch / t.tiles()
	return first, (tile+1)*t.batch/t.tiles() - first
}

// load interleaves lines [lo, hi) of n images. width is the number of elements of a line in all lanes.
func (t *imageTiles) load(tile, x []float32, first, n, size, width, lo, hi int) {
	at, line := lo*width/t.lanes, (hi-lo)*width/t.lanes
	micro.Transpose(tile, x[first*size+at:], n, line, t.lanes, size)
}

// store is the inverse of load.
func (t *imageTiles) store(x, tile []float32, first, n, size, width, lo, hi int) {
	at, line := lo*width/t.lanes, (hi-lo)*width/t.lanes
	micro.Transpose(x[first*size+at:], tile, line, n, size, t.lanes)
}

// each calls f for the windows of a band, with the band's tiles.
func (t *imageTiles) each(band *imageBand, before, after []float32, f gathering[float32]) {
	for line := band.first; line < band.last; line++ {
		t.g.Each(line, func(w *geometry.Windows, to, from int, cells []int) {
			f(w, after[to-band.first*t.result:], before[max(from-band.lo*t.source, 0):], cells)
		})
	}
}

// unprepared leaves the source unchanged.
func unprepared([]float32, int, int) {}

// build returns the loop over tiles and bands. prepare may change the lines of the source.
func (t *imageTiles) build(b *build, p *geometry.Pooling, prepare func(tile []float32, lo, hi int), f gathering[float32]) func() {
	x, y := b.in(0), b.out(0)
	from, to := x.N/p.Batch, y.N/p.Batch
	source, result := t.from*t.source, t.to*t.result
	b.rt().need(4 * (source + result))
	return b.rt().parallel(t.tiles()*len(t.bands), grain(4*(source+result)), func(w *worker, lo, hi int) {
		scratch := scratchOf[float32](w, source+result)
		before, after := scratch[:source], scratch[source:]
		for i := lo; i < hi; i++ {
			first, n := t.images(i / len(t.bands))
			band := &t.bands[i%len(t.bands)]
			t.load(before, plan.Data[float32](x), first, n, from, t.source, band.lo, band.hi)
			prepare(before, band.lo, band.hi)
			t.each(band, before, after, f)
			t.store(plan.Data[float32](y), after, first, n, to, t.result, band.first, band.last)
		}
	})
}

// buildAvgGrad returns the loop for the gradient of average pooling.
func (t *imageTiles) buildAvgGrad(b *build, p *geometry.Pooling) func() {
	wide := *p
	wide.Channels *= t.lanes
	if p.Full() {
		return t.build(b, p, unprepared, windowsShares(wide.Channels, 1/float32(p.Cells())))
	}
	return t.build(b, p, func(tile []float32, lo, hi int) {
		for row := lo; row < hi; row++ {
			average(&wide, tile[(row-lo)*t.source:][:t.source], row/p.Out[1], row%p.Out[1])
		}
	}, windowsShares[float32](wide.Channels, 1))
}

// buildMaxGrad returns the loop for the gradient of max-pooling, tile by tile.
func (t *imageTiles) buildMaxGrad(b *build, p *geometry.Pooling) func() {
	in, result, grad, out := b.in(0), b.in(1), b.in(2), b.out(0)
	nx, ny := p.Sizes()
	source, tops := t.from*t.source, t.to*t.result
	b.rt().need(4 * (source + 2*tops))
	return b.rt().parallel(t.tiles(), grain(8*(nx+ny)*t.lanes), func(w *worker, lo, hi int) {
		scratch := scratchOf[float32](w, source+2*tops)
		x, top, index := scratch[:source], scratch[source:source+tops], scratch[source+tops:]
		for tile := lo; tile < hi; tile++ {
			first, n := t.images(tile)
			clear(plan.Data[float32](out)[first*nx : (first+n)*nx])
			for i := range t.bands {
				band := &t.bands[i]
				t.load(x, plan.Data[float32](in), first, n, nx, t.source, band.lo, band.hi)
				t.load(top, plan.Data[float32](result), first, n, ny, t.result, band.first, band.last)
				t.search(band, words(index), x, top, p.Channels*t.lanes)
				length := (band.last - band.first) * t.result / t.lanes
				micro.Transpose(top, index, length, n, length, t.lanes) // separately for each image
				for k := range n {
					image := first + k
					t.give(band, plan.Data[float32](out)[image*nx:][:nx], plan.Data[float32](grad)[image*ny:][:ny], words(top[k*length:][:length]), p.Channels)
				}
			}
		}
	})
}

// search finds the positions of a band's maxima.
func (t *imageTiles) search(band *imageBand, index []int32, x, top []float32, channels int) {
	for line := band.first; line < band.last; line++ {
		t.g.Each(line, func(w *geometry.Windows, to, from int, cells []int) {
			if at := to - band.first*t.result; len(cells) > 0 {
				vec.WindowsFirst(index[at:], x[from-band.lo*t.source:], top[at:], cells, w.Count, channels, channels, w.Stride*channels)
			}
		})
	}
}

// give adds the gradients of a band's windows in one image at the positions of the maxima.
func (t *imageTiles) give(band *imageBand, dx, dy []float32, index []int32, channels int) {
	shift := bits.TrailingZeros(uint(t.lanes))
	for line := band.first; line < band.last; line++ {
		t.g.Each(line, func(w *geometry.Windows, to, from int, cells []int) {
			if to, from := to>>shift, from>>shift; len(cells) > 0 {
				scatterGradients(dx[from:], dy[to:], index[to-band.first*t.result>>shift:], shift, w.Count, channels, w.Stride*channels)
			}
		})
	}
}

// scatterGradients adds the gradients of windows that are step elements apart. index holds the distance of each maximum
// from the first element of its window, multiplied by 1<<shift.
func scatterGradients(dx, dy []float32, index []int32, shift, windows, channels, step int) {
	for i := range windows {
		d, at := dx[i*step:], index[i*channels:][:channels]
		for k, v := range dy[i*channels:][:len(at)] {
			d[int(at[k]>>shift)+k] += v
		}
	}
}

// words views floats as their bits.
func words(x []float32) []int32 {
	return block.View[int32](unsafe.Pointer(unsafe.SliceData(x)), len(x))
}
