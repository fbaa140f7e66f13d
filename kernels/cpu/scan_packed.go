package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/ir"
)

// The products in the body of a loop that runs by blocks read the matrices on their right packed. Where several multiply the same rows
// and these lie so far apart that they compete for places in the cache, the first product copies them to where they do not.

// span is a piece of memory.
type span struct {
	ptr   unsafe.Pointer
	bytes int
}

// packedDot multiplies by a matrix that the scan has packed. It reports false for products with another form.
func (b *build) packedDot() (func(), bool) {
	right, ok := rightOf(b.p, b.n)
	o := b.c.packed[right]
	if !ok || o == nil || b.u.fused != nil && b.u.fused.perm != nil {
		return nil, false
	}
	if o.typ.DType == ir.Float64 {
		return multiplyPacked[float64](b, o), true
	}
	return multiplyPacked[float32](b, o), true
}

func multiplyPacked[T gemm.Float](b *build, packed *operand) func() {
	x, out := b.in(0), b.out(0)
	rows, k, stride := x.typ.Shape[0], x.typ.Shape[1], 0
	left, fill := b.spacedLeft(gemm.SpacedRow[T](x.typ.Shape[1]))
	if left != nil {
		stride = left.n / rows
	} else {
		left = x
	}
	args := &gemm.Args[T]{M: rows, K: k, LDA: stride, N: b.p.Type(b.n.Outputs[0]).Shape[1], Packed: true,
		Ahead: make([][]T, 0, cap(b.rt().ahead))}
	bias, relu := b.addedToProduct()
	args.ReLU = relu
	if out.n == 0 {
		return func() {}
	}
	scratch := b.scratch(out.typ.DType, gemm.ScratchSize(args, b.rt().pool.Size()))
	rt := b.rt()
	return func() {
		if fill {
			to, from := data[T](left), data[T](x)
			for r := range rows {
				copy(to[r*stride:], from[r*k:(r+1)*k])
			}
		}
		if bias != nil {
			args.Bias = data[T](bias)
		}
		args.Ahead = takeAhead(rt, args.Ahead)
		args.A, args.B, args.C = data[T](left), data[T](packed), data[T](out)
		gemm.Run(rt.pool, args, data[T](scratch))
		clear(args.Ahead)
		args.A, args.B, args.C, args.Bias, args.Ahead = nil, nil, nil, nil, args.Ahead[:0]
	}
}

// spacedLeft returns memory for the left side of the product with rows that are stride elements apart, and whether this product fills it;
// nil if the rows may stay where they are, or no other product reads them.
func (b *build) spacedLeft(stride int) (left *operand, fill bool) {
	v := b.n.Inputs[0]
	t := b.p.Type(v)
	if stride == t.Shape[1] {
		return nil, false
	}
	if left = b.spaced[v]; left != nil {
		return left, false
	}
	products, last := 0, 0
	for _, i := range b.users[v] {
		n := &b.p.Nodes[i]
		if right, ok := rightOf(b.p, n); ok && b.c.packed[right] != nil && n.Inputs[0] == v {
			products, last = products+1, max(last, b.unitOf[i].time)
		}
	}
	if products < 2 {
		return nil, false
	}
	left = b.scratch(t.DType, t.Shape[0]*stride)
	left.mem.last = last
	if b.spaced == nil {
		b.spaced = map[ir.Value]*operand{}
	}
	b.spaced[v] = left
	return left, true
}

// takeAhead moves the runtime's list of what is wanted next to a product's.
func takeAhead[T gemm.Float](rt *runtime, list [][]T) [][]T {
	for _, s := range rt.ahead {
		var zero T
		list = append(list, view[T](s.ptr, s.bytes/int(unsafe.Sizeof(zero))))
	}
	rt.ahead = rt.ahead[:0]
	return list
}
