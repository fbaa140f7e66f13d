package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

func buildLstmCell(b *build) (func(), error) { return byFloat(b, lstmCell[float64], lstmCell[float32]) }

func lstmCell[T block.Float](b *build) func() {
	z, carry, h, next, gates := b.in(0), b.in(1), b.out(0), b.out(1), b.out(2)
	return b.rowLoop(carry, 60, func(_ *worker, _, lo, hi int) {
		vec.LstmCell(plan.Data[T](h)[lo:hi], plan.Data[T](next)[lo:hi], plan.Data[T](gates)[4*lo:4*hi], plan.Data[T](z)[4*lo:4*hi], plan.Data[T](carry)[lo:hi])
	})
}

func buildLstmCellGrad(b *build) (func(), error) {
	return byFloat(b, lstmCellGrad[float64], lstmCellGrad[float32])
}

func lstmCellGrad[T block.Float](b *build) func() {
	gates, carry, dh, dnext, dz, dcarry := b.in(0), b.in(1), b.in(2), b.in(3), b.out(0), b.out(1)
	return b.rowLoop(carry, 30, func(_ *worker, _, lo, hi int) {
		vec.LstmCellGrad(plan.Data[T](dz)[4*lo:4*hi], plan.Data[T](dcarry)[lo:hi], plan.Data[T](gates)[4*lo:4*hi], plan.Data[T](carry)[lo:hi], plan.Data[T](dh)[lo:hi],
			plan.Data[T](dnext)[lo:hi])
	})
}
