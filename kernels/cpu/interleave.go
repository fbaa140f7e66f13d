package cpu

import (
	"slices"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Concatenations of rows of one element each, or of a few elements of one or two bytes: real and imaginary parts,
// coordinates, colours.

// interleaves reports whether [interleave] can concatenate the rows. All rows must have size bytes.
func interleaves(sources []*plan.Operand, rows, size int) bool {
	if len(sources) < 2 || len(sources) > 4 || size != 1 && size != 2 && size != 4 && size != 8 {
		return false
	}
	for _, s := range sources {
		if s.N*s.Typ.DType.Size() != rows*size {
			return false
		}
	}
	return true
}

// interleave interleaves elements [first, first+n) of two to four sources.
func interleave(dst unsafe.Pointer, sources []*plan.Operand, size, first, n int) {
	var from [4]unsafe.Pointer
	for i, s := range sources {
		from[i] = s.Ptr()
	}
	interleaveFrom(dst, from[:len(sources)], size, first, n)
}

// interleaveFrom is interleave for sources at the given addresses.
func interleaveFrom(dst unsafe.Pointer, from []unsafe.Pointer, size, first, n int) {
	m := vec.Turns(dst, from, size, first, n)
	if m == n {
		return
	}
	dst, first, n = unsafe.Add(dst, m*size*len(from)), first+m, n-m
	switch {
	case size == 1 && bigEndian:
		interleaveElements[uint8](dst, from, first, n)
	case size == 2 && bigEndian:
		interleaveElements[uint16](dst, from, first, n)
	case size == 1:
		interleaveNarrow[uint8](dst, from, first, n)
	case size == 2:
		interleaveNarrow[uint16](dst, from, first, n)
	case size == 4:
		interleaveElements[uint32](dst, from, first, n)
	default:
		interleaveElements[uint64](dst, from, first, n)
	}
}

// interleaveNarrow is interleave for elements of one or two bytes, several of which fit into a word.
func interleaveNarrow[T uint8 | uint16](dst unsafe.Pointer, from []unsafe.Pointer, first, n int) {
	size := int(unsafe.Sizeof(T(0)))
	bits := 8 * size
	switch len(from) {
	case 2:
		whole, at := n*size/4, first*size // groups of four bytes
		a, b, y := unsafe.Add(from[0], at), unsafe.Add(from[1], at), block.View[uint64](dst, whole)
		for i := range y {
			v, w := spread[T](*(*uint32)(unsafe.Add(a, 4*i))), spread[T](*(*uint32)(unsafe.Add(b, 4*i)))
			y[i] = v | w<<bits
		}
		done := whole * 4 / size
		interleaveElements[T](unsafe.Add(dst, 8*whole), from, first+done, n-done)
	case 4:
		var x [4][]T
		for i, p := range from {
			x[i] = block.View[T](p, first+n)[first:][:n]
		}
		a, b, c, d := x[0], x[1], x[2], x[3]
		for i, v := range a {
			word := uint64(v) | uint64(b[i])<<bits | uint64(c[i])<<(2*bits) | uint64(d[i])<<(3*bits)
			if bits == 8 {
				*(*uint32)(unsafe.Add(dst, 4*i)) = uint32(word)
			} else {
				*(*uint64)(unsafe.Add(dst, 8*i)) = word
			}
		}
	default:
		interleaveElements[T](dst, from, first, n)
	}
}

// spread inserts a gap of an element's size after each element of a word.
func spread[T uint8 | uint16](word uint32) uint64 {
	x := uint64(word)
	x = (x | x<<16) & 0x0000ffff0000ffff
	if unsafe.Sizeof(T(0)) == 1 {
		x = (x | x<<8) & 0x00ff00ff00ff00ff
	}
	return x
}

func interleaveElements[T uint8 | uint16 | uint32 | uint64](dst unsafe.Pointer, from []unsafe.Pointer, first, n int) {
	var x [4][]T
	for i, p := range from {
		x[i] = block.View[T](p, first+n)[first:]
	}
	a, b := x[0], x[1][:n]
	switch len(from) {
	case 2:
		y := block.View[[2]T](dst, n)[:len(a)]
		for i, v := range a {
			y[i] = [2]T{v, b[i]}
		}
	case 3:
		c, y := x[2][:len(a)], block.View[[3]T](dst, n)[:len(a)]
		b = b[:len(a)]
		for i, v := range a {
			to := &y[i]
			to[0], to[1], to[2] = v, b[i], c[i]
		}
	default:
		c, d, y := x[2][:len(a)], x[3][:len(a)], block.View[[4]T](dst, n)[:len(a)]
		b = b[:len(a)]
		for i, v := range a {
			to := &y[i]
			to[0], to[1], to[2], to[3] = v, b[i], c[i], d[i]
		}
	}
}

// leastShuffled is the number of elements times the square of their repetitions from which on shuffles repeat them
// faster: four times, or with AVX2 also twice.
const leastShuffled = 1 << 12

// repeatedElements is a broadcast that repeats every element two to four times.
func (b *build) repeatedElements() (func(), bool) {
	in, out := b.in(0), b.out(0)
	shape, axes, size := out.Typ.Shape, b.n.Attrs.(ir.BroadcastAttrs).Axes, in.Typ.DType.Size()
	last := len(shape) - 1
	if last < 0 || in.N < leastChain || in.N*shape[last] != out.N || in.Mem.Bytes == size {
		return nil, false
	}
	if n := len(axes); n > 0 && axes[n-1] == last && in.Typ.Shape[n-1] != 1 {
		return nil, false
	}
	if size < 4 && vec.NewRepeats(size, shape[last]) != nil {
		return nil, false // vectors do that in a copy
	}
	if n := shape[last]; in.N*n*n >= leastShuffled && (n == 4 || n == 2 && usesAVX2()) {
		return nil, false
	}
	sources := slices.Repeat([]*plan.Operand{in}, shape[last])
	if !interleaves(sources, in.N, size) || !byInterleaving.Taken() {
		return nil, false
	}
	return b.rt().parallel(in.N, grain(1), func(_ *worker, lo, hi int) {
		interleave(unsafe.Add(out.Ptr(), lo*size*len(sources)), sources, size, lo, hi-lo)
	}), true
}
