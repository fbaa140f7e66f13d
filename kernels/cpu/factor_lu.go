package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/ir"
)

// leastSingleLU is the number of rows and columns up to which float64 is hardly slower than float32.
const leastSingleLU = 256

// luWorkOf computes in float64, except for float32 matrices so large that memory traffic dominates.
func luWorkOf(b *build) matrixWork {
	switch m, n := matrixLengths(b.in(0)); {
	case max(m, n) <= fewestColumns:
		return luWorkOfFew(b)
	case b.in(0).Typ.DType == ir.Float32 && min(m, n) > leastSingleLU:
		return luWork[float32](b)
	}
	return luWork[float64](b)
}

// luWork eliminates. Columns beyond a square are treated like right sides.
func luWork[T block.Float](b *build) matrixWork {
	in, out, pivots := b.in(0), b.out(0), b.out(1)
	m, n := matrixLengths(in)
	k := min(m, n)
	square := paddedColumns(k)
	stride := eliminationStride[T](m, k, n-k)
	products := eliminationScratch[T](m, k, n-k, nil)
	size := inDoubles[T](m*stride) + inDoubles[T](m) + inDoubles[T](smallestBlock) + inDoubles[T](products)
	return matrixWork{scratch: size, work: m * n * k, all: func(lo, hi int, scratch []float64) {
		e := elimination[T]{n: m, m: n - k, stride: stride}
		e.a, e.diagonal, e.top = scratchSlice[T](&scratch, m*stride), scratchSlice[T](&scratch, m), scratchSlice[T](&scratch, smallestBlock)
		e.x, e.scratch = e.a[min(square, len(e.a)):], scratchSlice[T](&scratch, products)
		for i := lo; i < hi; i++ {
			e.pivots = plan.Data[int32](pivots)[i*k:][:k]
			clear(e.a)
			for r := range m {
				readNumbers(e.a[r*stride:][:k], in, (i*m+r)*n)
				if n > k {
					readNumbers(e.a[r*stride+square:][:n-k], in, (i*m+r)*n+k)
				}
			}
			if m <= panelMatrix {
				e.panels(k)
			} else {
				e.factor(0, k)
				e.forward(0, k, e.x, n-k)
			}
			for r := range m {
				row := e.a[r*stride:][:k]
				for c := range row[:min(r, k)] { // the multiples are stored negated
					row[c] = 0 - row[c]
				}
				writeNumbers(out, (i*m+r)*n, row)
				if n > k {
					writeNumbers(out, (i*m+r)*n+k, e.a[r*stride+square:][:n-k])
				}
			}
		}
	}}
}

// luWorkOfFew eliminates without blocks, for small matrices.
func luWorkOfFew(b *build) matrixWork {
	in, out, pivots := b.in(0), b.out(0), b.out(1)
	m, n := matrixLengths(in)
	k := min(m, n)
	return matrixWork{scratch: m * n, work: m * n * k, run: func(i int, scratch []float64) {
		a := scratch[:m*n]
		readDoubles(a, in, i*m*n)
		places := plan.Data[int32](pivots)[i*k:][:k]
		for c := range places {
			p := c + largestOf(a[c*n+c:], m-c, n)
			places[c] = int32(p)
			top := a[c*n:][:n]
			if p != c {
				for j, v := range a[p*n:][:n] {
					a[p*n+j], top[j] = top[j], v
				}
			}
			pivot := top[c]
			if pivot == 0 {
				continue // all elements below are zero as well
			}
			for r := c + 1; r < m; r++ {
				row := a[r*n:][:n]
				f := row[c] / pivot
				row[c] = f
				for j := c + 1; j < n; j++ {
					row[j] -= f * top[j]
				}
			}
		}
		writeDoubles(out, i*m*n, a)
	}}
}
