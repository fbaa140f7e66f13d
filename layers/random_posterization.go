package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// RandomPosterization keeps, in training, the upper bits of each value. Otherwise y = x.
//
//	y = floor(x / 2^(8-b))·2^(8-b)     b uniform among Factor[0] ... Factor[1]-1
//
// on images converted from ValueRange to integers from 0 to 255 and back. A factor given as a single number f stands
// for {1, f}; {f, f} is f itself.
//
// Input shape: (batch, height, width, channels), or one image without the batch; with DataFormat ChannelsFirst the
// channels come before the height. Output shape: that of the input, in the compute type. A mask does not pass through.
type RandomPosterization struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Factor            []int             `keras:"factor"`                            // see above, from 1 to 8; required
	ValueRange        []float64         `keras:"value_range,default=[0,255]"`       // smallest and largest value of a channel; nil is {0, 255}
	Seed              *int              `keras:"seed"`                              // different seeds draw different numbers
	DataFormat        DataFormat        `keras:"data_format,default=channels_last"` // has no effect on the result
	BoundingBoxFormat BoundingBoxFormat `keras:"bounding_box_format,omitempty"`     // of boxes that come with the images, see [LabelledImages]
}

// Forward computes the layer.
func (l *RandomPosterization) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	return augment(c, l, in)
}

// bits returns the range of Factor.
func (l *RandomPosterization) bits() (low, high int) {
	if len(l.Factor) == 1 {
		return 1, l.Factor[0]
	}
	return min(l.Factor[0], l.Factor[1]), max(l.Factor[0], l.Factor[1])
}

func (l *RandomPosterization) check(x *ops.Tensor) {
	imageAxes(x, l.DataFormat)
	bad := len(l.Factor) != 1 && len(l.Factor) != 2
	for _, f := range l.Factor {
		bad = bad || f < 1 || f > 8
	}
	if bad {
		ops.Failf(x.Graph(), "Factor must be one number of bits or a range of two, from 1 to 8, received %v", l.Factor)
	}
	valueRange(x.Graph(), l.ValueRange)
}

// draw draws how many bits each image loses.
func (l *RandomPosterization) draw(c *Context, x *ops.Tensor) drawn {
	low, high := l.bits()
	f := ops.Floor(uniform(c, l.Seed, float64(low), float64(high), imageCount(x)))
	return drawn{"shift_factor": ops.Cast(ops.Subtract(ops.Scalar(f, 8), f), ir.Uint8)}
}

func (l *RandomPosterization) transform(x *ops.Tensor, d drawn) *ops.Tensor {
	low, high := valueRange(x.Graph(), l.ValueRange)
	bits := ops.Cast(rescale(x, low, high, 0, 255), ir.Uint8)
	shift := ops.BroadcastTo(perImage(d["shift_factor"], bits), bits.Shape()...)
	return rescale(ops.Cast(ops.LeftShift(ops.RightShift(bits, shift), shift), x.DType()), 0, 255, low, high)
}

// AmendConfig writes single numbers as the ranges that they stand for.
func (l *RandomPosterization) AmendConfig(keys map[string]any) error {
	if len(l.Factor) == 1 {
		keys["factor"] = []any{int64(1), int64(l.Factor[0])}
	}
	return nil
}

func (l *RandomPosterization) boxFormat() (boxes BoundingBoxFormat, images DataFormat) {
	return l.BoundingBoxFormat, l.DataFormat
}

func init() { Register[RandomPosterization]() }
