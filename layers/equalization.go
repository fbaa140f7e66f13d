package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// Equalization changes, in training, the values of each channel so that their histogram becomes flat. Otherwise y = x.
//
//	y = round(255·(cdf(x) - cdf_min) / (N - cdf_min))
//
// where cdf counts the cells whose value lies in the bin of x or a lower one, among all N cells of the channel in the
// whole batch, and cdf_min is the count of the lowest non-empty bin. Images are converted from ValueRange to 0 ... 255
// and back. A channel with a single non-empty bin stays as it is.
//
// Input shape: (batch, height, width, channels), or one image without the batch; with DataFormat ChannelsFirst the
// channels come before the height. Output shape: that of the input, in the compute type. A mask does not pass through.
type Equalization struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	ValueRange        []float64         `keras:"value_range,default=[0,255]"`       // smallest and largest value of a channel; nil is {0, 255}
	Bins              int               `keras:"bins,default=256"`                  // of the histogram; 0 is 256
	DataFormat        DataFormat        `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
	BoundingBoxFormat BoundingBoxFormat `keras:"bounding_box_format,omitempty"`     // of boxes that come with the images, see [LabelledImages]
}

// Forward computes the layer.
func (l *Equalization) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor { return augment(c, l, in) }

func (l *Equalization) check(x *ops.Tensor) {
	imageAxes(x, l.DataFormat)
	valueRange(x.Graph(), l.ValueRange)
	if l.Bins < 0 || l.Bins == 1 || l.Bins > 1<<20 {
		ops.Failf(x.Graph(), "Bins must be from 2 to %d, received %d", 1<<20, l.Bins)
	}
}

func (l *Equalization) draw(*Context, *ops.Tensor) drawn { return nil }

func (l *Equalization) transform(x *ops.Tensor, _ drawn) *ops.Tensor {
	low, high := valueRange(x.Graph(), l.ValueRange)
	x, restore := batchImages(x, l.DataFormat)
	bins := l.Bins
	if bins == 0 {
		bins = 256
	}
	if x.Shape().Size() == 0 {
		return restore(x)
	}
	y := atLeastFloat32(rescale(x, low, high, 0, 255))
	channels := y.Dim(-1)
	scaled := ops.Clip(ops.DivideScalar(ops.MultiplyScalar(y, float64(bins-1)), 255), 0, float64(bins-1))
	place := ops.Add(ops.Cast(scaled, ir.Int32), ops.MultiplyScalar(ops.Iota(y, ir.Int32, 0, channels), float64(bins)))
	flat := ops.Ravel(place)
	counts := ops.Reshape(ops.SegmentSum(ops.OnesLike(flat), flat, dim.Mul(channels, bins)), channels, bins)
	cdf := ops.Cast(ops.Cumsum(counts, 1), y.DType())
	total := ops.SliceAxis(cdf, 1, bins-1, bins)
	lowest := ops.ExpandDims(ops.Min(ops.Where(ops.CompareScalar(ir.Gt, cdf, 0), cdf, total), 1), 1)
	rest := ops.Subtract(total, lowest)
	table := ops.Divide(ops.MultiplyScalar(ops.Subtract(cdf, lowest), 255), ops.MaximumScalar(rest, 1))
	table = ops.Clip(ops.Round(table), 0, 255)
	equal := ops.Reshape(ops.Take(ops.Ravel(table), flat, 0), y.Shape()...)
	single := ops.Reshape(ops.CompareScalar(ir.Eq, rest, 0), 1, 1, 1, channels)
	return restore(ops.Cast(rescale(ops.Where(single, y, equal), 0, 255, low, high), x.DType()))
}

func (l *Equalization) boxFormat() (boxes BoundingBoxFormat, images DataFormat) {
	return l.BoundingBoxFormat, l.DataFormat
}

func init() { Register[Equalization]() }
