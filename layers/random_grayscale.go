package layers

import (
	"slices"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// RandomGrayscale makes, in training, each image gray with probability Factor. Otherwise y = x.
//
//	y = 0.2989·R + 0.587·G + 0.114·B, in all channels
//
// Images of one channel stay as they are.
//
// Input shape: (batch, height, width, channels), or one image without the batch; with DataFormat ChannelsFirst the
// channels come before the height. Output shape: that of the input, in the compute type; images of integers or bools
// keep their type, and fractions are truncated. A mask does not pass through.
type RandomGrayscale struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Factor            *float64          `keras:"factor,default=0.5"`                // probability; nil is 0.5
	Seed              *int              `keras:"seed,omitempty"`                    // different seeds draw different numbers
	DataFormat        DataFormat        `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
	BoundingBoxFormat BoundingBoxFormat `keras:"bounding_box_format,omitempty"`     // of boxes that come with the images, see [LabelledImages]
}

// Forward computes the layer.
func (l *RandomGrayscale) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	out := augment(c, l, in)
	roles := rolesOf(len(in), func(i int) int { return in[i].Rank() })
	if i := slices.Index(roles, imagesRole); !in[i].DType().IsFloat() {
		out[i] = ops.Cast(out[i], in[i].DType())
	}
	return out
}

func (l *RandomGrayscale) check(x *ops.Tensor) {
	_, channel := imageAxes(x, l.DataFormat)
	needColours(x, channel, 1, 3)
	if f := number(l.Factor, 0.5); !(f >= 0 && f <= 1) {
		ops.Failf(x.Graph(), "Factor must be from 0 to 1, received %v", f)
	}
}

// draw says which images lose their colour.
func (l *RandomGrayscale) draw(c *Context, x *ops.Tensor) drawn {
	return drawn{"should_apply": ops.CompareScalar(ir.Lt, uniform(c, l.Seed, 0, 1, imageCount(x)), number(l.Factor, 0.5))}
}

func (l *RandomGrayscale) transform(x *ops.Tensor, d drawn) *ops.Tensor {
	_, channel := imageAxes(x, l.DataFormat)
	return ops.Where(perImage(d["should_apply"], x), ops.BroadcastTo(grayscale(x, channel), x.Shape()...), x)
}

func (l *RandomGrayscale) boxFormat() (boxes BoundingBoxFormat, images DataFormat) {
	return l.BoundingBoxFormat, l.DataFormat
}

func init() { Register[RandomGrayscale]() }
