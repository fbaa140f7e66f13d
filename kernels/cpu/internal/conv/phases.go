package conv

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// With strides, an input gradient consists of phases: one convolution for each residue of the position. All phases read
// the same dy, and their results interleave in the same cache lines. So where the kernels of all phases fit into the
// cache together, a block of rows goes through all phases before the next block does.

const (
	phaseBytes = 128 << 10 // most bytes of the kernels of phases that are computed together
	phaseImage = 512 << 10 // fewest bytes of an image's gradient: less stays in the cache between two phases
)

// phases holds the convolutions of the phases along height and width.
type phases[T Float] struct {
	list   []correlation[T]
	blocks int // that the rows of an image are cut into
}

var (
	phases32 pool.Recycler[phases[float32]]
	phases64 pool.Recycler[phases[float64]]
)

func getPhases[T Float]() *phases[T] {
	var zero T
	if unsafe.Sizeof(zero) == 4 {
		return (*phases[T])(unsafe.Pointer(phases32.Get()))
	}
	return (*phases[T])(unsafe.Pointer(phases64.Get()))
}

func putPhases[T Float](p *phases[T]) {
	all := p.list[:cap(p.list)]
	for i := range all {
		c := &all[i]
		c.x, c.y, c.w, c.local = nil, nil, nil, nil // let go of the caller's memory
	}
	var zero T
	if unsafe.Sizeof(zero) == 4 {
		phases32.Put((*phases[float32])(unsafe.Pointer(p)))
		return
	}
	phases64.Put((*phases[float64])(unsafe.Pointer(p)))
}

// together reports whether all phases are computed block by block, which does not change bits. Images of processors
// whose units are 256 bits wide (Zen 3 and 4) gained nothing in 700 random shapes, and small ones lose.
func (s *Shape) together() bool {
	width := micro.PanelWidth[float32]()
	kernel := 4 * volume(s.Kernel) * s.OutChannels * ceil(s.InChannels/s.Groups, width) * width
	return s.Strides[1]*s.Strides[2] > 1 && kernel <= phaseBytes && 4*volume(s.In)*s.InChannels >= phaseImage &&
		!isa.HalfUnits() && isa.Active().Has(isa.Vectors512) && byTogether.Taken()
}

// add appends a copy of a phase, which gets spans of its own.
func (p *phases[T]) add(c *correlation[T]) {
	n := len(p.list)
	if n < cap(p.list) {
		p.list = p.list[:n+1]
	} else {
		p.list = append(p.list, correlation[T]{})
	}
	to := &p.list[n]
	spans, runs := to.spans, to.runs
	*to = *c
	to.spans, to.runs = spans, runs
}

// run computes the phases.
func (p *phases[T]) run(workers *pool.Pool) {
	chunks, rows, row, flops, images := 0, 0, 0, 0, 0
	for i := range p.list {
		c := &p.list[i]
		c.cut(1)
		if i == 0 || c.images < images {
			images = c.images
		}
	}
	for i := range p.list {
		c := &p.list[i]
		c.images = images
		chunks = ceil(c.batch, images) * c.axes[0].out
		rows = max(rows, c.axes[1].out)
		row = max(row, images*c.axes[2].in*c.in)
		row += images * c.axes[2].out * c.out
		flops += 2 * images * c.axes[2].out * c.out * c.inGroup * c.axes[0].taps * c.axes[1].taps * c.axes[2].taps
	}
	var zero T
	if chunks == 0 || rows == 0 {
		return
	}
	fits := max(blockBytes/max(row*int(unsafe.Sizeof(zero)), 1), 1)
	few := ceil(rows, min(ceil(wantChunks, chunks), max(rows*flops/chunkFlops, 1), rows))
	p.blocks = ceil(rows, min(fits, few))
	workers.Parallel(chunks*p.blocks, max(chunkFlops/2/max(rows*flops/p.blocks, 1), 1), p)
}

// Run computes chunks, in all phases: rows of one plane of one image, or of several images.
func (p *phases[T]) Run(worker, lo, hi int) {
	for chunk := lo; chunk < hi; chunk++ {
		block, image := chunk%p.blocks, chunk/p.blocks
		for i := range p.list {
			c := &p.list[i]
			first, end := block*c.axes[1].out/p.blocks, (block+1)*c.axes[1].out/p.blocks
			if first < end && c.axes[2].out > 0 && c.out > 0 {
				c.compute(worker, image, first, end, 0)
			}
		}
	}
}
