package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
)

// RandomTranslation shifts, in training, each image by h·height down and w·width to the right, with h uniform in the
// range HeightFactor and w in WidthFactor. Otherwise y = x.
//
//	y[i, j] = x[i - h·height, j - w·width]
//
// Interpolation "bilinear" weights the four cells around that point, "nearest" takes the nearest one. Outside the
// image, FillMode says what is read: "reflect" (d c b a | a b c d | d c b a), "wrap" (a b c d | a b c d | a b c d),
// "nearest" (a a a a | a b c d | d d d d) or "constant", which is FillValue.
//
// Input shape: (batch, height, width, channels), or one image without the batch; with DataFormat ChannelsFirst the
// channels come before the height. Output shape: that of the input, in the compute type. A mask does not pass through.
type RandomTranslation struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	HeightFactor      []float64         `keras:"height_factor,scalar"`              // range from -1 to 1, or one number f for {-f, f}; required
	WidthFactor       []float64         `keras:"width_factor,scalar"`               // the same; required
	FillMode          FillMode          `keras:"fill_mode,default=reflect"`         // see above; "" is "reflect"
	Interpolation     Interpolation     `keras:"interpolation,default=bilinear"`    // see above; "" is "bilinear"
	Seed              *int              `keras:"seed"`                              // different seeds draw different numbers
	FillValue         float64           `keras:"fill_value,null"`                   // of FillMode "constant"
	DataFormat        DataFormat        `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
	BoundingBoxFormat BoundingBoxFormat `keras:"bounding_box_format,omitempty"`     // of boxes that come with the images, see [LabelledImages]
}

// Forward computes the layer.
func (l *RandomTranslation) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	return augment(c, l, in)
}

func (l *RandomTranslation) sampling() sampling {
	return samplingOf(l.Interpolation, l.FillMode, l.FillValue)
}

func (l *RandomTranslation) check(x *ops.Tensor) {
	imageAxes(x, l.DataFormat)
	l.sampling().check(x.Graph())
	factorRange(x.Graph(), "HeightFactor", l.HeightFactor, -1, 1)
	factorRange(x.Graph(), "WidthFactor", l.WidthFactor, -1, 1)
}

// draw draws shifts in cells: for each image to the right and down.
//
//dim:known drawn in training, for the shapes of a step
func (l *RandomTranslation) draw(c *Context, x *ops.Tensor) drawn {
	axes, _ := imageAxes(x, l.DataFormat)
	shift := func(factor []float64, axis int) *ops.Tensor {
		low, high := spread(factor, -1)
		return ops.MultiplyScalar(uniform(c, l.Seed, low, high, imageCount(x), 1), float64(x.Dim(axis)))
	}
	down := shift(l.HeightFactor, axes[0])
	return drawn{"translations": ops.Concatenate(1, shift(l.WidthFactor, axes[1]), down)}
}

func (l *RandomTranslation) transform(x *ops.Tensor, d drawn) *ops.Tensor {
	return l.sampling().transform(x, l.DataFormat, func(x *ops.Tensor) affineMap { return l.cells(x, d) })
}

func (l *RandomTranslation) transformMasks(masks, _ *ops.Tensor, d drawn) *ops.Tensor {
	return l.sampling().nearest().transform(masks, l.DataFormat, func(x *ops.Tensor) affineMap { return l.cells(x, d) })
}

func (l *RandomTranslation) moveBoxes(boxes, x *ops.Tensor, d drawn) *ops.Tensor {
	images, _ := batchImages(x, l.DataFormat)
	return l.cells(images, d).boxes(boxes)
}

// cells says where the cells of images (batch, height, width, channels) are sampled.
func (l *RandomTranslation) cells(x *ops.Tensor, d drawn) affineMap {
	right, down := ops.Index(d["translations"], 1, 0), ops.Index(d["translations"], 1, 1)
	none, unit := ops.ZerosLike(right), ops.OnesLike(right)
	return affineMap{unit, none, ops.Negative(right), none, unit, ops.Negative(down)}
}

func (l *RandomTranslation) boxFormat() (boxes BoundingBoxFormat, images DataFormat) {
	return l.BoundingBoxFormat, l.DataFormat
}

func init() { Register[RandomTranslation]() }
