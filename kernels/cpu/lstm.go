package cpu

import "github.com/gokeras/gokeras/kernels/cpu/internal/vec"

func buildLstmCell(b *build) (func(), error) { return byFloat(b, lstmCell[float64], lstmCell[float32]) }

func lstmCell[T float](b *build) func() {
	z, carry, h, next, gates := b.in(0), b.in(1), b.out(0), b.out(1), b.out(2)
	return b.rowLoop(carry, 60, func(_ *worker, _, lo, hi int) {
		vec.LstmCell(data[T](h)[lo:hi], data[T](next)[lo:hi], data[T](gates)[4*lo:4*hi], data[T](z)[4*lo:4*hi], data[T](carry)[lo:hi])
	})
}

func buildLstmCellGrad(b *build) (func(), error) {
	return byFloat(b, lstmCellGrad[float64], lstmCellGrad[float32])
}

func lstmCellGrad[T float](b *build) func() {
	gates, carry, dh, dnext, dz, dcarry := b.in(0), b.in(1), b.in(2), b.in(3), b.out(0), b.out(1)
	return b.rowLoop(carry, 30, func(_ *worker, _, lo, hi int) {
		vec.LstmCellGrad(data[T](dz)[4*lo:4*hi], data[T](dcarry)[lo:hi], data[T](gates)[4*lo:4*hi], data[T](carry)[lo:hi], data[T](dh)[lo:hi],
			data[T](dnext)[lo:hi])
	})
}
