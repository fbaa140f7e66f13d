package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

func buildResample(b *build) (func(), error) { return byFloat(b, resample[float64], resample[float32]) }

// fewElements returns the length from which on calling vector kernels is faster than a loop.
func fewElements(taps int) int {
	if taps == 2 || taps == 4 {
		return 24 // one loop for all taps
	}
	return 8
}

// resample computes each row of the result as a weighted sum of a few rows.
func resample[T block.Float](b *build) func() {
	x, y, a := b.in(0), b.out(0), b.n.Attrs.(ir.ResampleAttrs)
	weights := make([]T, len(a.Weights))
	for i, w := range a.Weights {
		weights[i] = T(w)
	}
	g, length := lines(x.Typ.Shape, a.Axis), a.Length()
	taps, inner := a.Taps, g.Inner
	if y.N == 0 {
		return func() {}
	}
	if mix := vec.NewMix(a.Cells, weights, taps, inner, g.Length); mix.Works() {
		return b.rt().parallel(g.Outer*length, grain(inner*taps), func(_ *worker, lo, hi int) {
			from, to := plan.Data[T](x), plan.Data[T](y)
			for lo < hi {
				o, i := lo/length, lo%length
				n := min(hi-lo, length-i)
				mix.Run(to[lo*inner:], from[o*g.Length*inner:], i, i+n)
				lo += n
			}
		})
	}
	if x.Typ.DType == ir.Float32 {
		if run := resampleTiles(b, block.View[float32](unsafe.Pointer(unsafe.SliceData(weights)), len(weights))); run != nil {
			return run
		}
	}
	if inner < fewElements(taps) {
		return b.rt().parallel(g.Outer, grain(length*inner*taps), func(_ *worker, lo, hi int) {
			for o := lo; o < hi; o++ {
				from, to := plan.Data[T](x)[o*g.Length*inner:(o+1)*g.Length*inner], plan.Data[T](y)[o*length*inner:(o+1)*length*inner]
				sumElements(to, from, a.Cells, weights, taps, inner)
			}
		})
	}
	return b.rt().parallel(g.Outer*length, grain(inner*taps), func(_ *worker, lo, hi int) {
		from, to := plan.Data[T](x), plan.Data[T](y)
		o, i := lo/length, lo%length
		for r := lo; r < hi; r++ {
			rows, dst := from[o*g.Length*inner:(o+1)*g.Length*inner], to[r*inner:(r+1)*inner]
			for t, cell := range a.Cells[i*taps : (i+1)*taps] {
				if row, w := rows[cell*inner:(cell+1)*inner], weights[i*taps+t]; t == 0 {
					vec.Scale(dst, row, w)
				} else {
					vec.Axpy(dst, w, row)
				}
			}
			if i++; i == length {
				o, i = o+1, 0
			}
		}
	})
}

// sumElements is resample for one line of cells of a few elements. Two taps are those of bilinear interpolation. Four
// taps are those of bicubic interpolation, or of the gradient of bilinear interpolation to twice the size.
func sumElements[T block.Float](to, from []T, cells []int, weights []T, taps, inner int) {
	row := func(c int) []T { return from[cells[c]*inner : (cells[c]+1)*inner] }
	for c := 0; c < len(cells); c += taps {
		d := to[:inner]
		to = to[inner:]
		switch taps {
		case 2:
			p, q, v, w := row(c)[:len(d)], row(c + 1)[:len(d)], weights[c], weights[c+1]
			for j := range d {
				d[j] = v*p[j] + w*q[j]
			}
		case 4:
			p, q, v, w := row(c)[:len(d)], row(c + 1)[:len(d)], weights[c], weights[c+1]
			r, s, x, y := row(c + 2)[:len(d)], row(c + 3)[:len(d)], weights[c+2], weights[c+3]
			for j := range d {
				d[j] = v*p[j] + w*q[j] + x*r[j] + y*s[j]
			}
		default:
			for j := range d {
				sum := weights[c] * from[cells[c]*inner+j]
				for t := c + 1; t < c+taps; t++ {
					sum += weights[t] * from[cells[t]*inner+j]
				}
				d[j] = sum
			}
		}
	}
}

const (
	tileLines  = 16      // lines that are interpolated side by side
	leastLines = 4       // least number of lines in a tile
	tileMost   = 1 << 17 // elements of all tiles
)

// resampleTiles is resample for many lines of cells of a few elements. Lines are interleaved while they are
// interpolated, so that cells fill vectors. It returns nil if that would not be faster.
func resampleTiles(b *build, weights []float32) func() {
	x, y, a := b.in(0), b.out(0), b.n.Attrs.(ir.ResampleAttrs)
	g := lines(x.Typ.Shape, a.Axis)
	from, to := g.Length*g.Inner, a.Length()*g.Inner
	mix := vec.NewMix(a.Cells, weights, a.Taps, g.Inner*tileLines, g.Length)
	if !mix.Works() || g.Outer < leastLines || (from+to)*tileLines > tileMost {
		return nil
	}
	b.rt().need((from + to) * tileLines * 4)
	return b.rt().parallel((g.Outer+tileLines-1)/tileLines, grain(tileLines*to*a.Taps), func(w *worker, lo, hi int) {
		scratch := scratchOf[float32](w, (from+to)*tileLines)
		before, after := scratch[:from*tileLines], scratch[from*tileLines:]
		for first := lo * tileLines; first < min(hi*tileLines, g.Outer); first += tileLines {
			n := min(tileLines, g.Outer-first)
			micro.Transpose(before, plan.Data[float32](x)[first*from:(first+n)*from], n, from, tileLines, from)
			mix.Run(after, before, 0, a.Length())
			micro.Transpose(plan.Data[float32](y)[first*to:(first+n)*to], after, to, n, to, tileLines)
		}
	})
}
