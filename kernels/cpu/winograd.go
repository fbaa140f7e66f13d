package cpu

import (
	"slices"
	"strings"

	"github.com/gokeras/gokeras/kernels/cpu/internal/conv"
	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// isInference reports whether the program replaces no variable and computes no gradients, as far as these have
// operations of their own. Convolutions of such programs may be rounded differently from those of programs that train.
func isInference(p *ir.Program) bool {
	return !slices.ContainsFunc(p.Outputs, func(o ir.Output) bool { return o.Alias >= 0 }) && !hasCollectives(p) && !computesGradients(p)
}

// computesGradients reports whether the program has an operation that is a gradient. Workers that leave the updates to
// other processes run such programs, which replace no variable either. The gradient of a convolution's input is no sign
// of one, because it is also the transposed convolution.
func computesGradients(p *ir.Program) bool {
	return slices.ContainsFunc(p.Nodes, func(n ir.Node) bool {
		return n.Op != ir.ConvInputGrad && strings.HasSuffix(n.Op.String(), "_grad") || slices.ContainsFunc(ir.SubPrograms(n.Attrs), computesGradients)
	})
}

// tilesFor returns the convolution by Winograd's algorithm, or nil if that should not be used.
func tilesFor(b *build, s *conv.Shape) *conv.Winograd {
	if b.in(0).Typ.DType == ir.Float64 || !b.predicts {
		return nil
	}
	if kernel := b.kernel(); kernel.Mem == nil || kernel.Mem.Kind != plan.InInput && kernel.Mem.Kind != plan.Kept {
		return nil
	}
	return conv.NewWinograd(s)
}

// trainingTiles returns the convolution of a program that trains, or the gradient of a convolution's input, by
// Winograd's algorithm with small tiles, or nil if that should not be used.
func trainingTiles(b *build, s *conv.Shape, of func(s *conv.Shape, images int) *conv.Winograd) *conv.Winograd {
	if b.predicts && b.n.Op == ir.Conv || b.in(0).Typ.DType != ir.Float32 || b.u.Fused != nil && b.u.Fused.Addend >= 0 || s.Validate() != nil {
		return nil
	}
	return of(s, s.Batch)
}

// inputGradTiles computes the gradient of a convolution's input by Winograd's algorithm.
func inputGradTiles(b *build, w *conv.Winograd) func() {
	dy, kernel, dx, rt := b.in(0), b.in(1), b.out(0), b.rt()
	bias, relu := b.addedToProduct()
	tiles := b.scratch(ir.Float32, w.KernelSize())
	scratch := b.scratch(ir.Float32, max(w.Scratch(rt.pool.Size()), w.TransformScratch(rt.pool.Size())))
	return func() {
		var vector []float32
		if bias != nil {
			vector = plan.Data[float32](bias)
		}
		memory := plan.Data[float32](scratch)
		w.Transform(rt.pool, plan.Data[float32](tiles), plan.Data[float32](kernel), memory)
		w.Forward(rt.pool, plan.Data[float32](dy), plan.Data[float32](tiles), vector, relu, plan.Data[float32](dx), memory)
	}
}

// convTiles computes a convolution by Winograd's algorithm, and the 2x2 maxima of its result if the unit takes them. In
// a program that only predicts the kernel is a variable, or the kept conversion of one, whose buffer keeps the
// transformed kernel. If it cannot, and
// in programs that train, each run transforms the kernel, with the same result. A following batch normalization
// computes its moments from the result, because combining the moments of the few rows of a tile would take longer.
func convTiles(b *build, w *conv.Winograd) func() {
	x, kernel, y, rt := b.in(0), b.kernel(), b.out(0), b.rt()
	result, pool := y, func() {}
	if e := b.u.Fused; e != nil && e.Pool {
		result, pool = b.pooledLater(y)
	}
	bias, relu := b.addedToProduct()
	columns := kernel.Typ.Shape[len(kernel.Typ.Shape)-1] // the 9 taps and the two numbers of channels may have the same product
	var kept *form
	if b.predicts {
		kept = b.kept(kernel, &form{off: kernel.Off, k: kernel.N / columns, n: columns, ld: w.Form()})
	}
	from := weightsOf[float32](b, kernel, kept)
	scratch := b.scratch(x.Typ.DType, max(w.Scratch(rt.pool.Size()), w.TransformScratch(rt.pool.Size())))
	own := b.scratch(x.Typ.DType, w.KernelSize())
	transform := func(dst []float32) {
		values := kernel
		if from.scale != nil {
			from.fill()
			values = from.own
		}
		w.Transform(rt.pool, dst, plan.Data[float32](values), plan.Data[float32](scratch))
	}
	return func() {
		var vector []float32
		if bias != nil {
			vector = plan.Data[float32](bias)
		}
		var tiles []float32
		if from.scale == nil {
			tiles = inTiles(ownBuffer(kernel), kept, 4*w.KernelSize(), transform)
		} else {
			tiles = from.scaled(gemm.Layout[float32](), w.KernelSize(), transform)
		}
		if tiles == nil {
			tiles = plan.Data[float32](own)
			transform(tiles)
		}
		w.Forward(rt.pool, plan.Data[float32](x), tiles, vector, relu, plan.Data[float32](result), plan.Data[float32](scratch))
		pool()
	}
}

// pooledLater returns memory for the result of a convolution with the 2x2 maxima y, and the loop that computes y.
func (b *build) pooledLater(y *plan.Operand) (result *plan.Operand, pool func()) {
	e := b.u.Fused
	s := b.Program.Type(b.pooled(e)).Shape
	result = b.scratch(y.Typ.DType, s.Size())
	h, w, c := s[1], s[2], s[3]
	out := w / 2 * c
	return result, b.rt().parallel(s[0]*(h/2), grain(4*out), func(_ *worker, lo, hi int) {
		for i := lo; i < hi; i++ {
			first := (i/(h/2)*h + i%(h/2)*2) * w * c
			vec.MaxPool2x2(plan.Data[float32](y)[i*out:(i+1)*out], plan.Data[float32](result)[first:first+2*w*c], 1, 2, w, c)
		}
	})
}

// pooled returns the value of whose windows the unit computes the maxima.
func (b *build) pooled(e *fuse.Epilogue) ir.Value { return b.Program.Nodes[b.Def[e.Result]].Inputs[0] }

// inTiles returns the kernel of a convolution in Winograd's form, which transform writes, or nil if it has to be
// transformed for this run. The kernel is kept from the first time on, because the programs that request it change no
// variable.
func inTiles(b *buffer, f *form, bytes int, transform func(dst []float32)) []float32 {
	if b == nil || f == nil {
		return nil
	}
	if version, ok := b.steady(); ok && b.tiles.holds.Load() != version {
		b.tiles.expect(version)
	}
	return elementsOf[float32](b.inForm(&b.tiles, f, gemm.Layout[float32](), bytes, func(memory []byte) { transform(elementsOf[float32](memory)) }))
}

// expect lets the next call of pack write the panels at once, rather than at the second request.
func (k *panels) expect(version uint64) {
	if k.mu.TryLock() {
		k.asked = version
		k.mu.Unlock()
	}
}
