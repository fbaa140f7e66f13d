package layers

import "github.com/gokeras/gokeras/keras/ops"

// TransformImages applies a random layer to images with given numbers, for tests; it returns false if the layer has no
// such part.
func TransformImages(l Layer, x *ops.Tensor, numbers map[string]*ops.Tensor) (*ops.Tensor, bool) {
	a, ok := l.(augmentation)
	if !ok {
		return nil, false
	}
	a.check(x)
	return a.transform(x, numbers), true
}

// DrawImages returns the numbers that a random layer draws for images, for tests.
func DrawImages(c *Context, l Layer, x *ops.Tensor) map[string]*ops.Tensor {
	attach(l)
	return l.(augmentation).draw(c, x)
}

// MixOthers applies a layer to the labels and masks of images with given numbers, for tests.
func MixOthers(l Layer, labels, masks *ops.Tensor, numbers map[string]*ops.Tensor) (newLabels, newMasks *ops.Tensor) {
	m := l.(mixing)
	if labels != nil {
		newLabels = m.mixLabels(labels, numbers)
	}
	if masks != nil {
		newMasks = m.mixMasks(masks, numbers)
	}
	return newLabels, newMasks
}

// TransformTogether applies a layer to images with boxes, labels and masks with given numbers, for tests.
func TransformTogether(l Layer, e LabelledImages, numbers map[string]*ops.Tensor) LabelledImages {
	if m, ok := l.(mixing); ok {
		e.Boxes, e.BoxLabels = m.mixBoxes(e.Boxes, e.BoxLabels, numbers)
		return e
	}
	a := l.(augmentation)
	t := together{LabelledImages: e, layer: a}
	t.check()
	t.castBoxes()
	a.check(t.Images)
	if len(numbers) == 0 {
		numbers = nil
	}
	transformTogether(a, &t, numbers)
	return t.LabelledImages
}
