package lower

import (
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// index is the position of an element, as a row-major number or as coordinates; each is computed from the other when
// needed.
type index struct {
	shape  ir.Shape
	linear ptx.Operand
	axes   []ptx.Operand
}

// at returns the index of element number n of a shape.
func at(shape ir.Shape, n ptx.Operand) *index { return &index{shape: shape, linear: n} }

// along returns the index with the given coordinates.
func along(shape ir.Shape, axes []ptx.Operand) *index { return &index{shape: shape, axes: axes} }

// number returns the row-major number of the element.
func (g *gen) number(x *index) ptx.Operand {
	if x.linear.IsZero() {
		x.linear = g.sum(x.axes, x.shape.Strides())
	}
	return x.linear
}

// sum is Σ axes·strides.
func (g *gen) sum(axes []ptx.Operand, strides []int) ptx.Operand {
	n := ptx.Int32(0)
	for i, a := range axes {
		n = g.add(n, g.times(a, strides[i]))
	}
	return n
}

// split returns the coordinates.
func (g *gen) split(x *index) []ptx.Operand {
	if x.axes == nil {
		x.axes = g.decompose(x.linear, x.shape)
	}
	return x.axes
}

// decompose splits an element's number into coordinates.
func (g *gen) decompose(n ptx.Operand, shape ir.Shape) []ptx.Operand {
	axes := make([]ptx.Operand, len(shape))
	first := 0
	for first < len(shape) && shape[first] == 1 {
		axes[first] = ptx.Int32(0)
		first++
	}
	for i := len(shape) - 1; i >= first; i-- {
		switch {
		case i == first:
			axes[i] = n
		case shape[i] == 1:
			axes[i] = ptx.Int32(0)
		default:
			q := g.over(n, shape[i])
			axes[i] = g.sub(n, g.times(q, shape[i]))
			n = q
		}
	}
	return axes
}

// Index arithmetic is unsigned 32-bit. Constants are folded.

func (g *gen) add(a, b ptx.Operand) ptx.Operand {
	x, xKnown := a.Int()
	y, yKnown := b.Int()
	switch {
	case xKnown && yKnown:
		return ptx.Int32(x + y)
	case xKnown && x == 0:
		return b
	case yKnown && y == 0:
		return a
	case xKnown:
		a, b = b, a
	}
	return g.k.Op(ptx.B32, "add.s32", a, b)
}

func (g *gen) sub(a, b ptx.Operand) ptx.Operand {
	x, xKnown := a.Int()
	y, yKnown := b.Int()
	switch {
	case xKnown && yKnown:
		return ptx.Int32(x - y)
	case yKnown && y == 0:
		return a
	}
	return g.k.Op(ptx.B32, "sub.s32", a, b)
}

func (g *gen) times(a ptx.Operand, n int) ptx.Operand {
	x, known := a.Int()
	switch {
	case known:
		return ptx.Int32(x * int64(n))
	case n == 0:
		return ptx.Int32(0)
	case n == 1:
		return a
	}
	return g.k.Op(ptx.B32, "mul.lo.s32", a, ptx.Int32(int64(n)))
}

func (g *gen) over(a ptx.Operand, n int) ptx.Operand {
	x, known := a.Int()
	switch {
	case known:
		return ptx.Int32(x / int64(n))
	case n == 1:
		return a
	case n&(n-1) == 0:
		return g.k.Op(ptx.B32, "shr.u32", a, ptx.Int32(int64(log2(n))))
	}
	return g.k.Op(ptx.B32, "div.u32", a, ptx.Int32(int64(n)))
}

func (g *gen) mod(a ptx.Operand, n int) ptx.Operand {
	x, known := a.Int()
	switch {
	case known:
		return ptx.Int32(x % int64(n))
	case n == 1:
		return ptx.Int32(0)
	case n&(n-1) == 0:
		return g.k.Op(ptx.B32, "and.b32", a, ptx.Int32(int64(n-1)))
	}
	return g.k.Op(ptx.B32, "rem.u32", a, ptx.Int32(int64(n)))
}

func log2(n int) int {
	b := 0
	for n > 1 {
		n >>= 1
		b++
	}
	return b
}
