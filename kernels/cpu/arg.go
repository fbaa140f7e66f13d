package cpu

import (
	"github.com/gokeras/gokeras/kernels/ir"
)

func buildArg(b *build) (func(), error) {
	switch b.in(0).typ.DType {
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
func lines(s ir.Shape, axis int) axisGroup {
	return axisGroup{s[:axis].Size(), s[axis], s[axis+1:].Size()}
}

// argOf finds the first of the largest (or smallest) elements; NaN is beyond all others.
func argOf[T number](b *build) func() {
	in, out := b.in(0), b.out(0)
	g := lines(in.typ.Shape, b.n.Attrs.(ir.AxisAttrs).Axis)
	largest := b.n.Op == ir.ArgMax
	return b.rt().parallel(g.outer*g.inner, grain(g.length), func(_ *worker, lo, hi int) {
		x, y := data[T](in), data[int32](out)
		for k := lo; k < hi; k++ {
			first := k/g.inner*g.length*g.inner + k%g.inner
			best, at := x[first], 0
			for i := 1; i < g.length && best == best; i++ {
				v := x[first+i*g.inner]
				if largest && v > best || !largest && v < best || v != v {
					best, at = v, i
				}
			}
			y[k] = int32(at)
		}
	})
}

func buildCumulative(b *build) (func(), error) {
	switch b.in(0).typ.DType {
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
func cumulate[T number](b *build, highest T) func() {
	in, out := b.in(0), b.out(0)
	a := b.n.Attrs.(ir.CumulativeAttrs)
	g := lines(in.typ.Shape, a.Axis)
	identity := reductionOf(a.Kind, highest).identity
	combine := func(x, y T) T { return x + y }
	switch a.Kind {
	case ir.Prod:
		combine = func(x, y T) T { return x * y }
	case ir.Max:
		combine = func(x, y T) T { return max(x, y) }
	case ir.Min:
		combine = func(x, y T) T { return min(x, y) }
	}
	return b.rt().parallel(g.outer*g.inner, grain(2*g.length), func(_ *worker, lo, hi int) {
		x, y := data[T](in), data[T](out)
		for k := lo; k < hi; k++ {
			at, step := k/g.inner*g.length*g.inner+k%g.inner, g.inner
			if a.Reverse {
				at, step = at+(g.length-1)*g.inner, -g.inner
			}
			acc := identity
			for range g.length {
				v := x[at]
				if a.Exclusive {
					y[at] = acc
				}
				acc = combine(acc, v)
				if !a.Exclusive {
					y[at] = acc
				}
				at += step
			}
		}
	})
}
