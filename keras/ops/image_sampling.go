package ops

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// ImageSampling says how images are read between their cells and outside of them.
type ImageSampling struct {
	// Interpolation is "bilinear", which weights the cells around a position, or "nearest", which takes the nearest
	// one, halves away from zero; "" is "bilinear".
	Interpolation string
	// FillMode says what lies outside: "constant" is FillValue; "nearest" (a a a | a b c d | d d d), "wrap" (b c d | a
	// b c d | a b c), "reflect" (c b a | a b c d | d c b) and "mirror" (d c b | a b c d | c b a) repeat the image; ""
	// is "constant".
	FillMode  string
	FillValue float64
}

// check reports unknown names.
func (s ImageSampling) check(g *Graph) {
	switch s.Interpolation {
	case "", "bilinear", "nearest":
	default:
		Failf(g, "unknown interpolation %q; known: bilinear, nearest", s.Interpolation)
	}
	switch s.FillMode {
	case "", "constant", "nearest", "wrap", "mirror", "reflect":
	default:
		Failf(g, "unknown fill mode %q; known: constant, nearest, wrap, mirror, reflect", s.FillMode)
	}
}

// tap is one of the cells along an axis that contribute to a sampled position.
type tap struct {
	cell   *Tensor // int32, inside the axis
	weight *Tensor // nil is 1
	inside *Tensor // where the cell lies in the image; nil is everywhere
}

// SampleImages reads images x (batch, height, width, channels), which have a float type, at rows and columns (batch,
// height', width'), which need not be integers. The result is (batch, height', width', channels).
func SampleImages(x, rows, columns *Tensor, s ImageSampling) *Tensor {
	s.check(x.Graph())
	n, h, w, channels := x.Dim(0), x.Dim(1), x.Dim(2), x.Dim(3)
	flat := Reshape(x, dim.Mul(n, h, w), channels)
	index := ir.Int32
	if cells := dim.Mul(n, h, w); dim.Known(cells) && cells >= math.MaxInt32 {
		index = ir.Int64
	}
	base := MultiplyByLength(Iota(x, index, 0, n, 1, 1), dim.Mul(h, w))
	var outside *Tensor // index of an extra cell behind the others that holds the fill value
	if s.FillMode == "" || s.FillMode == "constant" {
		outside = MultiplyByLength(Ones(x, index), dim.Mul(n, h, w))
		flat = Concatenate(0, flat, Full(x, x.DType(), s.FillValue, 1, channels))
	}
	var sum *Tensor
	for _, r := range s.taps(rows, h) {
		line := Add(MultiplyByLength(Cast(r.cell, index), w), base)
		for _, c := range s.taps(columns, w) {
			place := Add(line, Cast(c.cell, index))
			if outside != nil {
				place = Where(LogicalAnd(r.inside, c.inside), place, outside)
			}
			part := takeCells(flat, place)
			if r.weight != nil {
				part = Multiply(part, Cast(ExpandDims(Multiply(r.weight, c.weight), -1), x.DType()))
			}
			sum = sumOf(sum, part)
		}
	}
	return sum
}

// takeCells is [Take] along the first axis for positions that are known to be inside.
func takeCells(x, places *Tensor) *Tensor { return apply1(ir.Gather, ir.GatherAttrs{}, x, places) }

// taps returns the cells of an axis of the given length around the positions at: the nearest one, or the two next to
// it.
func (s ImageSampling) taps(at *Tensor, length int) []tap {
	if s.Interpolation == "nearest" {
		away := Multiply(Sign(at), Floor(AddScalar(Abs(at), 0.5)))
		return []tap{s.fix(Cast(away, ir.Int32), length)}
	}
	floor := Floor(at)
	lower, upper := s.fix(Cast(floor, ir.Int32), length), s.fix(AddScalar(Cast(floor, ir.Int32), 1), length)
	upper.weight = Subtract(at, floor)
	lower.weight = Subtract(OnesLike(at), upper.weight)
	return []tap{lower, upper}
}

// fix moves cells outside of [0, length) inside, by the fill mode.
func (s ImageSampling) fix(cell *Tensor, length int) tap {
	n := Number(cell, func() float64 { return float64(length) }, length) //dim:known
	switch s.FillMode {
	case "wrap":
		return tap{cell: Mod(cell, Scalar(cell, n))}
	case "reflect":
		folded := Mod(cell, Scalar(cell, 2*n)) // from 0 to 2n-1
		return tap{cell: Minimum(folded, Subtract(Scalar(cell, 2*n-1), folded))}
	case "mirror":
		period := max(2*n-2, 1) // max: if there is only one cell
		folded := Mod(cell, Scalar(cell, period))
		return tap{cell: Minimum(folded, Subtract(Scalar(cell, period), folded))}
	case "nearest":
		return tap{cell: Clip(cell, 0, n-1)}
	}
	inside := LogicalAnd(CompareScalar(ir.Ge, cell, 0), CompareScalar(ir.Lt, cell, n))
	return tap{cell: Clip(cell, 0, n-1), inside: inside}
}

