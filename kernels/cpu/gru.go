package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

func buildGruCell(b *build) (func(), error) { return byFloat(b, gruCell[float64], gruCell[float32]) }

func gruCell[T block.Float](b *build) func() {
	x, u, h, next, gates := b.in(0), b.in(1), b.in(2), b.out(0), b.out(1)
	return b.rowLoop(h, 45, func(_ *worker, _, lo, hi int) {
		vec.GruCell(plan.Data[T](next)[lo:hi], plan.Data[T](gates)[3*lo:3*hi], plan.Data[T](x)[3*lo:3*hi], plan.Data[T](u)[3*lo:3*hi], plan.Data[T](h)[lo:hi])
	})
}

func buildGruCellGrad(b *build) (func(), error) {
	return byFloat(b, gruCellGrad[float64], gruCellGrad[float32])
}

func gruCellGrad[T block.Float](b *build) func() {
	gates, u, h, dnext, dx, du, dh := b.in(0), b.in(1), b.in(2), b.in(3), b.out(0), b.out(1), b.out(2)
	return b.rowLoop(h, 20, func(_ *worker, _, lo, hi int) {
		vec.GruCellGrad(plan.Data[T](dx)[3*lo:3*hi], plan.Data[T](du)[3*lo:3*hi], plan.Data[T](dh)[lo:hi], plan.Data[T](gates)[3*lo:3*hi], plan.Data[T](u)[3*lo:3*hi],
			plan.Data[T](h)[lo:hi], plan.Data[T](dnext)[lo:hi])
	})
}
