package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/conv"
	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// A convolution of 16-bit floats that is computed in float32 goes a few images at a time, each worker on its own: it
// widens them, convolves them, and rounds the result with bias and relu, all within its cache.

const (
	halfImageBytes = 192 << 10 // what a few images and their results take in float32: a part of the second-level cache
	halfImageMost  = 8 << 20   // larger ones are divided among the workers
)

// halfImages is such a convolution.
type halfImages struct {
	half                vec.Half
	x, kernel, out      *plan.Operand
	batch, images       int // of all, and of a task
	nx, ny, nout        int // numbers of an image of the input, of the sums and of the result
	rows, columns       int // of the sums of an image without a batch, where maxima are taken
	channels            int
	whole, rest         *conv.Plan[float32]
	pools, packs, relu  bool
	bias                *plan.Operand // or nil
	wideKernel, wideAdd *plan.Operand
	panels              *plan.Operand // the kernel as it is read; wideKernel itself where it is not packed
	matrix              [2]int        // the kernel as a matrix
}

// buildHalfImages compiles a convolution forward; nil: it has too few images, or too large ones.
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
	if bytes > halfImageMost || tasks < rt.pool.Size() {
		return nil, nil
	}
	part, rest := *s, *s
	part.Batch, rest.Batch = h.images, h.batch%h.images
	h.whole = conv.NewPlan[float32](&part)
	if h.rest = h.whole; rest.Batch > 0 {
		h.rest = conv.NewPlan[float32](&rest)
	}
	h.matrix[0], h.matrix[1], h.packs = conv.KernelMatrix[float32](&part)
	h.wideKernel = b.scratch(ir.Float32, kernel.N)
	if h.panels = h.wideKernel; h.packs {
		h.panels = b.scratch(ir.Float32, gemm.PackedSize[float32](h.matrix[1], h.matrix[0]))
	}
	if h.bias != nil {
		h.wideAdd = b.scratch(ir.Float32, h.bias.N)
	}
	rt.need(4 * h.memory())
	loop := rt.parallel(tasks, 1, func(w *worker, lo, hi int) {
		for i := lo; i < hi; i++ {
			h.task(scratchOf[float32](w, h.memory()), i*h.images)
		}
	})
	return func() {
		h.half.Widen(plan.Data[float32](h.wideKernel), plan.Data[uint16](kernel))
		if h.packs {
			gemm.PackB(rt.pool, plan.Data[float32](h.panels), plan.Data[float32](h.wideKernel), h.matrix[0], h.matrix[1], 0, false)
		}
		if h.bias != nil {
			h.half.Widen(plan.Data[float32](h.wideAdd), plan.Data[uint16](h.bias))
		}
		loop()
	}, nil
}

// memory is how many numbers a worker needs room for.
func (h *halfImages) memory() int {
	return h.images*(h.nx+h.ny+h.nout) + max(h.whole.Scratch(), h.rest.Scratch())
}

// task computes the images from first on.
func (h *halfImages) task(scratch []float32, first int) {
	n, convolution := min(h.images, h.batch-first), h.whole
	if n < h.images {
		convolution = h.rest
	}
	x, scratch := scratch[:n*h.nx], scratch[h.images*h.nx:]
	y, scratch := scratch[:n*h.ny], scratch[h.images*h.ny:]
	h.half.Widen(x, plan.Data[uint16](h.x)[first*h.nx:][:len(x)])
	kernel := plan.Data[float32](h.panels)
	if !h.pools {
		convolution.Run(x, kernel, nil, false, y, scratch, h.packs)
	} else {
		maxima, rest := scratch[:n*h.nout], scratch[h.images*h.nout:]
		if !convolution.RunPooled(x, kernel, nil, false, maxima, rest, h.packs) {
			convolution.Run(x, kernel, nil, false, y, rest, h.packs)
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
	h.half.Narrow(out, y)
}
