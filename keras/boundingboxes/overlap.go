package boundingboxes

import (
	"math"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// epsilon is Keras's guard against division by 0.
const epsilon = 1e-7

// Overlap holds the settings of [ComputeIoU].
type Overlap struct {
	Size       Size     // of the image; needed for relative formats
	UseMasking bool     // set overlaps to MaskValue for boxes whose numbers are all negative, such as padding
	MaskValue  *float64 // nil is -1
}

// ComputeIoU returns how much each box of one list overlaps each box of another: the area of their intersection divided
// by that of their union,
//
//	iou = |A ∩ B| / (|A ∪ B| + 1e-7)
//
// Shapes: boxes1 (n, 4) or (batch, n, 4), boxes2 (m, 4) or (batch, m, 4); the result is (n, m), or (batch, n, m) if one
// of them has a batch axis.
func ComputeIoU(boxes1, boxes2 *ops.Tensor, format Format, o Overlap) *ops.Tensor {
	for _, b := range []*ops.Tensor{boxes1, boxes2} {
		if b.Rank() != 2 && b.Rank() != 3 {
			ops.Failf(b.Graph(), "expected boxes (boxes, 4) or (batch, boxes, 4), received shape %v", b.Shape())
		}
	}
	if format.Relative() {
		needSize(boxes1, o.Size)
	}
	boxes1, boxes2 = ConvertFormat(boxes1, format, XYXY, o.Size), ConvertFormat(boxes2, format, XYXY, o.Size)
	a, b := cornersOf(boxes1, XYXY), cornersOf(boxes2, XYXY).turned()
	common := ops.Multiply(extent(a.left, a.right, b.left, b.right), extent(a.top, a.bottom, b.top, b.bottom))
	union := ops.Subtract(ops.Add(a.area(), b.area()), common)
	iou := ops.Divide(common, ops.AddScalar(union, epsilon))
	if !o.UseMasking {
		return iou
	}
	value := -1.0
	if o.MaskValue != nil {
		value = *o.MaskValue
	}
	negative := func(boxes *ops.Tensor, axis int) *ops.Tensor {
		return ops.ExpandDims(ops.CompareScalar(ir.Lt, ops.Max(boxes, -1), 0), axis)
	}
	masked := ops.LogicalOr(negative(boxes1, -1), negative(boxes2, -2))
	return ops.Where(ops.BroadcastTo(masked, iou.Shape()...), ops.FullLike(iou, value), iou)
}

// turned returns the sides as rows (..., 1, boxes).
func (c corners) turned() corners {
	t := func(v *ops.Tensor) *ops.Tensor { return ops.MoveAxis(v, -1, -2) }
	return corners{t(c.left), t(c.top), t(c.right), t(c.bottom)}
}

// extent returns the length of the intersection of two intervals.
func extent(low1, high1, low2, high2 *ops.Tensor) *ops.Tensor {
	return ops.MaximumScalar(ops.Subtract(ops.Minimum(high1, high2), ops.Maximum(low1, low2)), 0)
}

// ComputeCIoU returns the complete IoU of each box (..., 4) with the box at the same position in the other list (...,
// 4). It takes into account the distance d of the centres, the diagonal c of the smallest box around both, and the
// aspect ratios w/h:
//
//	ciou = iou - d²/c² - α·v,   v = 4/π²·(atan(w2/h2) - atan(w1/h1))²,   α = v / (1 - iou + v)
//
// with Keras's 1e-7 in heights and denominators. The result has the boxes' axes without the last. Relative formats,
// which Keras refuses, need a size here.
//
// Source: Zheng et al., "Enhancing Geometric Factors in Model Learning and Inference for Object Detection", 2020;
// formulas of keras.utils.bounding_boxes.compute_ciou.
func ComputeCIoU(boxes1, boxes2 *ops.Tensor, format Format, size Size) *ops.Tensor {
	if format.Relative() {
		needSize(boxes1, size)
	}
	a := cornersOf(ConvertFormat(boxes1, format, XYXY, size), XYXY)
	b := cornersOf(ConvertFormat(boxes2, format, XYXY, size), XYXY)
	w1, w2 := ops.Subtract(a.right, a.left), ops.Subtract(b.right, b.left)
	h1, h2 := ops.AddScalar(ops.Subtract(a.bottom, a.top), epsilon), ops.AddScalar(ops.Subtract(b.bottom, b.top), epsilon)
	common := ops.Multiply(extent(a.left, a.right, b.left, b.right), extent(a.top, a.bottom, b.top, b.bottom))
	union := ops.AddScalar(ops.Subtract(ops.Add(ops.Multiply(w1, h1), ops.Multiply(w2, h2)), common), epsilon)
	iou := ops.Divide(common, ops.AddScalar(union, epsilon))
	span := func(low1, high1, low2, high2 *ops.Tensor) *ops.Tensor {
		return ops.Subtract(ops.Maximum(high1, high2), ops.Minimum(low1, low2))
	}
	diagonal := ops.Add(ops.Square(span(a.left, a.right, b.left, b.right)), ops.Square(span(a.top, a.bottom, b.top, b.bottom)))
	apart := func(low1, high1, low2, high2 *ops.Tensor) *ops.Tensor {
		return ops.Square(ops.MultiplyScalar(ops.Subtract(ops.Add(low1, high1), ops.Add(low2, high2)), 0.5))
	}
	distance := ops.Add(apart(a.left, a.right, b.left, b.right), apart(a.top, a.bottom, b.top, b.bottom))
	v := ops.MultiplyScalar(ops.Square(ops.Subtract(ops.Arctan(ops.Divide(w2, h2)), ops.Arctan(ops.Divide(w1, h1)))), 4/(math.Pi*math.Pi))
	alpha := ops.Divide(v, ops.AddScalar(ops.Subtract(v, iou), 1+epsilon))
	penalty := ops.Add(ops.Divide(distance, ops.AddScalar(diagonal, epsilon)), ops.Multiply(v, alpha))
	return ops.Squeeze(ops.Subtract(iou, penalty), -1)
}
