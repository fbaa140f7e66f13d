package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
)

// integerDot multiplies integers. They wrap around, so those with a sign and those without are computed alike.
func integerDot(b *build, product *dotPlan) func() {
	switch b.in(0).Typ.DType.Size() {
	case 1:
		return buildIntegerDot[uint8](b, product)
	case 2:
		return buildIntegerDot[uint16](b, product)
	case 4:
		return buildIntegerDot[uint32](b, product)
	}
	return buildIntegerDot[uint64](b, product)
}

func buildIntegerDot[T uint8 | uint16 | uint32 | uint64](b *build, product *dotPlan) func() {
	x, y, out := product.a.o, product.b.o, b.out(0)
	l := product.loop()
	m, n, k := product.a.rows, product.b.cols, product.a.cols
	if out.N == 0 {
		return func() {}
	}
	entries := len(l.outer) * l.dims[0] * l.dims[1]
	return b.rt().parallel(entries*m, grain(n*k), func(_ *worker, lo, hi int) {
		for lo < hi {
			entry, row := lo/m, lo%m
			rows := min(m-row, hi-lo)
			j, rest := entry%l.dims[1], entry/l.dims[1]
			i, o := rest%l.dims[0], l.outer[rest/l.dims[0]]
			xs := plan.Data[T](x)[o[0]+i*l.strideA[0]+j*l.strideA[1]:]
			ys := plan.Data[T](y)[o[1]+i*l.strideB[0]+j*l.strideB[1]:]
			zs := plan.Data[T](out)[o[2]+i*l.strideC[0]+j*l.strideC[1]:]
			for r := row; r < row+rows; r++ {
				if k == 0 {
					clear(zs[r*product.c.RowStride:][:n])
					continue
				}
				integerRow(zs[r*product.c.RowStride:][:n], xs[r*product.a.rowStride:], ys, product, k)
			}
			lo += rows
		}
	})
}

// integerRow computes a row of the product: the row x, whose k elements are a's column stride apart, times the matrix.
func integerRow[T uint8 | uint16 | uint32 | uint64](z, x, y []T, product *dotPlan, k int) {
	step, q := product.a.colStride, &product.b
	if q.colStride != 1 || len(z) < 3 {
		for col := range z {
			var sum T
			for c := range k {
				sum += x[c*step] * y[c*q.rowStride+col*q.colStride]
			}
			z[col] = sum
		}
		return
	}
	v := x[0]
	for col, w := range y[:len(z)] {
		z[col] = v * w
	}
	c := 1
	for ; c+1 < k; c += 2 { // two rows of the matrix at a time
		v0, v1 := x[c*step], x[(c+1)*step]
		row0, row1 := y[c*q.rowStride:][:len(z)], y[(c+1)*q.rowStride:][:len(z)]
		for col := range z {
			z[col] += v0*row0[col] + v1*row1[col]
		}
	}
	if c < k {
		v = x[c*step]
		for col, w := range y[c*q.rowStride:][:len(z)] {
			z[col] += v * w
		}
	}
}
