package layers

import (
	"slices"
	"strings"

	"github.com/gokeras/gokeras/keras/boundingboxes"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// RandAugment applies, in training, NumOps steps to the images, one after the other, each drawn with equal probability
// from eleven: [RandomShear], [RandomTranslation], [RandomRotation], [RandomBrightness], [RandomColorDegeneration],
// [RandomContrast], [RandomSharpness], [RandomPosterization], [Solarization], [AutoContrast] and [Equalization]. All
// images of a batch get the same steps, but each with its own random numbers; a step that is drawn twice uses the same
// numbers both times. Otherwise y = x.
//
// Factor [low, high] is the factor of all steps that take one; posterization keeps up to max(1, floor(8·high)) bits.
// Only the steps that were drawn are computed. Steps without a factor, and posterization, change images even if Factor
// is 0.
//
// Input shape: (batch, height, width, channels), or one image without the batch; with DataFormat ChannelsFirst the
// channels come before the height. There are 1 or 3 channels. Output shape: that of the input, in the compute type. A
// mask does not pass through.
//
// Source: Cubuk et al., "RandAugment: Practical automated data augmentation with a reduced search space", 2019;
// behaviour of keras.layers.RandAugment.
type RandAugment struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	ValueRange        []float64         `keras:"value_range,default=[0,255]"`       // smallest and largest value of a channel; nil is {0, 255}
	NumOps            int               `keras:"num_ops,default=2"`                 // steps; 0 is 2
	Factor            []float64         `keras:"factor"`                            // strength from 0 to 1, or one number f for {0, f}; nil is {0, 0.5}
	Interpolation     Interpolation     `keras:"interpolation,default=bilinear"`    // "bilinear" or "nearest", between cells; "" is "bilinear"
	Seed              *int              `keras:"seed"`                              // different seeds draw different numbers
	DataFormat        DataFormat        `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
	BoundingBoxFormat BoundingBoxFormat `keras:"bounding_box_format,omitempty"`     // of boxes that come with the images, see [LabelledImages]
}

// maxSteps limits the steps of one layer, because each makes the program longer.
const maxSteps = 100

// Forward computes the layer.
func (l *RandAugment) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor { return augment(c, l, in) }

func (l *RandAugment) factor() []float64 {
	if l.Factor == nil {
		return []float64{0.5}
	}
	return l.Factor
}

func (l *RandAugment) numOps() int {
	if l.NumOps == 0 {
		return 2
	}
	return l.NumOps
}

// steps lists the steps to choose from, in Keras's order.
func (l *RandAugment) steps() []augmentationStep {
	low, high := spread(l.factor(), 0)
	o := stepOptions{low, high, l.ValueRange, l.Interpolation, l.Seed, l.DataFormat}
	return slices.Concat(o.geometricSteps(), o.colourSteps(), o.valueSteps())
}

func (l *RandAugment) check(x *ops.Tensor) {
	imageAxes(x, l.DataFormat)
	factorRange(x.Graph(), "Factor", l.factor(), 0, 1)
	if n := l.numOps(); n < 1 || n > maxSteps {
		ops.Failf(x.Graph(), "NumOps must be from 1 to %d, received %d", maxSteps, n)
	}
	for _, s := range l.steps() {
		s.check(x)
	}
}

func (l *RandAugment) draw(c *Context, x *ops.Tensor) drawn {
	steps := l.steps()
	all := drawn{"layer_idxes": ops.RandomInt(c, ir.Int32, 0, len(steps), seedOf(l.Seed), l.numOps())}
	for _, s := range steps {
		for key, v := range s.draw(c, x) {
			all[s.name+"/"+key] = v
		}
	}
	return all
}

func (l *RandAugment) transform(x *ops.Tensor, d drawn) *ops.Tensor {
	return l.eachStep(x, d, func(s augmentationStep, before *ops.Tensor) *ops.Tensor {
		return ops.Cast(s.transform(before, d.of(s.name)), before.DType())
	})
}

func (l *RandAugment) transformMasks(masks, x *ops.Tensor, d drawn) *ops.Tensor {
	return l.eachStep(masks, d, func(s augmentationStep, before *ops.Tensor) *ops.Tensor { return s.masks(before, x, d.of(s.name)) })
}

func (l *RandAugment) moveBoxes(boxes, x *ops.Tensor, d drawn) *ops.Tensor {
	return l.eachStep(boxes, d, func(s augmentationStep, before *ops.Tensor) *ops.Tensor {
		if mover, ok := s.stepOfImages.(boxMover); ok {
			return insideOrPoint(mover.moveBoxes(before, x, d.of(s.name)), sizeOfImages(x, l.DataFormat))
		}
		return before
	})
}

// insideOrPoint clips boxes to the image. Boxes without an area become a point, to which no later step gives an area.
func insideOrPoint(boxes *ops.Tensor, size boundingboxes.Size) *ops.Tensor {
	boxes, _ = boundingboxes.ClipToImageSize(boxes, nil, boundingboxes.XYXY, size)
	from, to := ops.SliceAxis(boxes, -1, 0, 2), ops.SliceAxis(boxes, -1, 2, 4)
	inside := ops.ExpandDims(ops.All(ops.Greater(to, from), -1), -1)
	return ops.Where(ops.BroadcastTo(inside, boxes.Shape()...), boxes, ops.ZerosLike(boxes))
}

// eachStep applies the drawn steps one after the other.
func (l *RandAugment) eachStep(x *ops.Tensor, d drawn, apply func(s augmentationStep, before *ops.Tensor) *ops.Tensor) *ops.Tensor {
	steps := l.steps()
	for i := range l.numOps() {
		before := x
		x = amongSteps(ops.Index(d["layer_idxes"], 0, i), len(steps), func(k int) *ops.Tensor { return apply(steps[k], before) })
	}
	return x
}

// of returns the numbers of a part. Their names are prefixed with the part's name and a slash.
//
//go:noinline
func (d drawn) of(part string) drawn {
	own := drawn{}
	for key, v := range d {
		if key, ok := strings.CutPrefix(key, part+"/"); ok {
			own[key] = v
		}
	}
	return own
}

// AmendConfig writes a single number as the range that it stands for.
func (l *RandAugment) AmendConfig(keys map[string]any) error {
	return amendFactor(keys, "factor", l.factor(), 0)
}

func (l *RandAugment) boxFormat() (boxes BoundingBoxFormat, images DataFormat) {
	return l.BoundingBoxFormat, l.DataFormat
}

func init() { Register[RandAugment]() }
