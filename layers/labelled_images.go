package layers

import (
	"slices"

	"github.com/gokeras/gokeras/keras/boundingboxes"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// LabelledImages are images with their labels, boxes and masks. The layers that prepare and augment images change them
// together: layers that move an image also move its boxes and its segmentation masks, layers that change colours leave
// boxes and masks unchanged.
//
//	e := layers.LabelledImages{Images: x, Boxes: boxes, BoxLabels: classes}.Through(flip, c)
//
// Such a layer has the field BoundingBoxFormat, which says what the numbers of a box mean; see package boundingboxes.
// Boxes are returned as float32, in the same format, clipped to the borders of the image; boxes that have no area left
// get the label -1. Masks are sampled at the nearest cell, so that class numbers stay class numbers, and keep their
// type unless masks are mixed with each other. In inference, random layers change nothing.
//
// Calls of a layer ([InvokeAll], [Apply]) take and return the tensors in the order of the fields, omitting those that
// are nil. A Functional model writes them as Keras does, as a dict with the keys images, bounding_boxes (boxes and
// labels), labels and segmentation_masks.
//
// Boxes are those of keras.layers, except where Keras contradicts itself: Keras's RandomCrop subtracts rows from
// columns and does not clip at the far borders, its RandomRotation treats boxes of any format as "xyxy", its
// RandomPerspective returns "xyxy" whatever the format is, its RandomShear assumes that images are square, its MixUp
// joins the labels of boxes along the batch, and its RandAugment moves boxes in the order of its list of steps and not
// in the order of the steps drawn. AugMix leaves boxes unchanged, as in Keras: its results are a mean that includes the
// unmoved image.
type LabelledImages struct {
	Images    *ops.Tensor // (batch, height, width, channels), channels first by the layer's DataFormat; or one without the batch
	Boxes     *ops.Tensor // (batch, boxes, 4); nil if there are none
	BoxLabels *ops.Tensor // (batch, boxes), or (batch, boxes, classes); given with Boxes
	Labels    *ops.Tensor // (batch, ...) with up to two axes fewer than the images, such as (batch, classes); nil if there are none
	Masks     *ops.Tensor // (batch, height, width, classes), with axes in the order of the images; nil if there are none
}

// Through applies an image layer to all of them.
func (e LabelledImages) Through(l Layer, c *Context) LabelledImages {
	var in []*ops.Tensor
	var roles []imageRole
	for _, r := range imageRoles {
		if t := *e.at(r); t != nil {
			in, roles = append(in, t), append(roles, r)
		}
	}
	for i, y := range InvokeAll(l, c, in...) {
		*e.at(roles[i]) = y
	}
	return e
}

// imageRole says what an input of such a layer is.
type imageRole int

const (
	imagesRole imageRole = iota
	boxesRole
	boxLabelsRole
	labelsRole
	masksRole
)

var imageRoles = []imageRole{imagesRole, boxesRole, boxLabelsRole, labelsRole, masksRole}

func (e *LabelledImages) at(r imageRole) **ops.Tensor {
	return []**ops.Tensor{&e.Images, &e.Boxes, &e.BoxLabels, &e.Labels, &e.Masks}[r]
}

// rolesOf tells by their numbers of axes what n inputs are, or returns nil if they do not fit. Boxes and their labels
// may also come first, as in the sorted dict of Keras.
func rolesOf(n int, rank func(i int) int) []imageRole {
	if n == 0 {
		return nil
	}
	var roles []imageRole
	if n >= 3 && rank(2) >= 3 && rank(0) == rank(2)-1 && (rank(1) == rank(0)-1 || rank(1) == rank(0)) {
		roles = append(roles, boxesRole, boxLabelsRole)
	}
	images := rank(len(roles))
	boxed := len(roles) > 0
	roles = append(roles, imagesRole)
	if !boxed && n >= 3 && rank(1) == images-1 && (rank(2) == images-2 || rank(2) == images-1) {
		roles = append(roles, boxesRole, boxLabelsRole)
	}
	if i := len(roles); i < n && rank(i) <= images-2 {
		roles = append(roles, labelsRole)
	}
	if i := len(roles); i < n && rank(i) == images {
		roles = append(roles, masksRole)
	}
	if len(roles) != n {
		return nil
	}
	return roles
}

// imageLayer is implemented by the layers that take images with their labels, boxes and masks.
type imageLayer interface {
	Layer
	// boxFormat returns the fields BoundingBoxFormat and DataFormat.
	boxFormat() (boxes BoundingBoxFormat, images DataFormat)
}

// together holds the inputs of one call and their order.
type together struct {
	LabelledImages
	roles []imageRole
	layer imageLayer
}

// labelledInputs sorts the inputs of a call and checks how they fit together.
func labelledInputs(l imageLayer, in []*ops.Tensor) together {
	t := together{roles: rolesOf(len(in), func(i int) int { return in[i].Rank() }), layer: l}
	if t.roles == nil {
		shapes := make([]ir.Shape, len(in))
		for i, x := range in {
			shapes[i] = x.Shape()
		}
		ops.Failf(in[0].Graph(), "takes images (batch, height, width, channels), and after them, where wanted, boxes (batch, boxes, 4) with labels (batch, boxes), labels (batch, ...) and masks (batch, height, width, classes); received inputs of shapes %v", shapes)
	}
	for i, r := range t.roles {
		*t.at(r) = in[i]
	}
	t.check()
	return t
}

// check reports inputs that do not fit the images.
func (t *together) check() {
	g, boxes, images := t.Images.Graph(), t.Boxes, t.Images
	format, dataFormat := t.layer.boxFormat()
	if images.Rank() == 4 {
		for _, other := range []*ops.Tensor{boxes, t.BoxLabels, t.Labels, t.Masks} {
			if other != nil && (other.Rank() == 0 || !dim.MayEqual(other.Dim(0), images.Dim(0))) {
				ops.Failf(g, "%d images come with a tensor of shape %v, which has another number of rows", images.Dim(0), other.Shape())
			}
		}
	}
	if boxes != nil {
		if !boundingboxes.Format(format).Known() {
			ops.Failf(g, "boxes come with the images, so that BoundingBoxFormat must be one of %q, received %q", boundingboxes.Formats(), format)
		}
		if boxes.Dim(-1) != 4 {
			ops.Failf(g, "boxes have four numbers along their last axis, received shape %v", boxes.Shape())
		}
		if axis := boxes.Rank() - 2; !dim.MayEqual(t.BoxLabels.Dim(axis), boxes.Dim(axis)) {
			ops.Failf(g, "boxes of shape %v come with labels of shape %v; give one for each box", boxes.Shape(), t.BoxLabels.Shape())
		}
	}
	if masks := t.Masks; masks != nil {
		axes, _ := imageAxes(images, dataFormat)
		for _, axis := range axes {
			if !dim.MayEqual(masks.Dim(axis), images.Dim(axis)) {
				ops.Failf(g, "images of shape %v come with masks of shape %v, of another height or width", images.Shape(), masks.Shape())
			}
		}
	}
}

// tensors returns the results in the order of the inputs.
func (t *together) tensors() []*ops.Tensor {
	out := make([]*ops.Tensor, len(t.roles))
	for i, r := range t.roles {
		out[i] = *t.at(r)
	}
	return out
}

// castBoxes casts boxes and their labels to the types of results.
func (t *together) castBoxes() {
	if t.Boxes == nil {
		return
	}
	if t.Boxes.DType() != ir.Float64 {
		t.Boxes = ops.Cast(t.Boxes, ir.Float32)
	}
	switch t.BoxLabels.DType() {
	case ir.Bool, ir.Uint8, ir.Uint16, ir.Uint32: // which have no -1
		t.BoxLabels = ops.Cast(t.BoxLabels, ir.Int32)
	}
}

// moveBoxes applies move to boxes. It takes boxes in cells of the old images and returns boxes in cells of the new
// images.
func (t *together) moveBoxes(before, after *ops.Tensor, move func(boxes *ops.Tensor) *ops.Tensor) {
	if t.Boxes == nil {
		return
	}
	name, dataFormat := t.layer.boxFormat()
	format, single := boundingboxes.Format(name), before.Rank() == 3
	boxes, labels := t.Boxes, t.BoxLabels
	if single {
		boxes, labels = ops.ExpandDims(boxes, 0), ops.ExpandDims(labels, 0)
	}
	boxes = move(boundingboxes.ConvertFormat(boxes, format, boundingboxes.XYXY, sizeOfImages(before, dataFormat)))
	size := sizeOfImages(after, dataFormat)
	boxes, labels = boundingboxes.ClipToImageSize(boxes, labels, boundingboxes.XYXY, size)
	boxes = boundingboxes.ConvertFormat(boxes, boundingboxes.XYXY, format, size)
	if single {
		boxes, labels = ops.Squeeze(boxes, 0), ops.Squeeze(labels, 0)
	}
	t.Boxes, t.BoxLabels = boxes, labels
}

// sizeOfImages is the height and width of images.
func sizeOfImages(x *ops.Tensor, dataFormat DataFormat) boundingboxes.Size {
	axes, _ := imageAxes(x, dataFormat)
	return boundingboxes.Size{Height: max(1, lengthNumber(x, x.Dim(axes[0]))), Width: max(1, lengthNumber(x, x.Dim(axes[1])))}
}

// sampleMasks applies a change of float images to masks, which keep their type.
func sampleMasks(masks *ops.Tensor, change func(*ops.Tensor) *ops.Tensor) *ops.Tensor {
	return ops.Cast(change(atLeastFloat32(masks)), masks.DType())
}

// isCompanion reports whether input i belongs to images. Such inputs are not cast to the compute type.
func isCompanion(l Layer, inputs []*ops.Tensor, i int) bool {
	if _, ok := l.(imageLayer); !ok || len(inputs) < 2 {
		return false
	}
	roles := rolesOf(len(inputs), func(k int) int { return inputs[k].Rank() })
	return roles == nil || roles[i] != imagesRole
}

// dictOfImages puts the inputs of a call into a dict, as Keras takes them, and returns the position of each in the
// sorted dict; ok is false if they do not fit.
func dictOfImages(l Layer, inputs []*KerasTensor) (a Arguments, order []int, ok bool) {
	if _, images := l.(imageLayer); !images || len(inputs) < 2 {
		return a, nil, false
	}
	for _, t := range inputs {
		if t == nil || t.err != nil {
			return a, nil, false
		}
	}
	roles := rolesOf(len(inputs), func(i int) int { return len(inputs[i].shape) })
	if roles == nil {
		return a, nil, false
	}
	var sorted []imageRole
	for _, r := range []imageRole{boxesRole, boxLabelsRole, imagesRole, labelsRole, masksRole} {
		if slices.Contains(roles, r) {
			sorted = append(sorted, r)
		}
	}
	given, boxes := map[string]any{}, map[string]any{}
	for i, r := range roles {
		order = append(order, slices.Index(sorted, r))
		switch r {
		case boxesRole:
			boxes["boxes"] = inputs[i]
			given["bounding_boxes"] = boxes
		case boxLabelsRole:
			boxes["labels"] = inputs[i]
		default:
			given[map[imageRole]string{imagesRole: "images", labelsRole: "labels", masksRole: "segmentation_masks"}[r]] = inputs[i]
		}
	}
	return Arguments{Positional: []any{given}}, order, true
}

// inOrder puts results in the given order. After an error there are more of them, which stay in place.
func inOrder(results []*KerasTensor, order []int) []*KerasTensor {
	if len(results) != len(order) {
		return results
	}
	out := make([]*KerasTensor, len(order))
	for i, k := range order {
		out[i] = results[k]
	}
	return out
}
