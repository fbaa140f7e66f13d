package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/conv"
	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// A 16-bit convolution that is computed in float32 takes a few images at a time. Each worker widens its images,
// convolves them, and rounds the result with bias and relu, all within its cache.

const (
	halfImageBytes = 192 << 10 // float32 size of the images of a task and their results: a part of the second-level cache
	halfImageMost  = 8 << 20   // larger images are shared among the workers
	wideRows       = -1        // stands for the stride of a kernel that is widened but not packed
)

// halfImages is such a convolution.
type halfImages struct {
	half                vec.Half
	x, kernel, out      *plan.Operand
	batch, images       int // in all; per task
	nx, ny, nout        int // elements of an image of the input, of the sums and of the result
	rows, columns       int // of the sums of an image, if there is max-pooling
	channels            int
	whole, rest         *conv.Plan[float32]
	pools, packs, relu  bool
	bias                *plan.Operand // or nil
	wideKernel, wideAdd *plan.Operand
	panels              *plan.Operand     // the kernel in the form that is read; wideKernel itself if it is not packed
	matrix              [2]int            // rows and columns of the kernel as a matrix
	kept                *form             // form in which the kernel may be kept, or nil
	tiles               [2]*conv.Winograd // for whole and rest, if they use Winograd's algorithm, else nil
	weights             []float32         // the kernel in the current run
	pool                *pool.Pool        // of workers that share each image, if images are few or large and use Winograd's algorithm; else nil
}

// buildHalfImages compiles a convolution. It returns nil if there are too few images or if they are too large.
func buildHalfImages(b *build) (func(), error) {
	x, kernel, out, rt := b.in(0), b.in(1), b.out(0), b.rt()
	s, err := b.convolution(x.Typ.Shape, kernel.Typ.Shape, b.n.Attrs.(ir.ConvAttrs))
	if err != nil || x.N == 0 || kernel.N == 0 || out.N == 0 {
		return nil, err
	}
	to := s.Out()
	h := &halfImages{half: *halfOf[x.Typ.DType], x: x, kernel: kernel, out: out, batch: s.Batch, nx: x.N / s.Batch, nout: out.N / s.Batch,
		ny: to[0] * to[1] * to[2] * s.OutChannels, rows: to[1], columns: to[2], channels: s.OutChannels}
	h.bias, h.relu = b.addedToProduct()
	h.pools = b.u.Fused != nil && b.u.Fused.Pool
	bytes := 4 * (h.nx + h.ny)
	if h.images = min(max(halfImageBytes/bytes, 1), h.batch); h.pools {
		h.images = 1
	}
	tasks := (h.batch + h.images - 1) / h.images
	s.Part = true
	part, rest := *s, *s
	part.Batch, rest.Batch = h.images, h.batch%h.images
	h.tiles[0] = halfTilesFor(b, &part, h.batch)
	if bytes > halfImageMost || tasks < rt.pool.Size() {
		if h.tiles[0] == nil {
			return nil, nil
		}
		h.pool = rt.pool // the bits may not depend on the number of workers
	}
	h.whole = conv.NewPlan[float32](&part)
	if h.rest = h.whole; rest.Batch > 0 {
		h.rest = conv.NewPlan[float32](&rest)
	}
	if h.bias != nil {
		h.wideAdd = b.scratch(ir.Float32, h.bias.N)
	}
	readKernel := h.readKernel(b, &part, &rest)
	read := func() {
		readKernel()
		if h.bias != nil {
			h.half.Widen(plan.Data[float32](h.wideAdd), plan.Data[uint16](h.bias))
		}
	}
	memory := h.memory()
	if h.pool != nil {
		scratch := b.scratch(ir.Float32, memory)
		return func() {
			read()
			for first := 0; first < h.batch; first += h.images {
				h.task(plan.Data[float32](scratch), first, h.tiles)
			}
			h.weights = nil
		}, nil
	}
	rt.need(4 * memory)
	own := h.tilesOfEach(rt.pool.Size())
	loop := rt.parallel(tasks, 1, func(w *worker, lo, hi int) {
		tiles := <-own
		for i := lo; i < hi; i++ {
			h.task(scratchOf[float32](w, memory), i*h.images, tiles)
		}
		own <- tiles
	})
	return func() {
		read()
		loop()
		h.weights = nil
	}, nil
}

// tilesOfEach returns tiles for each of the workers.
func (h *halfImages) tilesOfEach(workers int) chan [2]*conv.Winograd {
	own := make(chan [2]*conv.Winograd, workers)
	for range workers {
		var tiles [2]*conv.Winograd
		for i, w := range h.tiles {
			if w != nil {
				c := *w
				tiles[i] = &c
			}
		}
		own <- tiles
	}
	return own
}

