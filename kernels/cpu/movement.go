package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Ops that only move elements. Each is one ndCopy, or one for each operand.

// byteStrides returns the row-major strides of a type in bytes.
func byteStrides(t ir.Type) []int {
	s := t.Shape.Strides()
	for i := range s {
		s[i] *= t.DType.Size()
	}
	return s
}

// move returns a function that runs a copy between two operands, starting at the given offsets in bytes.
func (b *build) move(c *ndCopy, dst, src *plan.Operand, dstOff, srcOff int) (func(), error) {
	if len(c.dims) > maxAxes {
		return nil, b.unsupported("moves data along %d axes; at most %d are supported", len(c.dims), maxAxes)
	}
	n := c.elements()
	if n == 0 {
		return func() {}, nil
	}
	chunk := grain(n / c.dims[0] / 2)
	if c.cutsLines(chunk) {
		switch k := c.longestBetween(); {
		case c.dims[0] >= leastChunks*c.line():
			chunk = c.line()
		case k > 0:
			c = c.exchanged(k)
			chunk = grain(n / c.dims[0] / 2)
		default:
			return b.moveColumns(c, dst, src, dstOff, srcOff), nil
		}
	}
	return b.rt().parallel(c.dims[0], chunk, func(_ *worker, lo, hi int) {
		c.run(unsafe.Add(dst.Ptr(), dstOff), unsafe.Add(src.Ptr(), srcOff), lo, hi)
	}), nil
}

// buildReshape copies. It runs only for reshapes that cannot be views.
func buildReshape(b *build) (func(), error) {
	in, out := b.in(0), b.out(0)
	return func() { copyOperand(out, in) }, nil
}

func buildTranspose(b *build) (func(), error) {
	in, out := b.in(0), b.out(0)
	from := byteStrides(in.Typ)
	src := make([]int, len(from))
	for i, p := range b.n.Attrs.(ir.TransposeAttrs).Perm {
		src[i] = from[p]
	}
	return b.move(newCopy(in.Typ.DType.Size(), out.Typ.Shape, byteStrides(out.Typ), src), out, in, 0, 0)
}

func buildBroadcast(b *build) (func(), error) {
	if run, ok := b.repeatedElements(); ok {
		return run, nil
	}
	in, out := b.in(0), b.out(0)
	from := byteStrides(in.Typ)
	src := make([]int, len(out.Typ.Shape))
	for i, axis := range b.n.Attrs.(ir.BroadcastAttrs).Axes {
		if in.Typ.Shape[i] != 1 {
			src[axis] = from[i]
		}
	}
	return b.move(newCopy(in.Typ.DType.Size(), out.Typ.Shape, byteStrides(out.Typ), src), out, in, 0, 0)
}

// slicedPiece is how many bytes are copied from a slice before those of the neighbouring slices, so that what the
// processor has fetched of a row is used while it is in the cache. Rows of longPiece bytes and more are prefetched by
// the processor, and are copied faster one slice after the other.
const (
	slicedPiece = 64 << 10
	longPiece   = 4 << 10
)

func buildSlice(b *build) (func(), error) {
	if len(b.u.Nodes) > 1 {
		return b.buildSlices()
	}
	in, out := b.in(0), b.out(0)
	src, first := slicedStrides(in.Typ, b.n.Attrs.(ir.SliceAttrs))
	return b.move(newCopy(in.Typ.DType.Size(), out.Typ.Shape, byteStrides(out.Typ), src), out, in, 0, first)
}

// buildSlices copies several slices of one value.
func (b *build) buildSlices() (func(), error) {
	in := b.in(0)
	var moves []pieceMove
	for _, i := range b.u.Nodes {
		n := &b.Program.Nodes[i]
		m := pieceMove{out: &b.Operands[n.Outputs[0]], source: in}
		var src []int
		src, m.from = slicedStrides(in.Typ, n.Attrs.(ir.SliceAttrs))
		if m.out.N > 0 {
			m.ndCopy = newCopy(in.Typ.DType.Size(), m.out.Typ.Shape, byteStrides(m.out.Typ), src)
			moves = append(moves, m)
		}
	}
	piece := slicedPiece
	for _, m := range moves {
		if last := len(m.dims) - 1; m.dims[last]*m.size >= longPiece && m.src[last] == m.size {
			piece = 0
		}
	}
	return b.moveAll(moves, piece)
}

