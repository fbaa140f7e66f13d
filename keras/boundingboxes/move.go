package boundingboxes

import (
	"math"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// ClipToImageSize clips boxes (..., boxes, 4) of format [XYXY] or [RelXYXY] to the image. Boxes without any area left
// get the label -1 in labels (..., boxes) or (..., boxes, classes); nil labels stay nil. A relative format needs no
// size.
func ClipToImageSize(boxes, labels *ops.Tensor, format Format, size Size) (newBoxes, newLabels *ops.Tensor) {
	boxes = coordinates(boxes)
	switch format.lower() {
	case RelXYXY:
		size = Size{1, 1}
	case XYXY:
		needSize(boxes, size)
	default:
		ops.Failf(boxes.Graph(), "boxes are clipped in the formats %q and %q, received %q; convert them before", string(XYXY), string(RelXYXY), string(format))
	}
	c := cornersOf(boxes, XYXY).clipped(size)
	if labels != nil {
		labels = labelsOf(labels, c.area())
	}
	return c.in(XYXY), labels
}

// labelsOf sets labels to -1 where the area (..., boxes, 1) is not positive.
func labelsOf(labels, area *ops.Tensor) *ops.Tensor {
	inside := ops.CompareScalar(ir.Gt, area, 0)
	switch labels.Rank() {
	case inside.Rank() - 1:
		inside = ops.Squeeze(inside, -1)
	case inside.Rank():
	default:
		ops.Failf(labels.Graph(), "labels of boxes have the axes of the boxes but the last, or one for their classes instead; received shape %v", labels.Shape())
	}
	if d := labels.DType(); d == ir.Bool || d.IsInteger() && !signed(d) {
		labels = ops.Cast(labels, ir.Int32) // the type has no -1
	}
	return ops.Where(ops.BroadcastTo(inside, labels.Shape()...), labels, ops.FullLike(labels, -1))
}

func signed(d ir.DType) bool {
	switch d {
	case ir.Int8, ir.Int16, ir.Int32, ir.Int64:
		return true
	}
	return false
}

func needSize(t ops.Traced, s Size) {
	if !s.known() {
		ops.Failf(t.Graph(), "the height and width of the image must be positive, received %v and %v", s.Height, s.Width)
	}
}

// Crop returns boxes (..., 4) of format [XYXY] in the coordinates of a crop of the given size, whose upper left corner
// is at row top and column left.
func Crop(boxes *ops.Tensor, top, left float64, size Size) *ops.Tensor {
	needSize(boxes, size)
	return cornersOf(Pad(boxes, -top, -left), XYXY).clipped(size).in(XYXY)
}

// Pad returns boxes (..., 4) of format [XYXY] in the coordinates of an image that was padded by top rows above and left
// columns to the left.
func Pad(boxes *ops.Tensor, top, left float64) *ops.Tensor {
	c := cornersOf(coordinates(boxes), XYXY)
	return corners{ops.AddScalar(c.left, left), ops.AddScalar(c.top, top), ops.AddScalar(c.right, left), ops.AddScalar(c.bottom, top)}.in(XYXY)
}

// Affine says how [AffineTransform] moves the boxes of each image. Each tensor has one number per image, (batch,); nil
// tensors change nothing.
type Affine struct {
	Angle                  *ops.Tensor // in degrees, counter-clockwise as seen in the image
	TranslateX, TranslateY *ops.Tensor // as fractions of the image's width and height minus one; to the right and downwards
	Scale                  *ops.Tensor // nil is 1; boxes become larger by the factor 1/Scale
	ShearX, ShearY         *ops.Tensor // in degrees
	CenterX, CenterY       *float64    // the fixed point, as fractions of the width and height minus one; nil is 0.5
}

// AffineTransform transforms the corners of boxes (batch, boxes, 4) of format [XYXY] like images of the given size, and
// returns the boxes around them, as keras.utils.bounding_boxes.affine_transform does. It does not clip.
func AffineTransform(boxes *ops.Tensor, a Affine, size Size) *ops.Tensor {
	boxes = coordinates(boxes)
	needSize(boxes, size)
	if boxes.Rank() != 3 {
		ops.Failf(boxes.Graph(), "expected boxes (batch, boxes, 4), received shape %v", boxes.Shape())
	}
	m := a.inverse(boxes, size)
	c := cornersOf(boxes, XYXY)
	x := ops.Concatenate(-1, c.left, c.right, c.right, c.left)
	y := ops.Concatenate(-1, c.top, c.top, c.bottom, c.bottom)
	return Around(m.apply(x, y))
}

// Around returns the bounding boxes (..., 4), in format [XYXY], of points with columns x and rows y (..., points).
func Around(x, y *ops.Tensor) *ops.Tensor {
	return ops.Stack(-1, ops.Min(x, -1), ops.Min(y, -1), ops.Max(x, -1), ops.Max(y, -1))
}

// matrix maps (x, y) to (a0·x + a1·y + a2, b0·x + b1·y + b2), with one number of each kind per image.
type matrix struct{ a0, a1, a2, b0, b1, b2 *ops.Tensor }

func (m matrix) apply(x, y *ops.Tensor) (newX, newY *ops.Tensor) {
	each := func(v *ops.Tensor) *ops.Tensor { return ops.Reshape(v, v.Dim(0), 1, 1) }
	at := func(p, q, r *ops.Tensor) *ops.Tensor {
		return ops.Add(ops.Add(ops.Multiply(each(p), x), ops.Multiply(each(q), y)), each(r))
	}
	return at(m.a0, m.a1, m.a2), at(m.b0, m.b1, m.b2)
}

// inverse returns Keras's matrix: the inverse of the one that samples images.
func (a Affine) inverse(boxes *ops.Tensor, size Size) matrix {
	given := func(name string, v *ops.Tensor, missing float64) *ops.Tensor {
		if v == nil {
			return ops.Full(boxes, boxes.DType(), missing, boxes.Dim(0))
		}
		if v.Rank() != 1 {
			ops.Failf(boxes.Graph(), "%s must have a number for each image, received shape %v", name, v.Shape())
		}
		return ops.Cast(v, boxes.DType())
	}
	turn := func(name string, degrees *ops.Tensor) *ops.Tensor {
		return ops.MultiplyScalar(given(name, degrees, 0), -math.Pi/180)
	}
	share := func(p *float64) float64 {
		if p == nil {
			return 0.5
		}
		return *p
	}
	cx, cy := share(a.CenterX)*(size.Width-1), share(a.CenterY)*(size.Height-1)
	rotation, shearX, shearY := turn("Angle", a.Angle), turn("ShearX", a.ShearX), turn("ShearY", a.ShearY)
	// The point that is mapped to the centre.
	fromX := ops.AddScalar(ops.MultiplyScalar(given("TranslateX", a.TranslateX, 0), -(size.Width-1)), cx)
	fromY := ops.AddScalar(ops.MultiplyScalar(given("TranslateY", a.TranslateY, 0), -(size.Height-1)), cy)
	rest := ops.Subtract(rotation, shearY)
	p := ops.Divide(ops.Cos(rest), ops.Cos(shearY))
	q := ops.Add(ops.Multiply(p, ops.Tan(shearX)), ops.Sin(rotation))
	r := ops.Negative(ops.Divide(ops.Sin(rest), ops.Cos(shearY)))
	s := ops.Subtract(ops.Cos(rotation), ops.Multiply(r, ops.Tan(shearX)))
	scale := given("Scale", a.Scale, 1)
	times := func(v *ops.Tensor) *ops.Tensor { return ops.Multiply(v, scale) }
	m := matrix{a0: times(s), a1: times(ops.Negative(q)), b0: times(ops.Negative(r)), b1: times(p)}
	shift := func(centre float64, p, q *ops.Tensor) *ops.Tensor {
		return ops.Subtract(ops.Subtract(ops.FullLike(p, centre), ops.Multiply(p, fromX)), ops.Multiply(q, fromY))
	}
	m.a2, m.b2 = shift(cx, m.a0, m.a1), shift(cy, m.b0, m.b1)
	return m
}
