package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/geometry"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

func buildArg(b *build) (func(), error) {
	switch b.in(0).Typ.DType {
	case ir.Float32:
		return argOf[float32](b), nil
	case ir.Float64:
		return argOf[float64](b), nil
	case ir.Bool, ir.Uint8:
		return argOf[uint8](b), nil
	case ir.Int8:
		return argOf[int8](b), nil
	case ir.Int16:
		return argOf[int16](b), nil
	case ir.Int32:
		return argOf[int32](b), nil
	case ir.Int64:
		return argOf[int64](b), nil
	case ir.Uint16:
		return argOf[uint16](b), nil
	case ir.Uint32:
		return argOf[uint32](b), nil
	}
	return argOf[uint64](b), nil
}

// lines sees a shape as (outer, length, inner) around an axis.
func lines(s ir.Shape, axis int) geometry.AxisGroup {
	return geometry.AxisGroup{Outer: s[:axis].Size(), Length: s[axis], Inner: s[axis+1:].Size()}
}

// argOf finds the first of the largest (or smallest) elements; NaN is beyond all others.
func argOf[T block.Number](b *build) func() {
	in, out := b.in(0), b.out(0)
	g := lines(in.Typ.Shape, b.n.Attrs.(ir.AxisAttrs).Axis)
	largest, op := b.n.Op == ir.ArgMax, ir.Minimum
	if largest {
		op = ir.Maximum
	}
	extreme := block.Binary(op, in.Typ.DType) // nil for bools, which are few
	b.rt().need(columnBlock * 8)
	return b.rt().parallel(g.Outer*g.Inner, grain(g.Length), func(w *worker, lo, hi int) {
		x, y := plan.Data[T](in), plan.Data[int32](out)
		scratch := scratchOf[T](w, columnBlock*8/in.Typ.DType.Size())
		if g.Length == 1 {
			clear(y[lo:hi])
			return
		}
		if g.Length == 2 && g.Inner == 1 {
			argOfPairs(x[2*lo:2*hi], y[lo:hi], largest)
			return
		}
		for k := lo; k < hi; {
			o, c := k/g.Inner, k%g.Inner
			if g.Inner > 1 && g.Inner < fewStrided {
				y[k] = int32(argOfStrided(x[o*g.Length*g.Inner+c:(o+1)*g.Length*g.Inner], g.Inner, largest))
				k++
				continue
			}
			if g.Inner == 1 {
				y[k] = int32(argOfRow(x[o*g.Length:(o+1)*g.Length], scratch, largest, extreme))
				k++
				continue
			}
			n := min(hi-k, g.Inner-c, columnBlock)
			argOfColumns(x[o*g.Length*g.Inner+c:(o+1)*g.Length*g.Inner], y[k:k+n], scratch[:n], g.Inner, largest, extreme)
			k += n
		}
	})
}

// beyond reports whether v takes the place of best, which is not NaN.
func beyond[T block.Number](v, best T, largest bool) bool {
	return largest && v > best || !largest && v < best || v != v
}

// argBlock is how many elements are searched for the place of their extreme.
const argBlock = 512

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

// cumulate combines along an axis, keeping every intermediate result.
func cumulate[T block.Number](b *build, highest T) func() {
	in, out := b.in(0), b.out(0)
	a := b.n.Attrs.(ir.CumulativeAttrs)
	g := lines(in.Typ.Shape, a.Axis)
	s := cumulation[T]{kind: a.Kind, identity: reductionOf(a.Kind, highest).identity, exclusive: a.Exclusive}
	b.rt().need(2 * columnBlock * 8)
	return b.rt().parallel(g.Outer*g.Inner, grain(2*g.Length), func(w *worker, lo, hi int) {
		x, y := plan.Data[T](in), plan.Data[T](out)
		for k := lo; k < hi; {
			o, c := k/g.Inner, k%g.Inner
			n := min(hi-k, g.Inner-c, columnBlock)
			first, step := o*g.Length*g.Inner+c, g.Inner
			if a.Reverse {
				first, step = first+(g.Length-1)*g.Inner, -g.Inner
			}
			if n == 1 {
				s.line(y, x, first, step, g.Length)
			} else {
				s.rows(y, x, scratchOf[T](w, 2*n), first, step, g.Length)
			}
			k += n
		}
	})
}

// cumulation is how an axis is summed up, or multiplied.
type cumulation[T block.Number] struct {
	kind      ir.Kind
	identity  T
	exclusive bool
}

// line goes through n elements that lie step apart.
func (s *cumulation[T]) line(y, x []T, at, step, n int) {
	acc := s.identity
	if s.kind == ir.Sum && !s.exclusive {
		for range n {
			acc += x[at]
			y[at] = acc
			at += step
		}
		return
	}
	if s.kind == ir.Prod && !s.exclusive {
		for range n {
			acc *= x[at]
			y[at] = acc
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

// rows goes through n rows that lie step apart, all columns side by side; scratch has room for two rows.
func (s *cumulation[T]) rows(y, x, scratch []T, at, step, n int) {
	columns := len(scratch) / 2
	acc, row := scratch[:columns], scratch[columns:]
	fillWith(acc, s.identity)
	for range n {
		copy(row, x[at:at+columns]) // y may be x
		if s.exclusive {
			copy(y[at:at+columns], acc)
		}
		s.combine(acc, row)
		if !s.exclusive {
			copy(y[at:at+columns], acc)
		}
		at += step
	}
}

func (s *cumulation[T]) combine(acc, row []T) {
	switch s.kind {
	case ir.Sum:
		if a, ok := any(acc).([]float32); ok {
			vec.Add(a, a, any(row).([]float32))
			return
		}
		for i, v := range row {
			acc[i] += v
		}
	case ir.Prod:
		for i, v := range row {
			acc[i] *= v
		}
	case ir.Max:
		for i, v := range row {
			acc[i] = max(acc[i], v)
		}
	default:
		for i, v := range row {
			acc[i] = min(acc[i], v)
		}
	}
}
