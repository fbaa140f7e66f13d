package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
)

// Solarization adds, in training, a number to the values of each image and inverts those that reach a threshold.
// Otherwise y = x.
//
//	z = clip(x + a, 0, 255);  y = z if z < t, else 255 - z
//
// with a uniform in [AdditionFactor[0], 255·AdditionFactor[1]) and t drawn likewise from ThresholdFactor, on images
// converted from ValueRange to 0 ... 255 and back. A factor given as a single number f stands for {0, f}.
//
// Input shape: (batch, height, width, channels), or one image without the batch; with DataFormat ChannelsFirst the
// channels come before the height. Output shape: that of the input, in the compute type. A mask does not pass through.
type Solarization struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	AdditionFactor    []float64         `keras:"addition_factor"`                   // see above, from 0 to 1; nil is 0
	ThresholdFactor   []float64         `keras:"threshold_factor"`                  // see above, from 0 to 1; nil is 0
	ValueRange        []float64         `keras:"value_range,default=[0,255]"`       // smallest and largest value of a channel; nil is {0, 255}
	Seed              *int              `keras:"seed"`                              // different seeds draw different numbers
	DataFormat        DataFormat        `keras:"data_format,default=channels_last"` // has no effect on the result
	BoundingBoxFormat BoundingBoxFormat `keras:"bounding_box_format,omitempty"`     // of boxes that come with the images, see [LabelledImages]
}

// Forward computes the layer.
func (l *Solarization) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor { return augment(c, l, in) }

// orZero returns a factor, or 0 if it is nil.
func orZero(values []float64) []float64 {
	if values == nil {
		return []float64{0}
	}
	return values
}

func (l *Solarization) check(x *ops.Tensor) {
	imageAxes(x, l.DataFormat)
	factorRange(x.Graph(), "AdditionFactor", orZero(l.AdditionFactor), 0, 1)
	factorRange(x.Graph(), "ThresholdFactor", orZero(l.ThresholdFactor), 0, 1)
	valueRange(x.Graph(), l.ValueRange)
}

func (l *Solarization) draw(c *Context, x *ops.Tensor) drawn {
	number := func(factor []float64) *ops.Tensor {
		low, high := spread(orZero(factor), 0)
		return uniform(c, l.Seed, min(low, high*255), max(low, high*255), imageCount(x))
	}
	return drawn{"additions": number(l.AdditionFactor), "thresholds": number(l.ThresholdFactor)}
}

func (l *Solarization) transform(x *ops.Tensor, d drawn) *ops.Tensor {
	low, high := valueRange(x.Graph(), l.ValueRange)
	z := ops.Clip(ops.Add(rescale(x, low, high, 0, 255), perImage(d["additions"], x)), 0, 255)
	z = ops.Where(ops.Less(z, perImage(d["thresholds"], x)), z, ops.Subtract(ops.Scalar(z, 255), z))
	return rescale(z, 0, 255, low, high)
}

// AmendConfig writes single numbers as the ranges that they stand for.
func (l *Solarization) AmendConfig(keys map[string]any) error {
	if err := amendFactor(keys, "addition_factor", orZero(l.AdditionFactor), 0); err != nil {
		return err
	}
	return amendFactor(keys, "threshold_factor", orZero(l.ThresholdFactor), 0)
}

func (l *Solarization) boxFormat() (boxes BoundingBoxFormat, images DataFormat) {
	return l.BoundingBoxFormat, l.DataFormat
}

func init() { Register[Solarization]() }
