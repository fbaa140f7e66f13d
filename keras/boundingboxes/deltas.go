package boundingboxes

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Deltas holds the settings of [EncodeBoxToDeltas] and [DecodeDeltasToBoxes].
type Deltas struct {
	AnchorFormat Format    // of the anchors
	BoxFormat    Format    // of the boxes
	Encoding     Format    // order of the deltas: [CenterYXHW] or [CenterXYWH]; "" is CenterYXHW
	Variance     []float64 // four numbers by which deltas are divided; nil is 1
	Size         Size      // of the image; needed for relative formats
}

// EncodeBoxToDeltas returns the deltas that transform anchors (boxes, 4) into boxes (boxes, 4) or (batch, boxes, 4).
// With centres c and lengths l they are
//
//	delta = (c_box - c_anchor)/l_anchor,   log(l_box/l_anchor)
//
// in the order of Encoding, divided by Variance. Lengths below 1e-7 count as 1e-7.
func EncodeBoxToDeltas(anchors, boxes *ops.Tensor, d Deltas) *ops.Tensor {
	encoding := d.encoding(boxes)
	anchors = ConvertFormat(anchors, d.AnchorFormat, encoding, d.Size)
	boxes = ConvertFormat(boxes, d.BoxFormat, encoding, d.Size)
	from, to := ops.MaximumScalar(lengths(anchors), epsilon), ops.MaximumScalar(lengths(boxes), epsilon)
	deltas := ops.Concatenate(-1, ops.Divide(ops.Subtract(centres(boxes), centres(anchors)), from), ops.Log(ops.Divide(to, from)))
	if d.Variance == nil {
		return deltas
	}
	return ops.Divide(deltas, d.variance(deltas))
}

// DecodeDeltasToBoxes inverts [EncodeBoxToDeltas]: it returns the boxes, in BoxFormat, that deltas (boxes, 4) or
// (batch, boxes, 4) give for anchors (boxes, 4).
func DecodeDeltasToBoxes(anchors, deltas *ops.Tensor, d Deltas) *ops.Tensor {
	encoding := d.encoding(deltas)
	anchors, deltas = ConvertFormat(anchors, d.AnchorFormat, encoding, d.Size), coordinates(deltas)
	if d.Variance != nil {
		deltas = ops.Multiply(deltas, d.variance(deltas))
	}
	centre := ops.Add(ops.Multiply(centres(deltas), lengths(anchors)), centres(anchors))
	boxes := ops.Concatenate(-1, centre, ops.Multiply(ops.Exp(lengths(deltas)), lengths(anchors)))
	return ConvertFormat(boxes, encoding, d.BoxFormat, d.Size)
}

func centres(boxes *ops.Tensor) *ops.Tensor { return ops.SliceAxis(boxes, -1, 0, 2) }
func lengths(boxes *ops.Tensor) *ops.Tensor { return ops.SliceAxis(boxes, -1, 2, 4) }

func (d Deltas) encoding(t ops.Traced) Format {
	switch f := d.Encoding.lower(); f {
	case "":
		return CenterYXHW
	case CenterXYWH, CenterYXHW:
		return f
	}
	ops.Failf(t.Graph(), "Encoding must be %q or %q, received %q", string(CenterXYWH), string(CenterYXHW), string(d.Encoding))
	return ""
}

func (d Deltas) variance(like *ops.Tensor) *ops.Tensor {
	if len(d.Variance) != 4 {
		ops.Failf(like.Graph(), "Variance must have four numbers, received %v", d.Variance)
	}
	return ops.Constant(like, like.DType(), ir.Shape{4}, d.Variance)
}
