package boundingboxes

import (
	"strings"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Format says what the four numbers of a box are. Case does not matter.
type Format string

// The formats that Keras supports. Relative ones are measured in widths and heights of the image.
const (
	XYXY          Format = "xyxy"            // left, top, right, bottom
	YXYX          Format = "yxyx"            // top, left, bottom, right
	XYWH          Format = "xywh"            // left, top, width, height
	CenterXYWH    Format = "center_xywh"     // column and row of the centre, width, height
	CenterYXHW    Format = "center_yxhw"     // row and column of the centre, height, width
	RelXYXY       Format = "rel_xyxy"        // XYXY, relative
	RelYXYX       Format = "rel_yxyx"        // YXYX, relative
	RelXYWH       Format = "rel_xywh"        // XYWH, relative
	RelCenterXYWH Format = "rel_center_xywh" // CenterXYWH, relative
)

// Formats lists all formats.
func Formats() []Format {
	return []Format{XYXY, YXYX, XYWH, CenterXYWH, CenterYXHW, RelXYXY, RelYXYX, RelXYWH, RelCenterXYWH}
}

// Known reports whether f is one of [Formats].
func (f Format) Known() bool {
	for _, known := range Formats() {
		if f.lower() == known {
			return true
		}
	}
	return false
}

// Relative reports whether the numbers are fractions of the image's size.
func (f Format) Relative() bool { return strings.HasPrefix(string(f.lower()), "rel_") }

func (f Format) lower() Format { return Format(strings.ToLower(string(f))) }

// absolute returns the format without "rel_".
func (f Format) absolute() Format { return Format(strings.TrimPrefix(string(f.lower()), "rel_")) }

// Size is the size in pixels of the images that boxes belong to. The zero value means unknown, which relative formats
// do not allow.
type Size struct{ Height, Width float64 }

// known reports whether there is a size.
func (s Size) known() bool { return s.Height > 0 && s.Width > 0 }

// ConvertFormat converts boxes (..., 4) from one format to another. The size is needed if exactly one of the two is
// relative.
func ConvertFormat(boxes *ops.Tensor, from, to Format, size Size) *ops.Tensor {
	boxes = coordinates(boxes)
	for _, f := range []Format{from, to} {
		if !f.Known() {
			ops.Failf(boxes.Graph(), "unknown format of boxes %q; use one of %q", string(f), Formats())
		}
	}
	if from.lower() == to.lower() {
		return boxes
	}
	if from.Relative() != to.Relative() && !size.known() {
		ops.Failf(boxes.Graph(), "boxes of format %q become %q by the height and width of the image, which must be positive; received %v and %v", string(from), string(to), size.Height, size.Width)
	}
	c := cornersOf(boxes, from.absolute())
	switch {
	case from.Relative() && !to.Relative():
		c = c.scaled(ops.MultiplyScalar, size)
	case !from.Relative() && to.Relative():
		c = c.scaled(ops.DivideScalar, size)
	}
	return c.in(to.absolute())
}

// coordinates checks the last axis, and converts numbers to at least single precision.
func coordinates(boxes *ops.Tensor) *ops.Tensor {
	if boxes.Rank() < 1 || boxes.Dim(-1) != 4 {
		ops.Failf(boxes.Graph(), "boxes have four numbers along their last axis, received shape %v", boxes.Shape())
	}
	if boxes.DType() == ir.Float64 {
		return boxes
	}
	return ops.Cast(boxes, ir.Float32)
}

// corners are the sides of boxes, each of shape (..., 1).
type corners struct{ left, top, right, bottom *ops.Tensor }

func numbersOf(boxes *ops.Tensor) (a, b, c, d *ops.Tensor) {
	part := func(i int) *ops.Tensor { return ops.SliceAxis(boxes, -1, i, i+1) }
	return part(0), part(1), part(2), part(3)
}

// cornersOf reads boxes of an absolute format.
func cornersOf(boxes *ops.Tensor, f Format) corners {
	a, b, c, d := numbersOf(boxes)
	around := func(x, y, w, h *ops.Tensor) corners {
		w, h = ops.MultiplyScalar(w, 0.5), ops.MultiplyScalar(h, 0.5)
		return corners{ops.Subtract(x, w), ops.Subtract(y, h), ops.Add(x, w), ops.Add(y, h)}
	}
	switch f {
	case YXYX:
		return corners{b, a, d, c}
	case XYWH:
		return corners{a, b, ops.Add(a, c), ops.Add(b, d)}
	case CenterXYWH:
		return around(a, b, c, d)
	case CenterYXHW:
		return around(b, a, d, c)
	}
	return corners{a, b, c, d}
}

// in returns the boxes in an absolute format.
func (c corners) in(f Format) *ops.Tensor {
	w, h := ops.Subtract(c.right, c.left), ops.Subtract(c.bottom, c.top)
	middle := func(from, length *ops.Tensor) *ops.Tensor { return ops.Add(from, ops.MultiplyScalar(length, 0.5)) }
	switch f {
	case YXYX:
		return ops.Concatenate(-1, c.top, c.left, c.bottom, c.right)
	case XYWH:
		return ops.Concatenate(-1, c.left, c.top, w, h)
	case CenterXYWH:
		return ops.Concatenate(-1, middle(c.left, w), middle(c.top, h), w, h)
	case CenterYXHW:
		return ops.Concatenate(-1, middle(c.top, h), middle(c.left, w), h, w)
	}
	return ops.Concatenate(-1, c.left, c.top, c.right, c.bottom)
}

// scaled applies ops.MultiplyScalar or ops.DivideScalar with the size of the image.
func (c corners) scaled(by func(*ops.Tensor, float64) *ops.Tensor, s Size) corners {
	return corners{by(c.left, s.Width), by(c.top, s.Height), by(c.right, s.Width), by(c.bottom, s.Height)}
}

// clipped limits the sides to the range from 0 to the size.
func (c corners) clipped(s Size) corners {
	return corners{ops.Clip(c.left, 0, s.Width), ops.Clip(c.top, 0, s.Height), ops.Clip(c.right, 0, s.Width), ops.Clip(c.bottom, 0, s.Height)}
}

func (c corners) area() *ops.Tensor {
	return ops.Multiply(ops.Subtract(c.right, c.left), ops.Subtract(c.bottom, c.top))
}