// slicedStrides returns the strides of a slice of a value and the offset of its first element, in bytes.
func slicedStrides(t ir.Type, a ir.SliceAttrs) (strides []int, first int) {
	strides = byteStrides(t)
	for i := range strides {
		first += a.Start[i] * strides[i]
		strides[i] *= a.Stride[i]
	}
	return strides, first
}

func buildReverse(b *build) (func(), error) {
	in, out := b.in(0), b.out(0)
	src, first := byteStrides(in.Typ), 0
	for _, axis := range b.n.Attrs.(ir.AxesAttrs).Axes {
		first += (in.Typ.Shape[axis] - 1) * src[axis]
		src[axis] = -src[axis]
	}
	return b.move(newCopy(in.Typ.DType.Size(), out.Typ.Shape, byteStrides(out.Typ), src), out, in, 0, first)
}

func buildPad(b *build) (func(), error) {
	in, value, out := b.in(0), b.in(1), b.out(0)
	a := b.n.Attrs.(ir.PadAttrs)
	size := in.Typ.DType.Size()
	src, dst := byteStrides(in.Typ), byteStrides(out.Typ)
	dims := make([]int, len(src))
	from, to := 0, 0
	for i := range src {
		// Element k of the operand goes to low + k·(1+interior). Elements before 0 or beyond the end are dropped.
		step := 1 + a.Interior[i]
		first := 0
		if a.Low[i] < 0 {
			first = (-a.Low[i] + step - 1) / step
		}
		at := a.Low[i] + first*step
		if at < out.Typ.Shape[i] {
			dims[i] = min(in.Typ.Shape[i]-first, (out.Typ.Shape[i]-1-at)/step+1)
		}
		if dims[i] = max(dims[i], 0); dims[i] == 0 {
			first, at = 0, 0
		}
		from += first * src[i]
		to += at * dst[i]
		dst[i] *= step
	}
	return b.padded(newCopy(size, dims, dst, src), out, in, value, to, from)
}

// starts returns a function that reads the start operands from number first on. It clamps them so that sizes fit into
// shape, and returns the offset in bytes.
func (b *build) starts(first int, shape ir.Shape, sizes []int, strides []int) func() int {
	operands := make([]*plan.Operand, len(shape))
	for i := range operands {
		operands[i] = b.in(first + i)
	}
	return func() int {
		offset := 0
		for i, o := range operands {
			start := int(plan.Data[int32](o)[0])
			offset += min(max(start, 0), shape[i]-sizes[i]) * strides[i]
		}
		return offset
	}
}

func buildDynamicSlice(b *build) (func(), error) {
	in, out := b.in(0), b.out(0)
	src := byteStrides(in.Typ)
	start := b.starts(1, in.Typ.Shape, out.Typ.Shape, src)
	c := newCopy(in.Typ.DType.Size(), out.Typ.Shape, byteStrides(out.Typ), src)
	if len(c.dims) > maxAxes {
		return nil, b.unsupported("more than %d axes", maxAxes)
	}
	if out.N == 0 {
		return func() {}, nil
	}
	return func() { c.run(out.Ptr(), unsafe.Add(in.Ptr(), start()), 0, c.dims[0]) }, nil
}

func buildDynamicUpdateSlice(b *build) (func(), error) {
	in, update, out := b.in(0), b.in(1), b.out(0)
	dst := byteStrides(out.Typ)
	start := b.starts(2, out.Typ.Shape, update.Typ.Shape, dst)
	c := newCopy(in.Typ.DType.Size(), update.Typ.Shape, dst, byteStrides(update.Typ))
	if len(c.dims) > maxAxes {
		return nil, b.unsupported("more than %d axes", maxAxes)
	}
	rest := outside{in.Typ.DType.Size(), out.Typ.Shape, update.Typ.Shape, dst}
	return func() {
		at := start()
		rest.copy(out, in, at)
		if update.N > 0 {
			c.run(unsafe.Add(out.Ptr(), at), update.Ptr(), 0, c.dims[0])
		}
	}, nil
}
