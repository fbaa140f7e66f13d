package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
)

// RandomZoom enlarges or reduces, in training, each image around its centre. Otherwise y = x. The cell in column u and
// row v is sampled, relative to the centre, at column u·(1+w) and row v·(1+h), with h uniform in the range HeightFactor
// and w in WidthFactor: negative numbers zoom in, positive ones zoom out. Without a WidthFactor w = h, which keeps the
// proportions.
//
// Interpolation "bilinear" weights the four cells around that point, "nearest" takes the nearest one. Outside the
// image, FillMode says what is read: "reflect" (d c b a | a b c d | d c b a), "wrap" (a b c d | a b c d | a b c d),
// "nearest" (a a a a | a b c d | d d d d) or "constant", which is FillValue.
//
// Input shape: (batch, height, width, channels), or one image without the batch; with DataFormat ChannelsFirst the
// channels come before the height. Output shape: that of the input, in the compute type. A mask does not pass through.
type RandomZoom struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	HeightFactor      []float64         `keras:"height_factor,scalar"`              // range above -1 up to 1, or one number f for {-f, f}; required
	WidthFactor       []float64         `keras:"width_factor,null,scalar"`          // the same; nil takes the draw of HeightFactor
	FillMode          FillMode          `keras:"fill_mode,default=reflect"`         // see above; "" is "reflect"
	Interpolation     Interpolation     `keras:"interpolation,default=bilinear"`    // see above; "" is "bilinear"
	Seed              *int              `keras:"seed"`                              // different seeds draw different numbers
	FillValue         float64           `keras:"fill_value,null"`                   // of FillMode "constant"
	DataFormat        DataFormat        `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
	BoundingBoxFormat BoundingBoxFormat `keras:"bounding_box_format,omitempty"`     // of boxes that come with the images, see [LabelledImages]
}

// Forward computes the layer.
func (l *RandomZoom) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor { return augment(c, l, in) }

func (l *RandomZoom) sampling() sampling {
	return samplingOf(l.Interpolation, l.FillMode, l.FillValue)
}

func (l *RandomZoom) check(x *ops.Tensor) {
	imageAxes(x, l.DataFormat)
	l.sampling().check(x.Graph())
	low, _ := factorRange(x.Graph(), "HeightFactor", l.HeightFactor, -1, 1)
	if l.WidthFactor != nil {
		w, _ := factorRange(x.Graph(), "WidthFactor", l.WidthFactor, -1, 1)
		low = min(low, w)
	}
	if low == -1 {
		ops.Failf(x.Graph(), "HeightFactor and WidthFactor must be above -1, received %v and %v", l.HeightFactor, l.WidthFactor)
	}
}

// draw draws the factors of the coordinates.
func (l *RandomZoom) draw(c *Context, x *ops.Tensor) drawn {
	low, high := spread(l.HeightFactor, -1)
	height := uniform(c, l.Seed, 1+low, 1+high, imageCount(x), 1)
	width := height
	if l.WidthFactor != nil {
		low, high = spread(l.WidthFactor, -1)
		width = uniform(c, l.Seed, 1+low, 1+high, imageCount(x), 1)
	}
	return drawn{"height_zoom": height, "width_zoom": width}
}

func (l *RandomZoom) transform(x *ops.Tensor, d drawn) *ops.Tensor {
	return l.sampling().transform(x, l.DataFormat, func(x *ops.Tensor) affineMap { return l.cells(x, d) })
}

func (l *RandomZoom) transformMasks(masks, _ *ops.Tensor, d drawn) *ops.Tensor {
	return l.sampling().nearest().transform(masks, l.DataFormat, func(x *ops.Tensor) affineMap { return l.cells(x, d) })
}

func (l *RandomZoom) moveBoxes(boxes, x *ops.Tensor, d drawn) *ops.Tensor {
	images, _ := batchImages(x, l.DataFormat)
	return l.cells(images, d).boxes(boxes)
}

// cells says where the cells of images (batch, height, width, channels) are sampled.
//
//dim:known drawn in training, for the shapes of a step
func (l *RandomZoom) cells(x *ops.Tensor, d drawn) affineMap {
	height, width := ops.Ravel(d["height_zoom"]), ops.Ravel(d["width_zoom"])
	none := ops.ZerosLike(height)
	shift := func(zoom *ops.Tensor, length int) *ops.Tensor {
		return ops.MultiplyScalar(ops.Subtract(ops.OnesLike(zoom), zoom), float64(length-1)/2)
	}
	return affineMap{width, none, shift(width, x.Dim(2)), none, height, shift(height, x.Dim(1))}
}

func (l *RandomZoom) boxFormat() (boxes BoundingBoxFormat, images DataFormat) {
	return l.BoundingBoxFormat, l.DataFormat
}

func init() { Register[RandomZoom]() }
