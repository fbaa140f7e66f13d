package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/geometry"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/ir"
)

func buildCumulative(b *build) (func(), error) {
	switch b.in(0).Typ.DType {
	case ir.Float32:
		return cumulate(b, float32(inf)), nil
	case ir.Float64:
		return cumulate(b, inf), nil
	case ir.Int8:
		return cumulate[int8](b, 1<<7-1), nil
	case ir.Int16:
		return cumulate[int16](b, 1<<15-1), nil
	case ir.Int32:
		return cumulate[int32](b, 1<<31-1), nil
	case ir.Int64:
		return cumulate[int64](b, 1<<63-1), nil
	case ir.Uint8:
		return cumulate[uint8](b, 1<<8-1), nil
	case ir.Uint16:
		return cumulate[uint16](b, 1<<16-1), nil
	case ir.Uint32:
		return cumulate[uint32](b, 1<<32-1), nil
	}
	return cumulate[uint64](b, 1<<64-1), nil
}

// cumulate combines along an axis and stores every intermediate result.
func cumulate[T block.Number](b *build, highest T) func() {
	in, out := b.in(0), b.out(0)
	a := b.n.Attrs.(ir.CumulativeAttrs)
	g := lines(in.Typ.Shape, a.Axis)
	s := cumulation[T]{kind: a.Kind, identity: identityOf(a.Kind, highest), exclusive: a.Exclusive, combine: combinerOf[T](a.Kind, in.Typ.DType)}
	if g.Inner == 1 || !a.Exclusive && g.Inner <= fewBetween {
		return cumulateBlocks(b, s, g, a.Reverse)
	}
	columns := max(min(max(grain(2*g.Length), cumulatedColumns), g.Inner, columnBlock), 1)
	b.rt().need(2 * columns * 8)
	pieces := (g.Inner + columns - 1) / columns
	return b.rt().parallel(g.Outer*pieces, grain(2*g.Length*columns), func(w *worker, lo, hi int) {
		x, y := plan.Data[T](in), plan.Data[T](out)
		for k := lo; k < hi; k++ {
			o, c := k/pieces, k%pieces*columns
			n := min(g.Inner-c, columns)
			first, step := o*g.Length*g.Inner+c, g.Inner
			if a.Reverse {
				first, step = first+(g.Length-1)*g.Inner, -g.Inner
			}
			if n == 1 {
				s.line(y, x, first, step, g.Length)
			} else {
				s.rows(y, x, scratchOf[T](w, 2*n), first, step, g.Length)
			}
		}
	})
}

const (
	fewBetween       = 32  // interleaved lines, at most, that are processed element by element
	cumulatedColumns = 128 // columns, at least, that a worker processes row by row, with a call for each
)

// cumulateBlocks processes a few interleaved lines in the order of memory.
func cumulateBlocks[T block.Number](b *build, s cumulation[T], g geometry.AxisGroup, reverse bool) func() {
	in, out := b.in(0), b.out(0)
	size := g.Length * g.Inner
	return b.rt().parallel(g.Outer, grain(2*size), func(_ *worker, lo, hi int) {
		x, y := plan.Data[T](in), plan.Data[T](out)
		if g.Inner == 1 && !s.exclusive && !reverse && (s.kind == ir.Sum || s.kind == ir.Prod) {
			s.lines(y[lo*size:hi*size], x[lo*size:hi*size], size)
			return
		}
		for o := lo; o < hi; o++ {
			switch at := o * size; {
			case g.Inner > 1:
				s.block(y[at:at+size], x[at:at+size], g.Inner, reverse)
			case reverse:
				s.line(y, x, at+size-1, -1, size)
			default:
				s.line(y, x, at, 1, size)
			}
		}
	})
}

// lines processes consecutive lines of n elements.
func (s *cumulation[T]) lines(y, x []T, n int) {
	y = y[:len(x)]
	if s.kind == ir.Sum {
		for at := 0; at < len(x); at += n {
			acc := s.identity
			for i := at; i < at+n; i++ {
				acc += x[i]
				y[i] = acc
			}
		}
		return
	}
	for at := 0; at < len(x); at += n {
		acc := s.identity
		for i := at; i < at+n; i++ {
			acc *= x[i]
			y[i] = acc
		}
	}
}

