package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// MixUp replaces, in training, each image i of a batch, and its label, by a mean of its own and those of another image
// j:
//
//	x'[i] = w[i]·x[i] + (1 - w[i])·x[j],   y'[i] = w[i]·y[i] + (1 - w[i])·y[j]
//
// with w[i] drawn from the beta distribution with both parameters Alpha, and j = order[i] for a random order of the
// batch. Otherwise the results are the inputs. Each replica mixes the images of its own part of the batch.
//
// Inputs: images (batch, height, width, channels), with DataFormat ChannelsFirst (batch, channels, height, width);
// after them, optionally, labels (batch, classes) such as one-hot vectors, and then segmentation masks with the axes of
// the images. Results have the same order and shapes, and [InvokeAll] returns all of them. Images come in the compute
// type; labels and masks keep their type if it is a float type and become float32 otherwise. A single image without the
// batch axis is unchanged. Keras masks do not pass through.
//
// In Fit the labels of a batch are not inputs of the model, so a TrainStep calls the layer before the model; MixUp has
// an example. In a Functional model the inputs are a dict with the keys images, labels and segmentation_masks, as in
// Keras's files. Each image gets its own boxes (see [LabelledImages]) and those of the other image, so there are twice
// as many in training as in inference.
//
// Source: Zhang et al., "mixup: Beyond Empirical Risk Minimization", ICLR 2018; behaviour of keras.layers.MixUp, except
// that Keras mixes up the order of the elements of masks.
type MixUp struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Alpha             *float64          `keras:"alpha,default=0.2"`                 // see above; the larger, the closer is w to 1/2. 0 mixes nothing; nil is 0.2
	Seed              *int              `keras:"seed"`                              // different seeds draw different numbers
	DataFormat        DataFormat        `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
	BoundingBoxFormat BoundingBoxFormat `keras:"bounding_box_format,omitempty"`     // of boxes that come with the images, see [LabelledImages]
}

// Forward computes the layer.
func (l *MixUp) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor { return mixExamples(c, l, in) }

func (l *MixUp) check(x *ops.Tensor) {
	imageAxes(x, l.DataFormat)
	if a := number(l.Alpha, 0.2); !(a >= 0 && a <= 1e6) {
		ops.Failf(x.Graph(), "Alpha must be from 0 to 1e6, received %v", a)
	}
}

func (l *MixUp) draw(c *Context, x *ops.Tensor) drawn {
	d := drawn{"permutation_order": drawOrder(c, x, l.Seed)}
	alpha := uniform(c, l.Seed, number(l.Alpha, 0.2), number(l.Alpha, 0.2))
	if number(l.Alpha, 0.2) == 0 {
		d["mix_weight"] = ops.Ones(c, alpha.DType(), imageCount(x))
	} else {
		d["mix_weight"] = ops.RandomBeta(alpha, alpha, seedOf(l.Seed), imageCount(x))
	}
	return d
}

func (l *MixUp) transform(x *ops.Tensor, d drawn) *ops.Tensor {
	return blend(x, d["mix_weight"], d["permutation_order"])
}

func (l *MixUp) mixLabels(labels *ops.Tensor, d drawn) *ops.Tensor { return l.transform(labels, d) }

func (l *MixUp) mixMasks(masks *ops.Tensor, d drawn) *ops.Tensor { return l.transform(masks, d) }

func (l *MixUp) masksType(given ir.DType) ir.DType { return mixedType(given) }

// mixBoxes gives each image the boxes of both.
func (l *MixUp) mixBoxes(boxes, labels *ops.Tensor, d drawn) (newBoxes, newLabels *ops.Tensor) {
	both := func(v *ops.Tensor) *ops.Tensor { return ops.Concatenate(1, v, ops.Take(v, d["permutation_order"], 0)) }
	return both(boxes), both(labels)
}

// keepsInputType: labels are not rounded to the compute type.
func (l *MixUp) keepsInputType() {}

func (l *MixUp) boxFormat() (boxes BoundingBoxFormat, images DataFormat) {
	return l.BoundingBoxFormat, l.DataFormat
}

func init() { Register[MixUp]() }
