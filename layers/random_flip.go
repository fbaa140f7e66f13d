package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// RandomFlip mirrors, in training, each image with probability ½. Otherwise y = x.
//
// Mode is "horizontal" (left and right), "vertical" (top and bottom) or "horizontal_and_vertical", the default: a
// chosen image is mirrored both ways at once, which as in Keras turns it by half a turn. For independent choices use
// two layers.
//
// Input shape: (batch, height, width, channels), or one image without the batch; with DataFormat ChannelsFirst the
// channels come before the height. Output shape: that of the input, in the compute type. A mask does not pass through.
type RandomFlip struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Mode              string            `keras:"mode,default=horizontal_and_vertical"` // see above
	Seed              *int              `keras:"seed"`                                 // different seeds draw different numbers
	DataFormat        DataFormat        `keras:"data_format,default=channels_last"`    // ChannelsLast or ChannelsFirst; "" is ChannelsLast
	BoundingBoxFormat BoundingBoxFormat `keras:"bounding_box_format,omitempty"`        // of boxes that come with the images, see [LabelledImages]
}

// Forward computes the layer.
func (l *RandomFlip) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor { return augment(c, l, in) }

func (l *RandomFlip) mode() string {
	if l.Mode == "" {
		return "horizontal_and_vertical"
	}
	return l.Mode
}

func (l *RandomFlip) check(x *ops.Tensor) {
	imageAxes(x, l.DataFormat)
	needChoice(x.Graph(), "Mode", l.mode(), "horizontal", "vertical", "horizontal_and_vertical")
}

// draw says which images are mirrored.
func (l *RandomFlip) draw(c *Context, x *ops.Tensor) drawn {
	return drawn{"flips": ops.CompareScalar(ir.Lt, uniform(c, l.Seed, 0, 1, imageCount(x)), 0.5)}
}

func (l *RandomFlip) transform(x *ops.Tensor, d drawn) *ops.Tensor {
	axes, _ := imageAxes(x, l.DataFormat)
	flips := perImage(d["flips"], x)
	switch l.mode() {
	case "horizontal":
		return ops.Where(flips, ops.Flip(x, axes[1]), x)
	case "vertical":
		return ops.Where(flips, ops.Flip(x, axes[0]), x)
	}
	return ops.Where(flips, ops.Flip(x, axes[0], axes[1]), x)
}

func (l *RandomFlip) transformMasks(masks, _ *ops.Tensor, d drawn) *ops.Tensor {
	return l.transform(masks, d)
}

func (l *RandomFlip) moveBoxes(boxes, x *ops.Tensor, d drawn) *ops.Tensor {
	size, mode := sizeOfImages(x, l.DataFormat), l.mode()
	side := func(i int) *ops.Tensor { return ops.SliceAxis(boxes, -1, i, i+1) }
	left, top, right, bottom := side(0), side(1), side(2), side(3)
	if mode != "vertical" {
		left, right = ops.Subtract(ops.Scalar(right, size.Width), right), ops.Subtract(ops.Scalar(left, size.Width), left)
	}
	if mode != "horizontal" {
		top, bottom = ops.Subtract(ops.Scalar(bottom, size.Height), bottom), ops.Subtract(ops.Scalar(top, size.Height), top)
	}
	flips := ops.Reshape(d["flips"], d["flips"].Dim(0), 1, 1)
	return ops.Where(ops.BroadcastTo(flips, boxes.Shape()...), ops.Concatenate(-1, left, top, right, bottom), boxes)
}

func (l *RandomFlip) boxFormat() (boxes BoundingBoxFormat, images DataFormat) {
	return l.BoundingBoxFormat, l.DataFormat
}

func init() { Register[RandomFlip]() }
