package ops

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// Cumsum returns running sums along axis.
func Cumsum(x *Tensor, axis int) *Tensor { return cumulative(ir.Sum, x, axis) }

// Cumprod returns running products along axis.
func Cumprod(x *Tensor, axis int) *Tensor { return cumulative(ir.Prod, x, axis) }

// Cummax returns running maxima along axis. Among equal elements the first gets the gradient.
func Cummax(x *Tensor, axis int) *Tensor { return cumulative(ir.Max, x, axis) }

// Cummin returns running minima along axis. Among equal elements the first gets the gradient.
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
	// The other kinds are computed forwards, and each result includes its own element. So reverse the axis if it runs
	// from the end, and shift the gradients by one place if results exclude their own element.
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

// cumprodGradient computes the gradient of y_i = x_0·…·x_i, which is dx_j = p_j·s_j with the product p_j of the
// elements before j and s_j = Σ_{i>=j} dy_i·x_{j+1}·…·x_i = dy_j + x_{j+1}·s_{j+1}. There is no division, so zeros do
// no harm.
func cumprodGradient(x, dy *Tensor, axis int) *Tensor {
	if n := x.Dim(axis); dim.Known(n) && n > 0 && n <= shortProduct { //dim:known
		return shortProductGradient(x, dy, axis, n)
	}
	before := apply1(ir.Cumulative, ir.CumulativeAttrs{Kind: ir.Prod, Axis: axis, Exclusive: true}, x)
	xs, dys := MoveAxis(x, axis, 0), MoveAxis(dy, axis, 0)
	if xs.Dim(0) == 0 {
		return ZerosLike(x)
	}
	if n := xs.Dim(0); dim.Known(n) && n >= longProduct { //dim:known
		return Multiply(before, MoveAxis(recurrence(xs, dys, n), 0, axis))
	}
	zero := ZerosLike(Index(xs, 0, 0))
	// The carry is x_{j+1}·s_{j+1}.
	_, s := Scan(func(carry, slices []*Tensor) (next, ys []*Tensor) {
		s := Add(slices[1], carry[0])
		return []*Tensor{Multiply(slices[0], s)}, []*Tensor{s}
	}, []*Tensor{zero}, []*Tensor{xs, dys}, ScanOptions{Reverse: true})
	return Multiply(before, MoveAxis(s[0], 0, axis))
}

// shortProduct is the length up to which the gradient is written out, element by element.
const shortProduct = 16

// shortProductGradient is cumprodGradient for an axis of n elements.
//
//dim:known n is a constant
func shortProductGradient(x, dy *Tensor, axis, n int) *Tensor {
	s := make([]*Tensor, n)
	s[n-1] = Index(dy, axis, n-1)
	for j := n - 2; j >= 0; j-- {
		s[j] = Add(Index(dy, axis, j), Multiply(Index(x, axis, j+1), s[j+1]))
	}
	for j, before := 1, Index(x, axis, 0); j < n; j++ {
		s[j] = Multiply(before, s[j])
		before = Multiply(before, Index(x, axis, j))
	}
	return Stack(axis, s...)
}

// longProduct is the length from which on the sums s are computed in pieces side by side.
const longProduct = 1024

// recurrence returns s_j = dy_j + x_{j+1}·s_{j+1} along axis 0 of n elements. The axis is cut into about √n pieces. One
// loop goes through all pieces side by side, as if nothing came after them: s_j = t_j + p_j·S, where S is the first s
// of the next piece and p_j is the product of x from j+1 to the first element of that piece. A second loop over the
// pieces finds S.
//
//dim:known n is a constant
func recurrence(x, dy *Tensor, n int) *Tensor {
	length := int(math.Ceil(math.Sqrt(float64(n))))
	pieces := (n + length - 1) / length
	high := make([]int, x.Rank())
	cut := func(t *Tensor, missing int) *Tensor { // (length, pieces, ...)
		high[0] = missing
		t = Pad(t, make([]int, t.Rank()), high, 0)
		return MoveAxis(Reshape(t, append([]int{pieces, length}, t.Shape()[1:]...)...), 1, 0)
	}
	next, dys := cut(SliceAxis(x, 0, 1, n), pieces*length-n+1), cut(dy, pieces*length-n)
	zero := ZerosLike(Index(dys, 0, 0))
	_, within := Scan(func(carry, slices []*Tensor) (_, ys []*Tensor) {
		ys = []*Tensor{Add(slices[1], Multiply(slices[0], carry[0])), Multiply(slices[0], carry[1])}
		return ys, ys
	}, []*Tensor{zero, OnesLike(zero)}, []*Tensor{next, dys}, ScanOptions{Reverse: true})
	none := ZerosLike(Index(zero, 0, 0))
	_, behind := Scan(func(carry, slices []*Tensor) (_, ys []*Tensor) {
		return []*Tensor{Add(slices[0], Multiply(slices[1], carry[0]))}, carry
	}, []*Tensor{none}, []*Tensor{Index(within[0], 0, 0), Index(within[1], 0, 0)}, ScanOptions{Reverse: true})
	s := MoveAxis(Add(within[0], Multiply(within[1], behind[0])), 0, 1)
	return SliceAxis(Reshape(s, append([]int{pieces * length}, dy.Shape()[1:]...)...), 0, 0, n)
}

// holderGradient adds each dy to the element that holds the running maximum (minimum).
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
