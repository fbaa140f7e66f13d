package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

func buildResample(b *build) (func(), error) { return byFloat(b, resample[float64], resample[float32]) }

// fewElements is the length from which on a call of a vector kernel costs less than a loop.
const fewElements = 8

// resample sums a few rows for each row of the result.
func resample[T float](b *build) func() {
	x, y, a := b.in(0), b.out(0), b.n.Attrs.(ir.ResampleAttrs)
	weights := make([]T, len(a.Weights))
	for i, w := range a.Weights {
		weights[i] = T(w)
	}
	g, length := lines(x.typ.Shape, a.Axis), a.Length()
	taps, inner := a.Taps, g.inner
	if y.n == 0 {
		return func() {}
	}
	if inner < fewElements {
		return b.rt().parallel(g.outer, grain(length*inner*taps), func(_ *worker, lo, hi int) {
			for o := lo; o < hi; o++ {
				from, to := data[T](x)[o*g.length*inner:(o+1)*g.length*inner], data[T](y)[o*length*inner:(o+1)*length*inner]
				sumElements(to, from, a.Cells, weights, taps, inner)
			}
		})
	}
	return b.rt().parallel(g.outer*length, grain(inner*taps), func(_ *worker, lo, hi int) {
		from, to := data[T](x), data[T](y)
		o, i := lo/length, lo%length
		for r := lo; r < hi; r++ {
			rows, dst := from[o*g.length*inner:(o+1)*g.length*inner], to[r*inner:(r+1)*inner]
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

// sumElements is resample of one line of cells of a few elements. Two taps, those of bilinear interpolation, are most of what is asked for.
func sumElements[T float](to, from []T, cells []int, weights []T, taps, inner int) {
	k := 0
	if taps == 2 {
		for c := 0; c < len(cells); c += 2 {
			p, q, v, w := from[cells[c]*inner:], from[cells[c+1]*inner:], weights[c], weights[c+1]
			for j := range inner {
				to[k] = v*p[j] + w*q[j]
				k++
			}
		}
		return
	}
	for c := 0; c < len(cells); c += taps {
		for j := range inner {
			sum := weights[c] * from[cells[c]*inner+j]
			for t := c + 1; t < c+taps; t++ {
				sum += weights[t] * from[cells[t]*inner+j]
			}
			to[k] = sum
			k++
		}
	}
}
