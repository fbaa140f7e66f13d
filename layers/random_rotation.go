package layers

import (
	"math"

	"github.com/gokeras/gokeras/keras/ops"
)

// RandomRotation turns, in training, each image around its centre by an angle uniform in [Factor[0], Factor[1]) turns,
// positive ones counter-clockwise. Otherwise y = x. The cell in column u and row v is sampled, relative to the centre,
// at
//
//	u·cos θ - v·sin θ,   u·sin θ + v·cos θ
//
// Interpolation "bilinear" weights the four cells around that point, "nearest" takes the nearest one. Outside the
// image, FillMode says what is read: "reflect" (d c b a | a b c d | d c b a), "wrap" (a b c d | a b c d | a b c d),
// "nearest" (a a a a | a b c d | d d d d) or "constant", which is FillValue.
//
// Input shape: (batch, height, width, channels), or one image without the batch; with DataFormat ChannelsFirst the
// channels come before the height. Output shape: that of the input, in the compute type. A mask does not pass through.
type RandomRotation struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Factor            []float64         `keras:"factor"`                            // range in turns, from -1 to 1, or one number f for {-f, f}; required
	FillMode          FillMode          `keras:"fill_mode,default=reflect"`         // see above; "" is "reflect"
	Interpolation     Interpolation     `keras:"interpolation,default=bilinear"`    // see above; "" is "bilinear"
	Seed              *int              `keras:"seed"`                              // different seeds draw different numbers
	FillValue         float64           `keras:"fill_value,null"`                   // of FillMode "constant"
	DataFormat        DataFormat        `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
	BoundingBoxFormat BoundingBoxFormat `keras:"bounding_box_format,omitempty"`     // of boxes that come with the images, see [LabelledImages]
}

// Forward computes the layer.
func (l *RandomRotation) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	return augment(c, l, in)
}

func (l *RandomRotation) sampling() sampling {
	return samplingOf(l.Interpolation, l.FillMode, l.FillValue)
}

func (l *RandomRotation) check(x *ops.Tensor) {
	imageAxes(x, l.DataFormat)
	l.sampling().check(x.Graph())
	factorRange(x.Graph(), "Factor", l.Factor, -1, 1)
}

// draw draws angles in degrees.
func (l *RandomRotation) draw(c *Context, x *ops.Tensor) drawn {
	low, high := spread(l.Factor, -1)
	return drawn{"angle": uniform(c, l.Seed, low*360, high*360, imageCount(x))}
}

func (l *RandomRotation) transform(x *ops.Tensor, d drawn) *ops.Tensor {
	return l.sampling().transform(x, l.DataFormat, func(x *ops.Tensor) affineMap { return l.cells(x, d) })
}

func (l *RandomRotation) transformMasks(masks, _ *ops.Tensor, d drawn) *ops.Tensor {
	return l.sampling().nearest().transform(masks, l.DataFormat, func(x *ops.Tensor) affineMap { return l.cells(x, d) })
}

func (l *RandomRotation) moveBoxes(boxes, x *ops.Tensor, d drawn) *ops.Tensor {
	images, _ := batchImages(x, l.DataFormat)
	return l.cells(images, d).boxes(boxes)
}

// cells says where the cells of images (batch, height, width, channels) are sampled.
func (l *RandomRotation) cells(x *ops.Tensor, d drawn) affineMap {
	angle := ops.MultiplyScalar(d["angle"], math.Pi/180)
	cos, sin := ops.Cos(angle), ops.Sin(angle)
	return aroundCentre(x, cos, ops.Negative(sin), sin, cos)
}

// aroundCentre is the map with the given factors that leaves the centre of the images where it is.
//
//dim:known drawn in training, for the shapes of a step
func aroundCentre(x, a0, a1, b0, b1 *ops.Tensor) affineMap {
	cx, cy := float64(x.Dim(2)-1)/2, float64(x.Dim(1)-1)/2
	shift := func(centre float64, p, q *ops.Tensor) *ops.Tensor {
		s := ops.Subtract(ops.FullLike(p, centre), ops.MultiplyScalar(p, cx))
		return ops.Subtract(s, ops.MultiplyScalar(q, cy))
	}
	return affineMap{a0, a1, shift(cx, a0, a1), b0, b1, shift(cy, b0, b1)}
}

// AmendConfig writes a single number as the range that it stands for.
func (l *RandomRotation) AmendConfig(keys map[string]any) error {
	return amendFactor(keys, "factor", l.Factor, -1)
}

func (l *RandomRotation) boxFormat() (boxes BoundingBoxFormat, images DataFormat) {
	return l.BoundingBoxFormat, l.DataFormat
}

func init() { Register[RandomRotation]() }
