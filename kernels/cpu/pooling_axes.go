package cpu

import (
	"math"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/geometry"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// axisPooling combines windows in two steps. The first combines the lines of the windows, for all windows of a line of
// the result at once. The second combines the pixels of the line that this gives. Where windows are one pixel apart, a
// window of h·w cells so takes h+w operations for each element instead of h·w. The lines are also read in the order of
// memory, where the cells of a window lie far apart.
type axisPooling[T block.Float] struct {
	geometry.Axes
	edge    T                                                      // the value of pixels outside the source
	combine func(dst, x []T, cells []int, runs, step int, scale T) // windows of which so many, step elements apart, give dst
}

func sumOfAxes[T block.Float](dst, x []T, cells []int, runs, step int, scale T) {
	n := len(dst) / runs
	vec.WindowsSum(dst, x, cells, runs, n, n, step, scale)
}

func maxOfAxes[T block.Float](dst, x []T, cells []int, runs, step int, _ T) {
	n := len(dst) / runs
	vec.WindowsMax(dst, x, cells, runs, n, n, step)
}

// newAxisSums returns nil if windows are better summed cell by cell. axes is those of [geometry.Pooling]'s Forward or
// Backward.
func newAxisSums[T block.Float](p *geometry.Pooling, axes *geometry.Axes) *axisPooling[T] {
	if !byAxes(p, axes) {
		return nil
	}
	return &axisPooling[T]{*axes, 0, sumOfAxes[T]}
}

// newAxisMaxima is newAxisSums for maxima.
func newAxisMaxima[T block.Float](p *geometry.Pooling) *axisPooling[T] {
	axes := p.ForwardAxes()
	if !byAxes(p, axes) {
		return nil
	}
	return &axisPooling[T]{*axes, T(math.Inf(-1)), maxOfAxes[T]}
}

// byAxes reports whether pooling axis by axis is faster. Windows of few channels gain more, because those at the edges
// are short. It ignores the batch, whose size must not change the order of sums: it is false for images that lie side
// by side in large batches.
func byAxes(p *geometry.Pooling, axes *geometry.Axes) bool {
	if p.Channels >= fewChannels {
		return axes != nil && axes.Fewer(0.5) && byAxesPooled.Taken()
	}
	return axes != nil && axes.Fewer(0.75) && fillsVectors(p) && byAxesPooled.Taken()
}

// line computes a line of the result. from and to are images; row is scratch memory for Padded elements.
func (a *axisPooling[T]) line(to, from, row []T, line int, scale T) {
	fillWith(row[:a.Before], a.edge)
	fillWith(row[a.Before+a.Source:a.Padded], a.edge)
	at, cells := a.Lines(line)
	middle := row[a.Before:][:a.Source]
	if len(cells) == 0 {
		fillWith(middle, a.edge)
	} else {
		a.combine(middle, from[at:], cells, 1, 0, 1)
	}
	a.combine(to[line*a.Result:][:a.Result], row, a.Pixels, a.Runs, a.Step, scale)
}

// build returns the loop over all lines of all images. finish may change a line of the result.
func (a *axisPooling[T]) build(b *build, p *geometry.Pooling, scale T, finish func(to []T, line int)) func() {
	in, out := b.in(0), b.out(0)
	from, to, lines := in.N/max(p.Batch, 1), out.N/max(p.Batch, 1), a.Count()
	b.rt().need(a.Padded * in.Typ.DType.Size())
	return b.rt().parallel(p.Batch*lines, grain(2*a.Padded), func(w *worker, lo, hi int) {
		row := scratchOf[T](w, a.Padded)
		for i := lo; i < hi; i++ {
			y := plan.Data[T](out)[i/lines*to:][:to]
			a.line(y, plan.Data[T](in)[i/lines*from:][:from], row, i%lines, scale)
			finish(y, i%lines)
		}
	})
}

// buildMean divides the sums by the numbers of cells inside the source.
func (a *axisPooling[T]) buildMean(b *build, p *geometry.Pooling) func() {
	if p.Full() {
		return a.build(b, p, 1/T(p.Cells()), func([]T, int) {})
	}
	return a.build(b, p, 1, func(y []T, line int) {
		average(p, y[line*a.Result:][:a.Result], line/p.Out[1], line%p.Out[1])
	})
}
