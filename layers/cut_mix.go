package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// CutMix copies, in training, a rectangle of another image j of the batch onto each image i, at the same position, and
// mixes labels in proportion to the areas:
//
//	x'[i] = x[j] inside the rectangle, x[i] elsewhere,   y'[i] = w[i]·y[i] + (1 - w[i])·y[j]
//
// with j = order[i] for a random order of the batch. The rectangle is √(1-w) times as high and wide as the image, at a
// uniformly random position. A cell belongs to it if its upper left corner does. w[i] has the beta distribution with
// both parameters a, where a is drawn once for the batch, uniformly in [Factor[0], Factor[1]) plus 10^-6. With a small
// a nearly all images stay whole, either i's or j's. Outside of training the results are the inputs. Each replica mixes
// the images of its own part of the batch.
//
// Inputs: images (batch, height, width, channels), with DataFormat ChannelsFirst (batch, channels, height, width);
// after them, optionally, labels (batch, classes) such as one-hot vectors, and then segmentation masks (batch, height,
// width, classes), with axes in the order of the images. Results have the same order and shapes, and [InvokeAll]
// returns all of them. Images come in the compute type; labels keep their type if it is a float type and become float32
// otherwise; masks keep their type. A single image without the batch axis is unchanged. Keras masks do not pass
// through.
//
// In Fit the labels of a batch are not inputs of the model, so a TrainStep calls the layer before the model; MixUp has
// an example. In a Functional model the inputs are a dict with the keys images, labels and segmentation_masks, as in
// Keras's files. Boxes of [LabelledImages] are unchanged in inference and an error in training, as in Keras.
//
// Source: Yun et al., "CutMix: Regularization Strategy to Train Strong Classifiers with Localizable Features", ICCV
// 2019; behaviour of keras.layers.CutMix.
type CutMix struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Factor            []float64         `keras:"factor"`                            // see above, from 0 to 1, or one number f for {0, f}; nil is {0, 1}
	Seed              *int              `keras:"seed"`                              // different seeds draw different numbers
	DataFormat        DataFormat        `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
	BoundingBoxFormat BoundingBoxFormat `keras:"bounding_box_format,omitempty"`     // of boxes that come with the images, see [LabelledImages]
}

// Forward computes the layer.
func (l *CutMix) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor { return mixExamples(c, l, in) }

func (l *CutMix) check(x *ops.Tensor) {
	imageAxes(x, l.DataFormat)
	factorRange(x.Graph(), "Factor", orOne(l.Factor), 0, 1)
}

func (l *CutMix) draw(c *Context, x *ops.Tensor) drawn {
	axes, _ := imageAxes(x, l.DataFormat)
	low, high := spread(orOne(l.Factor), 0)
	alpha := ops.AddScalar(uniform(c, l.Seed, low, high), 1e-6)
	weight := ops.RandomBeta(alpha, alpha, seedOf(l.Seed), imageCount(x))
	share := ops.Sqrt(ops.Subtract(ops.OnesLike(weight), weight))
	inside := ops.LogicalAnd(drawSpan(c, x, l.Seed, share, axes[1]), drawSpan(c, x, l.Seed, share, axes[0]))
	return drawn{"permutation_order": drawOrder(c, x, l.Seed), "batch_masks": inside, "mix_weight": weight}
}

func (l *CutMix) transform(x *ops.Tensor, d drawn) *ops.Tensor {
	return ops.Where(ops.BroadcastTo(d["batch_masks"], x.Shape()...), ops.Take(x, d["permutation_order"], 0), x)
}

func (l *CutMix) mixLabels(labels *ops.Tensor, d drawn) *ops.Tensor {
	return blend(labels, d["mix_weight"], d["permutation_order"])
}

func (l *CutMix) mixMasks(masks *ops.Tensor, d drawn) *ops.Tensor { return l.transform(masks, d) }

func (l *CutMix) masksType(given ir.DType) ir.DType { return given }

func (l *CutMix) mixBoxes(boxes, _ *ops.Tensor, _ drawn) (newBoxes, newLabels *ops.Tensor) {
	ops.Failf(boxes.Graph(), "the boxes of objects covered by a rectangle of another image cannot be computed, so boxes are not accepted in training; omit them, or use MixUp")
	return nil, nil
}

// keepsInputType: labels are not rounded to the compute type.
func (l *CutMix) keepsInputType() {}

// AmendConfig writes a single number as the range that it stands for.
func (l *CutMix) AmendConfig(keys map[string]any) error {
	return amendFactor(keys, "factor", orOne(l.Factor), 0)
}

func (l *CutMix) boxFormat() (boxes BoundingBoxFormat, images DataFormat) {
	return l.BoundingBoxFormat, l.DataFormat
}

func init() { Register[CutMix]() }
