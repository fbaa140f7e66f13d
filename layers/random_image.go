package layers

import (
	"math"
	"slices"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// drawn holds the random numbers that say what a layer does to images, by their names in Keras.
type drawn map[string]*ops.Tensor

// augmentation is implemented by the layers that change images at random in training. Their result is a function of the
// images and of a few numbers for each, so that it can be compared with that of Keras, whose random numbers differ.
type augmentation interface {
	imageLayer
	// check reports fields that are invalid for images x.
	check(x *ops.Tensor)
	// draw draws the numbers for images x.
	draw(c *Context, x *ops.Tensor) drawn
	// transform changes images x, which have the compute type.
	transform(x *ops.Tensor, d drawn) *ops.Tensor
}

// boxMover is implemented by the augmentations that move the contents of images.
type boxMover interface {
	// moveBoxes returns where boxes (batch, boxes, 4) of images x lie afterwards. Boxes are left, top, right and bottom
	// in cells.
	moveBoxes(boxes, x *ops.Tensor, d drawn) *ops.Tensor
}

// maskChanger is implemented by the augmentations that change segmentation masks, usually in the same way as images.
type maskChanger interface {
	// transformMasks changes masks of images x, which have a float type.
	transformMasks(masks, x *ops.Tensor, d drawn) *ops.Tensor
}

// augment applies a layer in training. Otherwise the images, and their labels, boxes and masks, stay unchanged.
func augment(c *Context, l augmentation, in []*ops.Tensor) []*ops.Tensor {
	t := labelledInputs(l, in)
	x := ops.Cast(t.Images, c.ComputeDType())
	t.Images = x
	t.castBoxes()
	l.check(x)
	if !c.Training {
		return t.tensors()
	}
	transformTogether(l, &t, l.draw(c, x))
	return t.tensors()
}

// transformTogether changes images, which have the compute type, and their boxes and masks according to the numbers d.
func transformTogether(l augmentation, t *together, d drawn) {
	x := t.Images
	t.Images = ops.Cast(l.transform(x, d), x.DType())
	if mover, ok := l.(boxMover); ok {
		t.moveBoxes(x, t.Images, func(boxes *ops.Tensor) *ops.Tensor { return mover.moveBoxes(boxes, x, d) })
	}
	if changer, ok := l.(maskChanger); ok && t.Masks != nil {
		t.Masks = sampleMasks(t.Masks, func(m *ops.Tensor) *ops.Tensor { return changer.transformMasks(m, x, d) })
	}
}

// uniform draws numbers uniform in [low, high), or low where the two are equal, in at least single precision.
func uniform(c *Context, seed *int, low, high float64, shape ...int) *ops.Tensor {
	dtype := ir.Float32
	if c.ComputeDType() == ir.Float64 {
		dtype = ir.Float64
	}
	if low == high {
		return ops.Full(c, dtype, low, shape...)
	}
	return ops.RandomUniform(c, dtype, low, high, seedOf(seed), shape...)
}

// imageCount returns the number of images: the length of the batch axis, or 1 for an image without it.
func imageCount(x *ops.Tensor) int {
	if x.Rank() == 3 {
		return 1
	}
	return x.Dim(0)
}

// perImage reshapes and casts one number for each image so that it broadcasts to images x.
func perImage(v, x *ops.Tensor) *ops.Tensor {
	shape := []int{imageCount(x), 1, 1, 1}
	if v.DType() != ir.Bool {
		v = ops.Cast(v, x.DType())
	}
	return ops.Reshape(v, shape[4-x.Rank():]...)
}

// factorRange reads a field that holds a range [low, high], or one number f that stands for [max(-f, least), f].
func factorRange(g *ops.Graph, name string, values []float64, least, most float64) (low, high float64) {
	for _, v := range values {
		if !(v >= least && v <= most) {
			ops.Failf(g, "%s must have entries from %v to %v, received %v", name, least, most, values)
		}
	}
	if len(values) != 1 && len(values) != 2 {
		ops.Failf(g, "%s must be one number or a range of two, from %v to %v, received %v", name, least, most, values)
	}
	return spread(values, least)
}

// spread is factorRange for a field that is known to be valid.
//
//go:noinline
func spread(values []float64, least float64) (low, high float64) {
	if len(values) == 1 {
		f := math.Abs(values[0])
		return max(-f, least), f
	}
	return min(values[0], values[1]), max(values[0], values[1])
}

// amendFactor writes a factor of one number as the range that it stands for, as Keras does.
//
//go:noinline
func amendFactor(keys map[string]any, key string, values []float64, least float64) error {
	if len(values) == 1 {
		low, high := spread(values, least)
		keys[key] = []any{low, high}
	}
	return nil
}

// valueRange reads a ValueRange field; nil is [0, 255].
func valueRange(g *ops.Graph, values []float64) (low, high float64) {
	switch {
	case values == nil:
		return 0, 255
	case len(values) != 2 || !(values[0] != values[1]):
		ops.Failf(g, "ValueRange must have the least and the largest value of a channel, received %v", values)
	}
	return min(values[0], values[1]), max(values[0], values[1])
}

// needChoice reports a field that is not one of the names.
func needChoice[S ~string](g *ops.Graph, name string, value S, choices ...S) {
	if !slices.Contains(choices, value) {
		ops.Failf(g, "unknown %s %q; use one of %q", name, value, choices)
	}
}

// batchImages gives images the shape (batch, height, width, channels); restore undoes it.
func batchImages(x *ops.Tensor, dataFormat DataFormat) (y *ops.Tensor, restore func(*ops.Tensor) *ops.Tensor) {
	first, single := isChannelsFirst(x.Graph(), dataFormat), x.Rank() == 3
	if single {
		x = ops.ExpandDims(x, 0)
	}
	return toLast(x, first), func(y *ops.Tensor) *ops.Tensor {
		if y = fromLast(y, first); single {
			y = ops.Squeeze(y, 0)
		}
		return y
	}
}
