package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// RandomShear slants, in training, each image. Otherwise y = x. The cell in column u and row v is sampled at
//
//	u ± sx·v,   v ± sy·u
//
// with sx uniform in the range XFactor and sy in YFactor, and the same sign for both.
//
// Interpolation "bilinear" weights the four cells around that point, "nearest" takes the nearest one. Outside the
// image, FillMode says what is read: "reflect" (d c b a | a b c d | d c b a), "wrap" (a b c d | a b c d | a b c d),
// "nearest" (a a a a | a b c d | d d d d) or "constant", which is FillValue.
//
// Input shape: (batch, height, width, channels), or one image without the batch; with DataFormat ChannelsFirst the
// channels come before the height. Output shape: that of the input, in the compute type. A mask does not pass through.
type RandomShear struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	XFactor           []float64         `keras:"x_factor,scalar,default=0.0"`       // range from -1 to 1, or one number f for {-f, f}; nil is 0
	YFactor           []float64         `keras:"y_factor,scalar,default=0.0"`       // the same
	FillMode          FillMode          `keras:"fill_mode,default=reflect"`         // see above; "" is "reflect"
	Interpolation     Interpolation     `keras:"interpolation,default=bilinear"`    // see above; "" is "bilinear"
	FillValue         float64           `keras:"fill_value,null"`                   // of FillMode "constant"
	Seed              *int              `keras:"seed"`                              // different seeds draw different numbers
	DataFormat        DataFormat        `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
	BoundingBoxFormat BoundingBoxFormat `keras:"bounding_box_format,omitempty"`     // of boxes that come with the images, see [LabelledImages]
}

// Forward computes the layer.
func (l *RandomShear) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor { return augment(c, l, in) }

func (l *RandomShear) sampling() sampling {
	return samplingOf(l.Interpolation, l.FillMode, l.FillValue)
}

// factors returns the two fields, with 0 for nil.
func (l *RandomShear) factors() (x, y []float64) {
	x, y = l.XFactor, l.YFactor
	if x == nil {
		x = []float64{0}
	}
	if y == nil {
		y = []float64{0}
	}
	return x, y
}

func (l *RandomShear) check(x *ops.Tensor) {
	imageAxes(x, l.DataFormat)
	l.sampling().check(x.Graph())
	fx, fy := l.factors()
	factorRange(x.Graph(), "XFactor", fx, -1, 1)
	factorRange(x.Graph(), "YFactor", fy, -1, 1)
}

// draw draws sx and sy with their sign.
func (l *RandomShear) draw(c *Context, x *ops.Tensor) drawn {
	n := imageCount(x)
	fx, fy := l.factors()
	negative := ops.CompareScalar(ir.Gt, uniform(c, l.Seed, 0, 1, n, 1), 0.5)
	low, high := spread(fy, -1)
	y := uniform(c, l.Seed, low, high, n, 1)
	low, high = spread(fx, -1)
	both := ops.Concatenate(1, uniform(c, l.Seed, low, high, n, 1), y)
	return drawn{"shear_factor": ops.Where(negative, ops.Negative(both), both)}
}

func (l *RandomShear) transform(x *ops.Tensor, d drawn) *ops.Tensor {
	return l.sampling().transform(x, l.DataFormat, func(x *ops.Tensor) affineMap { return l.cells(x, d) })
}

func (l *RandomShear) transformMasks(masks, _ *ops.Tensor, d drawn) *ops.Tensor {
	return l.sampling().nearest().transform(masks, l.DataFormat, func(x *ops.Tensor) affineMap { return l.cells(x, d) })
}

func (l *RandomShear) moveBoxes(boxes, x *ops.Tensor, d drawn) *ops.Tensor {
	images, _ := batchImages(x, l.DataFormat)
	return l.cells(images, d).boxes(boxes)
}

// cells says where the cells of images (batch, height, width, channels) are sampled.
func (l *RandomShear) cells(x *ops.Tensor, d drawn) affineMap {
	sx, sy := ops.Index(d["shear_factor"], 1, 0), ops.Index(d["shear_factor"], 1, 1)
	none, unit := ops.ZerosLike(sx), ops.OnesLike(sx)
	return affineMap{unit, sx, none, sy, unit, none}
}

func (l *RandomShear) boxFormat() (boxes BoundingBoxFormat, images DataFormat) {
	return l.BoundingBoxFormat, l.DataFormat
}

func init() { Register[RandomShear]() }
