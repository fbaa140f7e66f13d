package cpu

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/ir"
)

// longDot computes the sum over all examples (and steps) of the products of their features: the gradient of a weight. It reports false
// for other products.
func (b *build) longDot() (func(), bool) {
	if !leadingAxes(b.p, b.n) || b.u.fused != nil {
		return nil, false
	}
	if b.in(0).typ.DType == ir.Float64 {
		return longProduct[float64](b)
	}
	return longProduct[float32](b)
}

// leadingAxes reports whether a product of floats sums over all axes but the last of both operands, in order.
func leadingAxes(p *ir.Program, n *ir.Node) bool {
	a, ok := n.Attrs.(ir.DotAttrs)
	if !ok || len(a.LhsBatch) > 0 || !hasEpilogue(p.Type(n.Inputs[0]).DType) {
		return false
	}
	for side, axes := range [][]int{a.LhsContract, a.RhsContract} {
		if len(axes) != len(p.Type(n.Inputs[side]).Shape)-1 {
			return false
		}
		for i, axis := range axes {
			if axis != i {
				return false
			}
		}
	}
	return true
}

func longProduct[T gemm.Float](b *build) (func(), bool) {
	x, y, out := b.in(0), b.in(1), b.out(0)
	s := b.p.Type(b.n.Outputs[0]).Shape
	args := &gemm.Args[T]{M: s[0], N: s[1], K: x.n / max(s[0], 1), TransA: true}
	if out.n == 0 || !gemm.IsLong(args) {
		return nil, false
	}
	long, rt, sums := &gemm.Long[T]{}, b.rt(), b.sumsBeside()
	return func() {
		if sums != nil {
			long.Sums = data[T](sums)
		}
		args.A, args.B, args.C = data[T](x), data[T](y), data[T](out)
		long.Run(rt.pool, args)
		args.A, args.B, args.C, long.Sums = nil, nil, nil, nil
	}, true
}

// sumsBeside looks for a reduction that sums the right side of the long product over the same axes, as the gradient of a bias does beside
// that of a matrix. The product reads all of it anyway, so it computes these sums too; it returns where to.
func (b *build) sumsBeside() *operand {
	y := b.n.Inputs[1]
	for _, i := range b.users[y] {
		n, u := &b.p.Nodes[i], b.unitOf[i]
		a, ok := n.Attrs.(ir.ReduceAttrs)
		if !ok || a.Kind != ir.Sum || !slices.Equal(a.Axes, b.n.Attrs.(ir.DotAttrs).RhsContract) || u == nil || u.elementwise || u.time <= b.u.time || b.sums[n] != nil {
			continue
		}
		t := b.p.Type(n.Outputs[0])
		sums := b.scratch(t.DType, t.Shape.Size())
		sums.mem.last = u.time
		if b.sums == nil {
			b.sums = map[*ir.Node]*operand{}
		}
		b.sums[n] = sums
		return sums
	}
	return nil
}

// summedBefore copies the sums that a product has computed. It reports false for other reductions.
func (b *build) summedBefore() (func(), bool) {
	sums := b.sums[b.n]
	if sums == nil {
		return nil, false
	}
	out := b.out(0)
	return func() { copy(raw(out), raw(sums)) }, true
}

// alignSums lets sums over examples and steps read both operands in the order of memory: where one operand is the stack (batch, steps, ...)
// whose transpose (steps, batch, ...) exists too, it reads that.
func alignSums(p *ir.Program) (*ir.Program, error) {
	r, found := newRewriter(p), false
	swapped := map[ir.Value]ir.Value{} // of a stack: its transpose
	for i := range p.Nodes {
		n := &p.Nodes[i]
		attrs, operands := n.Attrs, r.operands(n)
		switch a := n.Attrs.(type) {
		case ir.TransposeAttrs:
			if slices.Equal(a.Perm, []int{1, 0, 2}) {
				swapped[n.Inputs[0]] = n.Outputs[0]
			}
		case ir.DotAttrs:
			t, ok := swapped[n.Inputs[0]]
			if ok && slices.Equal(a.LhsContract, []int{1, 0}) && slices.Equal(a.RhsContract, []int{0, 1}) && len(p.Type(n.Inputs[1]).Shape) == 3 {
				found = true
				operands[0] = r.mapped[t]
				attrs = ir.DotAttrs{LhsContract: []int{0, 1}, RhsContract: []int{0, 1}}
			}
		}
		out, err := r.to.Add(n.Scope, n.Op, attrs, operands...)
		if err == nil {
			err = r.define(n, out)
		}
		if err != nil {
			return nil, err
		}
	}
	if !found {
		return p, nil
	}
	return r.finish(), nil
}