// MapCoordinates samples x at the positions in coordinates (rank of x, ...), which hold the position along each axis.
// The result has the shape of coordinates without its first axis. Integers are rounded to the nearest, halves away from
// zero.
func MapCoordinates(x, coordinates *Tensor, s ImageSampling) *Tensor {
	g := graphOf(x, coordinates)
	s.check(g)
	if coordinates.Rank() < 2 || coordinates.Dim(0) != x.Rank() {
		Failf(g, "map coordinates: needs one coordinate for each axis of %v along the first axis, received coordinates %v", x.Shape(), coordinates.Shape())
	}
	if n := x.Shape().Size(); n == 0 || dim.Known(n) && n > math.MaxInt32 {
		Failf(g, "map coordinates: %v has no elements, or more than int32 can count", x.Shape())
	}
	flat := Ravel(single(x))
	places := single(coordinates)
	type corner struct{ place, weight, inside *Tensor }
	corners := []corner{{}}
	for axis, n := range x.Shape() {
		var next []corner
		for _, t := range s.taps(Index(places, 0, axis), n) {
			for _, c := range corners {
				if axis > 0 {
					c.place = MultiplyByLength(c.place, n)
				}
				c.place = sumOf(c.place, t.cell)
				if t.weight != nil {
					if c.weight == nil {
						c.weight = OnesLike(t.weight)
					}
					c.weight = Multiply(c.weight, t.weight)
				}
				if t.inside != nil {
					if c.inside == nil {
						c.inside = t.inside
					}
					c.inside = LogicalAnd(c.inside, t.inside)
				}
				next = append(next, c)
			}
		}
		corners = next
	}
	var sum *Tensor
	for _, c := range corners {
		part := takeCells(flat, c.place)
		if c.inside != nil {
			part = Where(c.inside, part, Scalar(part, s.FillValue))
		}
		if c.weight != nil {
			part = Multiply(part, Cast(c.weight, part.DType()))
		}
		sum = sumOf(sum, part)
	}
	if x.DType().IsInteger() {
		sum = Multiply(Sign(sum), Floor(AddScalar(Abs(sum), 0.5)))
	}
	return Cast(sum, x.DType())
}

// AffineTransform moves images (batch, height, width, channels), with or without the batch: the cell in column x and
// row y of the result is sampled at column (a0·x + a1·y + a2)/k and row (b0·x + b1·y + b2)/k, with k = c0·x + c1·y + 1.
// transform is (batch, 8) or (8): a0, a1, a2, b0, b1, b2, c0, c1. In Keras only TensorFlow divides by k, as its
// documentation says.
func AffineTransform(x, transform *Tensor, s ImageSampling) *Tensor {
	images, unbatched := floatImages("affine transform", x)
	n, h, w := images.Dim(0), images.Dim(1), images.Dim(2)
	if transform.Rank() == 1 {
		transform = ExpandDims(transform, 0)
	}
	if transform.Rank() != 2 || transform.Dim(1) != 8 || transform.Dim(0) != n && transform.Dim(0) != 1 {
		Failf(x.g, "affine transform: needs 8 numbers for each of the %d images, received %v", n, transform.Shape())
	}
	transform = single(transform)
	d := transform.DType()
	column, row := Iota(x, d, 2, 1, 1, w), Iota(x, d, 1, 1, h, 1)
	at := func(i int) *Tensor {
		number := func(i int) *Tensor {
			return BroadcastTo(Reshape(Index(transform, 1, i), transform.Dim(0), 1, 1), n, 1, 1)
		}
		last := Ones(transform, d, n, 1, 1)
		if i < 6 {
			last = number(i + 2)
		}
		return Add(Add(Multiply(number(i), column), Multiply(number(i+1), row)), last)
	}
	depth := at(6)
	return Cast(unbatched(SampleImages(images, Divide(at(3), depth), Divide(at(0), depth), s)), x.DType())
}

func floatImages(what string, x *Tensor) (*Tensor, func(*Tensor) *Tensor) {
	return batched(what, float(x), 2)
}

// PerspectiveTransform moves images (batch, height, width, channels), with or without the batch, by the perspective
// maps that send the four points end (batch, 4, column and row) to the points start: the cells around the end points
// come from around the start points. Without a batch of images the points have no batch either.
func PerspectiveTransform(x, start, end *Tensor, s ImageSampling) *Tensor {
	images, unbatched := floatImages("perspective transform", x)
	n, h, w := images.Dim(0), images.Dim(1), images.Dim(2)
	for _, p := range []**Tensor{&start, &end} {
		if (*p).Rank() == 2 {
			*p = ExpandDims(*p, 0)
		}
		if !(*p).Shape().Equal(ir.Shape{n, 4, 2}) {
			Failf(x.g, "perspective transform: needs four points, as column and row, for each of the %d images, received %v", n, (*p).Shape())
		}
		*p = single(*p)
	}
	rows, columns := perspectivePlaces(start, end, h, w)
	return Cast(unbatched(SampleImages(images, nearby(rows, h), nearby(columns, w), s)), x.DType())
}

