package cpu

import (
	"slices"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Ops that only move elements. Each is one ndCopy, or one for each operand.

// byteStrides are the row-major strides of a type in bytes.
func byteStrides(t ir.Type) []int {
	s := t.Shape.Strides()
	for i := range s {
		s[i] *= t.DType.Size()
	}
	return s
}

// move returns a function that runs a copy between two operands, dstOff and srcOff bytes into them.
func (b *build) move(c *ndCopy, dst, src *operand, dstOff, srcOff int) (func(), error) {
	if len(c.dims) > maxAxes {
		return nil, b.unsupported("moves data along %d axes; at most %d are supported", len(c.dims), maxAxes)
	}
	n := c.elements()
	if n == 0 {
		return func() {}, nil
	}
	return b.rt().parallel(c.dims[0], grain(n/c.dims[0]/2), func(_ *worker, lo, hi int) {
		c.run(unsafe.Add(dst.ptr(), dstOff), unsafe.Add(src.ptr(), srcOff), lo, hi)
	}), nil
}

// buildReshape runs only for a reshape that could not be a view.
func buildReshape(b *build) (func(), error) {
	in, out := b.in(0), b.out(0)
	return func() { copyOperand(out, in) }, nil
}

func buildTranspose(b *build) (func(), error) {
	in, out := b.in(0), b.out(0)
	from := byteStrides(in.typ)
	src := make([]int, len(from))
	for i, p := range b.n.Attrs.(ir.TransposeAttrs).Perm {
		src[i] = from[p]
	}
	return b.move(newCopy(in.typ.DType.Size(), out.typ.Shape, byteStrides(out.typ), src), out, in, 0, 0)
}

func buildBroadcast(b *build) (func(), error) {
	in, out := b.in(0), b.out(0)
	from := byteStrides(in.typ)
	src := make([]int, len(out.typ.Shape))
	for i, axis := range b.n.Attrs.(ir.BroadcastAttrs).Axes {
		if in.typ.Shape[i] != 1 {
			src[axis] = from[i]
		}
	}
	return b.move(newCopy(in.typ.DType.Size(), out.typ.Shape, byteStrides(out.typ), src), out, in, 0, 0)
}

func buildSlice(b *build) (func(), error) {
	in, out := b.in(0), b.out(0)
	a := b.n.Attrs.(ir.SliceAttrs)
	src, first := byteStrides(in.typ), 0
	for i := range src {
		first += a.Start[i] * src[i]
		src[i] *= a.Stride[i]
	}
	return b.move(newCopy(in.typ.DType.Size(), out.typ.Shape, byteStrides(out.typ), src), out, in, 0, first)
}

func buildReverse(b *build) (func(), error) {
	in, out := b.in(0), b.out(0)
	src, first := byteStrides(in.typ), 0
	for _, axis := range b.n.Attrs.(ir.AxesAttrs).Axes {
		first += (in.typ.Shape[axis] - 1) * src[axis]
		src[axis] = -src[axis]
	}
	return b.move(newCopy(in.typ.DType.Size(), out.typ.Shape, byteStrides(out.typ), src), out, in, 0, first)
}

func buildPad(b *build) (func(), error) {
	in, value, out := b.in(0), b.in(1), b.out(0)
	a := b.n.Attrs.(ir.PadAttrs)
	size := in.typ.DType.Size()
	src, dst := byteStrides(in.typ), byteStrides(out.typ)
	dims := make([]int, len(src))
	from, to := 0, 0
	for i := range src {
		// Operand element k lands at low + k·(1+interior); those before 0 or behind the end are cut off.
		step := 1 + a.Interior[i]
		first := 0
		if a.Low[i] < 0 {
			first = (-a.Low[i] + step - 1) / step
		}
		at := a.Low[i] + first*step
		if at < out.typ.Shape[i] {
			dims[i] = min(in.typ.Shape[i]-first, (out.typ.Shape[i]-1-at)/step+1)
		}
		if dims[i] = max(dims[i], 0); dims[i] == 0 {
			first, at = 0, 0
		}
		from += first * src[i]
		to += at * dst[i]
		dst[i] *= step
	}
	move, err := b.move(newCopy(size, dims, dst, src), out, in, to, from)
	if err != nil || out.n == 0 {
		return func() {}, err
	}
	fill := b.rt().parallel(out.n, 2*chunkWork, func(_ *worker, lo, hi int) {
		fillElement(unsafe.Add(out.ptr(), lo*size), value.ptr(), size, hi-lo)
	})
	return func() { fill(); move() }, nil
}

func buildConcat(b *build) (func(), error) {
	out := b.out(0)
	axis := b.n.Attrs.(ir.AxisAttrs).Axis
	dst := byteStrides(out.typ)
	moves := make([]func(), 0, len(b.n.Inputs))
	at := 0
	for i := range b.n.Inputs {
		in := b.in(i)
		if in.n > 0 {
			move, err := b.move(newCopy(in.typ.DType.Size(), in.typ.Shape, slices.Clone(dst), byteStrides(in.typ)), out, in, at, 0)
			if err != nil {
				return nil, err
			}
			moves = append(moves, move)
		}
		at += in.typ.Shape[axis] * dst[axis]
	}
	return func() {
		for _, move := range moves {
			move()
		}
	}, nil
}

// starts returns a function that reads the start operands from number first on, clamps them so that sizes fit into shape, and
// returns the offset in bytes.
func (b *build) starts(first int, shape ir.Shape, sizes []int, strides []int) func() int {
	operands := make([]*operand, len(shape))
	for i := range operands {
		operands[i] = b.in(first + i)
	}
	return func() int {
		offset := 0
		for i, o := range operands {
			start := int(data[int32](o)[0])
			offset += min(max(start, 0), shape[i]-sizes[i]) * strides[i]
		}
		return offset
	}
}

func buildDynamicSlice(b *build) (func(), error) {
	in, out := b.in(0), b.out(0)
	src := byteStrides(in.typ)
	start := b.starts(1, in.typ.Shape, out.typ.Shape, src)
	c := newCopy(in.typ.DType.Size(), out.typ.Shape, byteStrides(out.typ), src)
	if len(c.dims) > maxAxes {
		return nil, b.unsupported("more than %d axes", maxAxes)
	}
	if out.n == 0 {
		return func() {}, nil
	}
	return func() { c.run(out.ptr(), unsafe.Add(in.ptr(), start()), 0, c.dims[0]) }, nil
}

func buildDynamicUpdateSlice(b *build) (func(), error) {
	in, update, out := b.in(0), b.in(1), b.out(0)
	dst := byteStrides(out.typ)
	start := b.starts(2, out.typ.Shape, update.typ.Shape, dst)
	c := newCopy(in.typ.DType.Size(), update.typ.Shape, dst, byteStrides(update.typ))
	if len(c.dims) > maxAxes {
		return nil, b.unsupported("more than %d axes", maxAxes)
	}
	return func() {
		copyOperand(out, in)
		if update.n > 0 {
			c.run(unsafe.Add(out.ptr(), start()), update.ptr(), 0, c.dims[0])
		}
	}, nil
}
