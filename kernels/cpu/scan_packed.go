package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Products in the body of a loop that runs in blocks read the matrices on their right packed. If several products
// multiply the same rows, and these are so far apart that they compete for places in the cache, the first product
// copies them to a better layout.

// scanPacked is a matrix that all steps multiply by, in the layout that products read fastest.
type scanPacked struct {
	from       *plan.Operand
	k, columns int
	trans      bool          // products use its transpose
	to         *plan.Operand // what products read: the panels that the matrix's buffer keeps, or room
	room       *plan.Operand
	kept       *form // nil: the buffer keeps nothing
}

// scanPacked reserves memory in that layout for a matrix of k rows, or k columns if trans is set.
func (b *build) scanPacked(from *plan.Operand, k, columns int, trans bool) scanPacked {
	p := scanPacked{from: from, k: k, columns: columns, trans: trans}
	switch d := from.Typ.DType; {
	case d == ir.Float64:
		p.room = b.scratch(d, gemm.PackedSize[float64](columns, k))
	case d.IsHalf():
		_, size := gemm.HalfPanels(&gemm.HalfArgs{Type: *halfOf[d], M: 1, N: columns, K: k})
		p.room = b.scratch(ir.Float32, size)
		p.to = p.room
		return p
	default:
		p.room = b.scratch(d, gemm.PackedSize[float32](columns, k))
	}
	p.to = p.room
	if p.kept = b.kept(from, &form{off: from.Off, k: k, n: columns, ld: from.Typ.Shape[1], trans: trans}); p.kept != nil {
		p.to = &plan.Operand{Mem: &plan.Storage{}, Typ: p.room.Typ, N: p.room.N}
	}
	return p
}

// fill packs the matrix, unless its buffer keeps it packed.
func (p *scanPacked) fill(rt *runtime) {
	switch d := p.from.Typ.DType; {
	case d == ir.Float64:
		fillPacked[float64](p, rt)
	case d.IsHalf():
		gemm.PackHalf(rt.pool, plan.Data[float32](p.to), &gemm.HalfArgs{Type: *halfOf[d], M: 1, N: p.columns, K: p.k, B: plan.Data[uint16](p.from), TransB: p.trans})
	default:
		fillPacked[float32](p, rt)
	}
}

func fillPacked[T gemm.Float](p *scanPacked, rt *runtime) {
	if panels := panelsOf[T](p.kept, p.from, rt.pool); panels != nil {
		p.to.Mem.Ptr = unsafe.Pointer(unsafe.SliceData(panels))
		return
	}
	if p.kept != nil {
		p.to.Mem.Ptr = p.room.Ptr()
	}
	gemm.PackB(rt.pool, plan.Data[T](p.to), plan.Data[T](p.from), p.k, p.columns, 0, p.trans)
}

// span is a piece of memory.
type span struct {
	ptr   unsafe.Pointer
	bytes int
}

// packedDot multiplies by a matrix that the scan has packed. It returns false for other products.
func (b *build) packedDot() (func(), bool) {
	right, ok := rightOf(b.Program, b.n)
	o := b.c.packed[right]
	if !ok || o == nil || b.u.Fused != nil && b.u.Fused.Perm != nil {
		return nil, false
	}
	switch d := b.in(0).Typ.DType; {
	case d.IsHalf():
		return multiplyPackedHalf(b, *halfOf[d], o), true
	case d == ir.Float64:
		return multiplyPacked[float64](b, o), true
	}
	return multiplyPacked[float32](b, o), true
}

func multiplyPacked[T gemm.Float](b *build, packed *plan.Operand) func() {
	x, out := b.in(0), b.out(0)
	rows, k, stride := x.Typ.Shape[0], x.Typ.Shape[1], 0
	left, fill := b.spacedLeft(gemm.SpacedRow[T](x.Typ.Shape[1]))
	if left != nil {
		stride = left.N / rows
	} else {
		left = x
	}
	args := &gemm.Args[T]{M: rows, K: k, LDA: stride, N: b.Program.Type(b.n.Outputs[0]).Shape[1], Packed: true}
	bias, relu := b.addedToProduct()
	args.ReLU = relu
	if bias != nil {
		args.Bias = []T{}
	}
	if out.N == 0 {
		return func() {}
	}
	rt := b.rt()
	product := gemm.Prepare(args, rt.pool.Size())
	scratch := b.scratch(out.Typ.DType, product.ScratchSize())
	ahead := make([][]T, 0, cap(rt.ahead))
	return func() {
		if fill {
			to, from := plan.Data[T](left), plan.Data[T](x)
			for r := range rows {
				copy(to[r*stride:], from[r*k:(r+1)*k])
			}
		}
		var added []T
		if bias != nil {
			added = plan.Data[T](bias)
		}
		ahead = takePrefetches(rt, ahead)
		product.RunAhead(rt.pool, plan.Data[T](left), plan.Data[T](packed), plan.Data[T](out), added, plan.Data[T](scratch), ahead)
		clear(ahead)
		ahead = ahead[:0]
	}
}

func multiplyPackedHalf(b *build, h vec.Half, packed *plan.Operand) func() {
	x, out := b.in(0), b.out(0)
	args := &gemm.HalfArgs{Type: h, M: x.Typ.Shape[0], K: x.Typ.Shape[1], N: b.Program.Type(b.n.Outputs[0]).Shape[1]}
	bias, relu := b.addedToProduct()
	args.ReLU = relu
	if out.N == 0 {
		return func() {}
	}
	rt := b.rt()
	scratch := b.scratch(ir.Float32, gemm.HalfScratch(args, rt.pool.Size()))
	return func() {
		if bias != nil {
			args.Bias = plan.Data[uint16](bias)
		}
		args.A, args.C, args.Packed = plan.Data[uint16](x), plan.Data[uint16](out), plan.Data[float32](packed)
		gemm.RunHalf(rt.pool, args, plan.Data[float32](scratch))
		args.A, args.C, args.Bias, args.Packed = nil, nil, nil, nil
	}
}

// spacedLeft returns memory for the left side of the product, with rows stride elements apart, and whether this product
// fills it. It returns nil if the rows may stay in place, or no other product reads them.
func (b *build) spacedLeft(stride int) (left *plan.Operand, fill bool) {
	v := b.n.Inputs[0]
	t := b.Program.Type(v)
	if stride == t.Shape[1] {
		return nil, false
	}
	if left = b.spaced[v]; left != nil {
		return left, false
	}
	products, last := 0, 0
	for _, i := range b.Users[v] {
		n := &b.Program.Nodes[i]
		if right, ok := rightOf(b.Program, n); ok && b.c.packed[right] != nil && n.Inputs[0] == v {
			products, last = products+1, max(last, b.UnitOf[i].Time)
		}
	}
	if products < 2 {
		return nil, false
	}
	left = b.scratch(t.DType, t.Shape[0]*stride)
	left.Mem.Last = last
	if b.spaced == nil {
		b.spaced = map[ir.Value]*plan.Operand{}
	}
	b.spaced[v] = left
	return left, true
}

// takePrefetches moves the runtime's list of memory to prefetch to that of a product.
func takePrefetches[T gemm.Float](rt *runtime, list [][]T) [][]T {
	for _, s := range rt.ahead {
		var zero T
		list = append(list, block.View[T](s.ptr, s.bytes/int(unsafe.Sizeof(zero))))
	}
	rt.ahead = rt.ahead[:0]
	return list
}