// perspectivePlaces returns where the cells of images of the given size come from, as rows and columns (image, height,
// width). Lengths are measured in widths and heights of the image, so that the coefficients are of the order of 1 for
// images of any size. For each point, with (p, q) in to and (s, t) in from, the equations are
//
//	h0·p + h1·q + h2 - h6·p·s - h7·q·s = s,   h3·p + h4·q + h5 - h6·p·t - h7·q·t = t
func perspectivePlaces(from, to *Tensor, height, width int) (rows, columns *Tensor) {
	wide, n := from.DType(), from.Dim(0)
	last := func(n int) float64 {
		return Number(from, func() float64 { return float64(max(n-1, 1)) }, n) //dim:known
	}
	across, down := last(width), last(height)
	// Eight equations cost nothing in float64, and points that lie close together make them ill-conditioned.
	size := Constant(from, ir.Float64, ir.Shape{2}, []float64{across, down})
	from, to = Divide(Cast(from, ir.Float64), size), Divide(Cast(to, ir.Float64), size)
	part := func(points *Tensor, axis int) *Tensor { return Index(points, 2, axis) }
	s, t, p, q := part(from, 0), part(from, 1), part(to, 0), part(to, 1)
	none, unit := ZerosLike(p), OnesLike(p)
	equations := func(value *Tensor, before ...*Tensor) *Tensor {
		value = Negative(value)
		return Stack(-1, append(before, Multiply(p, value), Multiply(q, value))...)
	}
	matrix := Concatenate(1, equations(s, p, q, unit, none, none, none), equations(t, none, none, none, p, q, unit))
	solution := Cast(Solve(matrix, Concatenate(1, s, t)), wide)
	h := func(i int) *Tensor { return Reshape(Index(solution, 1, i), n, 1, 1) }
	u := DivideScalar(Iota(from, wide, 2, 1, 1, width), across)
	v := DivideScalar(Iota(from, wide, 1, 1, height, 1), down)
	sum := func(i int) *Tensor { return Add(Multiply(h(i), u), Multiply(h(i+1), v)) }
	depth := AddScalar(sum(6), 1)
	columns = MultiplyScalar(Divide(Add(sum(0), h(2)), depth), across)
	rows = MultiplyScalar(Divide(Add(sum(3), h(5)), depth), down)
	return rows, columns
}

// nearby replaces positions more than a cell outside an axis of the given length, including infinite and undefined
// ones, by a position just outside. All of them are outside anyway, and numbers stay small.
func nearby(at *Tensor, length int) *Tensor {
	near := LogicalAnd(CompareScalar(ir.Ge, at, -2), CompareLength(ir.Le, at, dim.Add(length, 1)))
	return Where(near, at, FullLike(at, -2))
}

// ElasticTransform distorts images (batch, height, width, channels), with or without the batch, as if they were drawn
// on rubber: the cell in column u and row v is sampled at u + alpha·dx, v + alpha·dy. dx and dy are normal noise of
// standard deviation sigma, different for each image, blurred as [GaussianBlur] does with sigma and a window of
// 6·sigma, plus one if that is even. In Keras dx equals dy.
func ElasticTransform(x *Tensor, alpha, sigma float64, seed uint64, s ImageSampling) *Tensor {
	images, unbatched := floatImages("elastic transform", x)
	n, h, w := images.Dim(0), images.Dim(1), images.Dim(2)
	if !(sigma > 0) || sigma > 1e4 {
		Failf(x.g, "elastic transform: sigma must be above 0 and at most 10000, received %v", sigma)
	}
	d := single(images).DType()
	noise := func() *Tensor { return RandomNormal(x, d, 0, sigma, seed, n, h, w, 1) }
	across := noise()
	return Cast(unbatched(elastic(images, across, noise(), alpha, sigma, s)), x.DType())
}

// elastic is ElasticTransform for given noise (batch, height, width, 1) along the columns and along the rows.
func elastic(images, across, down *Tensor, alpha, sigma float64, s ImageSampling) *Tensor {
	size := int(6*sigma) | 1
	move := func(noise *Tensor) *Tensor {
		return MultiplyScalar(Squeeze(GaussianBlur(noise, [2]int{size, size}, [2]float64{sigma, sigma}), 3), alpha)
	}
	d, h, w := across.DType(), images.Dim(1), images.Dim(2)
	columns, rows := Add(move(across), Iota(images, d, 2, 1, 1, w)), Add(move(down), Iota(images, d, 1, 1, h, 1))
	return SampleImages(images, rows, columns, s)
}
