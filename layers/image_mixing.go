package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// mixing is implemented by the layers that mix the examples of a batch with each other, so that labels, masks and boxes
// change with the images.
type mixing interface {
	augmentation
	// mixLabels changes labels (batch, classes) of a float type.
	mixLabels(labels *ops.Tensor, d drawn) *ops.Tensor
	// mixMasks changes segmentation masks (batch, height, width, classes), with axes in the order of the images.
	mixMasks(masks *ops.Tensor, d drawn) *ops.Tensor
	// mixBoxes changes boxes (batch, boxes, 4) and their labels.
	mixBoxes(boxes, labels *ops.Tensor, d drawn) (newBoxes, newLabels *ops.Tensor)
	// masksType returns the type of results for masks of the given type.
	masksType(given ir.DType) ir.DType
}

// mixExamples applies such a layer in training. Otherwise all values stay the same, but get the same types as in
// training.
func mixExamples(c *Context, l mixing, in []*ops.Tensor) []*ops.Tensor {
	t := labelledInputs(l, in)
	x := ops.Cast(t.Images, c.ComputeDType())
	t.Images = x
	t.castBoxes()
	l.check(x)
	if t.Labels != nil {
		if t.Labels.Rank() != x.Rank()-2 {
			ops.Failf(x.Graph(), "images of shape %v may come with labels (batch, classes); received shape %v; give labels that are class numbers as one-hot vectors", x.Shape(), t.Labels.Shape())
		}
		t.Labels = ops.Cast(t.Labels, mixedType(t.Labels.DType()))
	}
	if t.Masks != nil {
		t.Masks = ops.Cast(t.Masks, l.masksType(t.Masks.DType()))
	}
	if !c.Training || x.Rank() == 3 { // an image alone has none to be mixed with
		return t.tensors()
	}
	d := l.draw(c, x)
	t.Images = ops.Cast(l.transform(x, d), x.DType())
	if t.Labels != nil {
		t.Labels = l.mixLabels(t.Labels, d)
	}
	if t.Masks != nil {
		t.Masks = l.mixMasks(t.Masks, d)
	}
	if t.Boxes != nil {
		t.Boxes, t.BoxLabels = l.mixBoxes(t.Boxes, t.BoxLabels, d)
	}
	return t.tensors()
}

// mixedType is the type of a mean of numbers of the given type.
func mixedType(d ir.DType) ir.DType {
	if d.IsFloat() {
		return d
	}
	return ir.Float32
}

// drawOrder draws an order of the images of a batch, which says with which image each one is mixed.
func drawOrder(c *Context, x *ops.Tensor, seed *int) *ops.Tensor {
	return ops.Argsort(ops.RandomBits(c, seedOf(seed), imageCount(x)), 0)
}

// blend is w·x + (1-w)·x[order], with one weight for each example of x.
func blend(x, weight, order *ops.Tensor) *ops.Tensor {
	shape := make([]int, x.Rank())
	for i := range shape {
		shape[i] = 1
	}
	shape[0] = x.Dim(0)
	w := ops.Reshape(ops.Cast(weight, x.DType()), shape...)
	return ops.Add(ops.Multiply(w, x), ops.Multiply(ops.Subtract(ops.Scalar(w, 1), w), ops.Take(x, order, 0)))
}