// block processes inner interleaved lines, in reverse from the last row to the first.
func (s *cumulation[T]) block(y, x []T, inner int, reverse bool) {
	y = y[:len(x)]
	first := min(inner, len(x))
	begin, at, back, step := 0, first, -inner, 1
	if reverse {
		begin, at, back, step = len(x)-first, len(x)-first-1, inner, -1
	}
	copy(y[begin:begin+first], x[begin:])
	rest := len(x) - first
	switch s.kind {
	case ir.Sum:
		for i := range y[begin : begin+first] {
			y[begin+i] += s.identity // like the other loops, turns -0 into 0
		}
		for range rest {
			y[at] = y[at+back] + x[at]
			at += step
		}
	case ir.Prod:
		for range rest {
			y[at] = y[at+back] * x[at]
			at += step
		}
	case ir.Max:
		for range rest {
			y[at] = max(y[at+back], x[at])
			at += step
		}
	default:
		for range rest {
			y[at] = min(y[at+back], x[at])
			at += step
		}
	}
}

// cumulation is a running sum, product or extreme along an axis.
type cumulation[T block.Number] struct {
	kind      ir.Kind
	identity  T
	exclusive bool
	combine   block.Func // combines two rows
}

// line processes n elements that are step apart.
func (s *cumulation[T]) line(y, x []T, at, step, n int) {
	acc := s.identity
	switch {
	case s.kind == ir.Sum && !s.exclusive:
		for range n {
			acc += x[at]
			y[at] = acc
			at += step
		}
		return
	case s.kind == ir.Prod && !s.exclusive:
		for range n {
			acc *= x[at]
			y[at] = acc
			at += step
		}
		return
	case s.kind == ir.Prod:
		for range n {
			v := x[at]
			y[at] = acc
			acc *= v
			at += step
		}
		return
	}
	for range n {
		v := x[at]
		if s.exclusive {
			y[at] = acc
		}
		switch s.kind {
		case ir.Sum:
			acc += v
		case ir.Prod:
			acc *= v
		case ir.Max:
			acc = max(acc, v)
		default:
			acc = min(acc, v)
		}
		if !s.exclusive {
			y[at] = acc
		}
		at += step
	}
}

// rows processes n rows that are step apart, all columns at once. scratch has room for two rows.
func (s *cumulation[T]) rows(y, x, scratch []T, at, step, n int) {
	columns := len(scratch) / 2
	acc, row := scratch[:columns], scratch[columns:]
	fillWith(acc, s.identity)
	start := func(v []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(v)) }
	if !s.exclusive {
		before := start(acc)
		for range n {
			to := start(y[at : at+columns])
			s.combine(to, before, start(x[at:at+columns]), nil, columns)
			before = to
			at += step
		}
		return
	}
	for range n {
		copy(row, x[at:at+columns]) // y may be x
		copy(y[at:at+columns], acc)
		s.combine(start(acc), start(acc), start(row), nil, columns)
		at += step
	}
}

// combinerOf returns the kernel that combines two rows. Extremes of floats are combined one by one, because 0 counts as
// larger than -0 here, while for kernels it depends on the order of the operands.
func combinerOf[T block.Number](kind ir.Kind, d ir.DType) block.Func {
	switch {
	case kind == ir.Sum:
		return block.Binary(ir.Add, d)
	case kind == ir.Prod:
		return block.Binary(ir.Mul, d)
	case d.IsFloat():
		return extremeBlock[T](kind == ir.Max)
	case kind == ir.Max:
		return block.Binary(ir.Maximum, d)
	}
	return block.Binary(ir.Minimum, d)
}

func extremeBlock[T block.Number](largest bool) block.Func {
	return func(dst, a, b, _ unsafe.Pointer, n int) {
		z, x, y := block.View[T](dst, n), block.View[T](a, n), block.View[T](b, n)
		if largest {
			for i, v := range x {
				z[i] = max(v, y[i])
			}
			return
		}
		for i, v := range x {
			z[i] = min(v, y[i])
		}
	}
}
