package cpu

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/ir"
)

// tallDot computes the sum over all examples (and steps) of the products of their features, which is the gradient of a
// weight. It returns false for other products.
func (b *build) tallDot() (func(), bool) {
	axes := leadingAxes(b.Program, b.n)
	if axes == 0 || b.u.Fused != nil {
		return nil, false
	}
	if b.in(0).Typ.DType == ir.Float64 {
		return tallProduct[float64](b, axes)
	}
	return tallProduct[float32](b, axes)
}

// leadingAxes returns how many axes a product of floats sums over, if these are the leading axes of both operands in
// order, and not all axes. Otherwise it returns 0.
func leadingAxes(p *ir.Program, n *ir.Node) int {
	a, ok := n.Attrs.(ir.DotAttrs)
	if !ok || len(a.LhsBatch) > 0 || !p.Type(n.Inputs[0]).DType.IsWideFloat() {
		return 0
	}
	for side, axes := range [][]int{a.LhsContract, a.RhsContract} {
		if len(axes) >= len(p.Type(n.Inputs[side]).Shape) {
			return 0
		}
		for i, axis := range axes {
			if axis != i {
				return 0
			}
		}
	}
	return len(a.LhsContract)
}

func tallProduct[T gemm.Float](b *build, axes int) (func(), bool) {
	x, y, out := b.in(0), b.in(1), b.out(0)
	args := &gemm.Args[T]{M: x.Typ.Shape[axes:].Size(), N: y.Typ.Shape[axes:].Size(), K: x.Typ.Shape[:axes].Size(), TransA: true}
	if out.N == 0 || !gemm.IsTall(args) {
		return nil, false
	}
	tall, rt, sums := &gemm.Tall[T]{}, b.rt(), b.fusedSums()
	return func() {
		if sums != nil {
			tall.Sums = plan.Data[T](sums)
		}
		args.A, args.B, args.C = plan.Data[T](x), plan.Data[T](y), plan.Data[T](out)
		tall.Run(rt.pool, args)
		args.A, args.B, args.C, tall.Sums = nil, nil, nil, nil
	}, true
}

// fusedSums looks for a reduction that sums the right side of the tall product over the same axes, such as the
// gradient of a bias beside that of a matrix. The product reads all of that operand anyway, so it computes these sums
// too. fusedSums returns where to store them.
func (b *build) fusedSums() *plan.Operand {
	y := b.n.Inputs[1]
	for _, i := range b.Users[y] {
		n, u := &b.Program.Nodes[i], b.UnitOf[i]
		a, ok := n.Attrs.(ir.ReduceAttrs)
		if !ok || a.Kind != ir.Sum || !slices.Equal(a.Axes, b.n.Attrs.(ir.DotAttrs).RhsContract) || u == nil || u.Elementwise || u.Time <= b.u.Time || b.sums[n] != nil {
			continue
		}
		t := b.Program.Type(n.Outputs[0])
		sums := b.scratch(t.DType, t.Shape.Size())
		sums.Mem.Last = u.Time
		if b.sums == nil {
			b.sums = map[*ir.Node]*plan.Operand{}
		}
		b.sums[n] = sums
		return sums
	}
	return nil
}

// summedBefore copies sums that a product has computed. It returns false for other reductions.
func (b *build) summedBefore() (func(), bool) {
	sums := b.sums[b.n]
	if sums == nil {
		return nil, false
	}
	out := b.out(0)
	return func() { copy(plan.Raw(out), plan.Raw(sums)) }, true
}
