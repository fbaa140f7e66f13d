package layers

import (
	"github.com/gokeras/gokeras/internal/ints"
	"github.com/gokeras/gokeras/keras/ops"
)

// RandomErasing fills, in training, a rectangle of each image, with a probability that is itself uniform in [Factor[0],
// Factor[1]). Otherwise y = x. The rectangle is √a times as high and √b times as wide as the image, with a and b
// uniform in [Scale[0], Scale[1]), at a uniformly random position.
//
// It is filled with FillValue, or with normal noise times ValueRange[1]; both are clipped to ValueRange. A factor given
// as a single number f stands for {0, f}, as in Keras.
//
// Input shape: (batch, height, width, channels), or one image without the batch; with DataFormat ChannelsFirst the
// channels come before the height. Output shape: that of the input, in the compute type. A mask does not pass through.
type RandomErasing struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Factor            []float64         `keras:"factor"`                            // see above, from 0 to 1; nil is {0, 1}
	Scale             []float64         `keras:"scale,default=[0.02,0.33]"`         // see above, from 0 to 1; nil is {0.02, 0.33}
	FillValue         []float64         `keras:"fill_value,null,scalar"`            // one number, or one for each of three channels (last axis); nil is noise
	ValueRange        []float64         `keras:"value_range,default=[0,255]"`       // smallest and largest value of a channel; nil is {0, 255}
	Seed              *int              `keras:"seed"`                              // different seeds draw different numbers
	DataFormat        DataFormat        `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
	BoundingBoxFormat BoundingBoxFormat `keras:"bounding_box_format,omitempty"`     // of boxes that come with the images, see [LabelledImages]
}

// Forward computes the layer.
func (l *RandomErasing) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor { return augment(c, l, in) }

func (l *RandomErasing) factor() []float64 { return orOne(l.Factor) }

func (l *RandomErasing) scale() []float64 {
	if l.Scale == nil {
		return []float64{0.02, 0.33}
	}
	return l.Scale
}

func (l *RandomErasing) check(x *ops.Tensor) {
	imageAxes(x, l.DataFormat)
	factorRange(x.Graph(), "Factor", l.factor(), 0, 1)
	factorRange(x.Graph(), "Scale", l.scale(), 0, 1)
	valueRange(x.Graph(), l.ValueRange)
	if n := len(l.FillValue); n > 1 && (n != 3 || x.Dim(-1) != 3) {
		ops.Failf(x.Graph(), "FillValue must have one number, or one for each of three channels on the last axis of %v, received %v", x.Shape(), l.FillValue)
	}
}

func (l *RandomErasing) draw(c *Context, x *ops.Tensor) drawn {
	axes, _ := imageAxes(x, l.DataFormat)
	low, high := spread(l.scale(), 0)
	share := ops.Sqrt(uniform(c, l.Seed, low, high, imageCount(x), 2))
	inside := ops.LogicalAnd(drawSpan(c, x, l.Seed, ops.Index(share, 1, 0), axes[1]), drawSpan(c, x, l.Seed, ops.Index(share, 1, 1), axes[0]))
	apply := drawChoice(c, x, l.Seed, l.factor())
	least, most := valueRange(x.Graph(), l.ValueRange)
	var fill *ops.Tensor
	switch len(l.FillValue) {
	case 0:
		noise := ops.RandomNormal(c, x.DType(), 0, 1, seedOf(l.Seed), x.Shape()...)
		fill = ops.MultiplyScalar(noise, most)
	case 1:
		fill = ops.FullLike(x, l.FillValue[0])
	default:
		fill = ops.BroadcastTo(ops.Constant(x, x.DType(), []int{3}, l.FillValue), x.Shape()...)
	}
	return drawn{"batch_masks": ops.BroadcastTo(inside, x.Shape()...), "apply_erasing": apply, "fill_value": ops.Clip(fill, least, most)}
}

// drawSpan draws a piece of an axis, of the given fraction of its length for each image, and says which cells lie in
// it.
//
//dim:known drawn in training, for the shapes of a step
func drawSpan(c *Context, x *ops.Tensor, seed *int, share *ops.Tensor, axis int) *ops.Tensor {
	length := float64(x.Dim(axis))
	size := ops.MultiplyScalar(share, length)
	room := ops.Subtract(ops.Scalar(size, length), size)
	start := ops.Multiply(uniform(c, seed, 0, 1, imageCount(x)), room)
	shape := ints.Repeat(1, x.Rank())
	shape[axis] = x.Dim(axis)
	at := ops.Iota(x, start.DType(), axis, shape...)
	first, last := perImageLike(start, x), perImageLike(ops.Add(start, size), x)
	return ops.LogicalAnd(ops.GreaterEqual(at, first), ops.Less(at, last))
}

// perImageLike is perImage, but keeps the type of v.
func perImageLike(v, x *ops.Tensor) *ops.Tensor {
	shape := []int{imageCount(x), 1, 1, 1}
	return ops.Reshape(v, shape[4-x.Rank():]...)
}

func (l *RandomErasing) transform(x *ops.Tensor, d drawn) *ops.Tensor {
	where := ops.LogicalAnd(d["batch_masks"], perImage(d["apply_erasing"], x))
	return ops.Where(where, ops.Cast(d["fill_value"], x.DType()), x)
}

// AmendConfig writes single numbers as the ranges that they stand for.
func (l *RandomErasing) AmendConfig(keys map[string]any) error {
	if err := amendFactor(keys, "scale", l.scale(), 0); err != nil {
		return err
	}
	return amendFactor(keys, "factor", l.factor(), 0)
}

func (l *RandomErasing) boxFormat() (boxes BoundingBoxFormat, images DataFormat) {
	return l.BoundingBoxFormat, l.DataFormat
}

func init() { Register[RandomErasing]() }
