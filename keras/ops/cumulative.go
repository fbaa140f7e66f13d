package ops

import "github.com/gokeras/gokeras/kernels/ir"

// Cumsum returns running sums along axis.
func Cumsum(x *Tensor, axis int) *Tensor { return cumulative(ir.Sum, x, axis) }

// Cumprod returns running products along axis.
func Cumprod(x *Tensor, axis int) *Tensor { return cumulative(ir.Prod, x, axis) }

// Cummax returns running maxima along axis; of equal ones the first takes the gradient.
func Cummax(x *Tensor, axis int) *Tensor { return cumulative(ir.Max, x, axis) }

// Cummin returns running minima along axis; of equal ones the first takes the gradient.
func Cummin(x *Tensor, axis int) *Tensor { return cumulative(ir.Min, x, axis) }

func cumulative(kind ir.Kind, x *Tensor, axis int) *Tensor {
	return apply1(ir.Cumulative, ir.CumulativeAttrs{Kind: kind, Axis: x.Axis(axis)}, numeric(x))
}

func init() { rules[ir.Cumulative] = cumulativeRule }

func cumulativeRule(c *vjp) []*Tensor {
	a := c.node.Attrs.(ir.CumulativeAttrs)
	x, dy := c.in(0), c.dy(0)
	if a.Kind == ir.Sum {
		a.Reverse = !a.Reverse
		return []*Tensor{apply1(ir.Cumulative, a, dy)}
	}
	// The other kinds are worked out forwards, each result with its own element: turn the axis round where it runs from the
	// end, and move the gradients by one place where results leave out their own element.
	if a.Reverse {
		x, dy = Flip(x, a.Axis), Flip(dy, a.Axis)
	}
	if a.Exclusive && x.Dim(a.Axis) != 0 {
		last := SliceAxis(ZerosLike(dy), a.Axis, 0, 1)
		dy = Concatenate(a.Axis, SliceAxis(dy, a.Axis, 1, x.Dim(a.Axis)), last)
	}
	var dx *Tensor
	if a.Kind == ir.Prod {
		dx = cumprodGradient(x, dy, a.Axis)
	} else {
		dx = holderGradient(a.Kind, x, dy, a.Axis)
	}
	if a.Reverse {
		dx = Flip(dx, a.Axis)
	}
	return []*Tensor{dx}
}

// cumprodGradient: y_i = x_0·…·x_i, so dx_j = p_j·s_j with the product p_j of the elements before j and
// s_j = Σ_{i>=j} dy_i·x_{j+1}·…·x_i = dy_j + x_{j+1}·s_{j+1}. There is no division, so zeros do no harm.
func cumprodGradient(x, dy *Tensor, axis int) *Tensor {
	before := apply1(ir.Cumulative, ir.CumulativeAttrs{Kind: ir.Prod, Axis: axis, Exclusive: true}, x)
	xs, dys := MoveAxis(x, axis, 0), MoveAxis(dy, axis, 0)
	if xs.Dim(0) == 0 {
		return ZerosLike(x)
	}
	zero := ZerosLike(Index(xs, 0, 0))
	// The carry is x_{j+1}·s_{j+1}.
	_, s := Scan(func(carry, slices []*Tensor) (next, ys []*Tensor) {
		s := Add(slices[1], carry[0])
		return []*Tensor{Multiply(slices[0], s)}, []*Tensor{s}
	}, []*Tensor{zero}, []*Tensor{xs, dys}, ScanOptions{Reverse: true})
	return Multiply(before, MoveAxis(s[0], 0, axis))
}

// holderGradient gives each dy to the element that holds the running maximum (minimum).
func holderGradient(kind ir.Kind, x, dy *Tensor, axis int) *Tensor {
	before := apply1(ir.Cumulative, ir.CumulativeAttrs{Kind: kind, Axis: axis, Exclusive: true}, x)
	wins := Greater(x, before)
	if kind == ir.Min {
		wins = Less(x, before)
	}
	place := Iota(x, ir.Int32, axis, x.Shape()...)
	holder := Cummax(Where(wins, place, ZerosLike(place)), axis)
	return putAlong(x.Shape(), holder, dy, axis)
}