// readKernel returns the function that brings the kernel into the form that the tasks read: Winograd's form if the
// program only predicts and float32 would use it, else widened, and packed if need be. The buffer keeps that form if it
// does not change.
func (h *halfImages) readKernel(b *build, part, rest *conv.Shape) func() {
	kernel, workers := h.kernel, b.rt().pool
	h.wideKernel = b.scratch(ir.Float32, kernel.N)
	if h.tiles[0] != nil {
		if h.tiles[1] = h.tiles[0]; rest.Batch > 0 {
			h.tiles[1] = halfTilesFor(b, rest, h.batch)
		}
		return h.readTiles(b)
	}
	h.matrix[0], h.matrix[1], h.packs = conv.KernelMatrix[float32](part)
	columns := kernel.Typ.Shape[len(kernel.Typ.Shape)-1]
	size, f := kernel.N, &form{off: kernel.Off, k: kernel.N / columns, n: columns, ld: wideRows}
	if h.panels = h.wideKernel; h.packs {
		size = gemm.PackedSize[float32](h.matrix[1], h.matrix[0])
		h.panels = b.scratch(ir.Float32, size)
		f = &form{off: kernel.Off, k: h.matrix[0], n: h.matrix[1], ld: h.matrix[1]}
	}
	h.kept = b.kept(kernel, f)
	fill := func(panels []float32) {
		if !h.packs {
			h.half.Widen(panels, plan.Data[uint16](kernel))
			return
		}
		h.half.Widen(plan.Data[float32](h.wideKernel), plan.Data[uint16](kernel))
		gemm.PackB(workers, panels, plan.Data[float32](h.wideKernel), h.matrix[0], h.matrix[1], 0, false)
	}
	return func() {
		if keeps := ownBuffer(kernel); keeps != nil && h.kept != nil {
			h.weights = elementsOf[float32](keeps.inForm(&keeps.panels, h.kept, gemm.Layout[float32](), 4*size, func(memory []byte) { fill(elementsOf[float32](memory)) }))
		}
		if h.weights == nil {
			h.weights = plan.Data[float32](h.panels)
			fill(h.weights)
		}
	}
}

// memory returns how many float32 of scratch memory a worker needs.
func (h *halfImages) memory() int {
	scratch := max(h.whole.Scratch(), h.rest.Scratch())
	if h.tiles[0] != nil {
		scratch = max(h.tiles[0].Scratch(h.pool.Size()), h.tiles[1].Scratch(h.pool.Size()))
	}
	return h.images*(h.nx+h.ny+h.nout) + scratch
}

// task computes the images of a task that begins at first.
func (h *halfImages) task(scratch []float32, first int, tiles [2]*conv.Winograd) {
	n, convolution, by := min(h.images, h.batch-first), h.whole, tiles[0]
	if n < h.images {
		convolution, by = h.rest, tiles[1]
	}
	x, scratch := scratch[:n*h.nx], scratch[h.images*h.nx:]
	y, scratch := scratch[:n*h.ny], scratch[h.images*h.ny:]
	h.half.Widen(x, plan.Data[uint16](h.x)[first*h.nx:][:len(x)])
	convolve := func(scratch []float32) {
		if by != nil {
			by.Forward(h.pool, x, h.weights, nil, false, y, scratch)
			return
		}
		convolution.Run(x, h.weights, nil, false, y, scratch, h.packs)
	}
	if !h.pools {
		convolve(scratch)
	} else {
		maxima, rest := scratch[:n*h.nout], scratch[h.images*h.nout:]
		if by != nil || !convolution.RunPooled(x, h.weights, nil, false, maxima, rest, h.packs) {
			convolve(rest)
			vec.MaxPool2x2(maxima, y, 1, h.rows, h.columns, h.channels)
		}
		y = maxima
	}
	out := plan.Data[uint16](h.out)[first*h.nout:][:len(y)]
	if h.bias != nil {
		h.half.RoundAddRows(out, y, plan.Data[float32](h.wideAdd), h.channels, len(out)/h.channels, h.channels, h.channels, h.relu)
		return
	}
	if h.relu {
		vec.Relu(y, y)
	}
	h.half.NarrowSums(out, y)
}

// halfTilesFor is tilesFor for programs that predict, and trainingTiles for others.
func halfTilesFor(b *build, s *conv.Shape, images int) *conv.Winograd {
	switch {
	case !b.predicts:
		return conv.NewSmallWinograd(s, images)
	case !b.constant(b.in(1)):
		return nil
	}
	return conv.NewWinograd(s)
}

// readTiles is readKernel for Winograd's algorithm.
func (h *halfImages) readTiles(b *build) func() {
	w, kernel := h.tiles[0], h.kernel
	columns := kernel.Typ.Shape[len(kernel.Typ.Shape)-1]
	h.kept = b.kept(kernel, &form{off: kernel.Off, k: kernel.N / columns, n: columns, ld: w.Form()})
	h.panels = b.scratch(ir.Float32, w.KernelSize())
	workers := b.rt().pool
	scratch := b.scratch(ir.Float32, w.TransformScratch(workers.Size()))
	transform := func(dst []float32) {
		h.half.Widen(plan.Data[float32](h.wideKernel), plan.Data[uint16](kernel))
		w.Transform(workers, dst, plan.Data[float32](h.wideKernel), plan.Data[float32](scratch))
	}
	return func() {
		if h.weights = inTiles(ownBuffer(kernel), h.kept, 4*w.KernelSize(), transform); h.weights == nil {
			h.weights = plan.Data[float32](h.panels)
			transform(h.weights)
		}
	}
}
