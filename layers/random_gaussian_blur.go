package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
)

// RandomGaussianBlur smooths, in training, each image with a probability that is itself uniform in [Factor[0],
// Factor[1]). Otherwise y = x.
//
//	y = clip(Σ w(i)·w(j)·x[.. + j, .. + i], ValueRange)     w(i) ~ exp(-½·(i/σ)²), with sum 1
//
// over KernelSize[0] columns and KernelSize[1] rows around a cell, with zeros around the image. The σ of columns and
// the σ of rows are uniform in [Sigma[0], Sigma[1]) and drawn once for all images of a batch. Factor and Sigma given as
// one number f stand for {0, f}, as in Keras.
//
// Input shape: (batch, height, width, channels), or one image without the batch; with DataFormat ChannelsFirst the
// channels come before the height. Output shape: that of the input, in the compute type. A mask does not pass through.
type RandomGaussianBlur struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Factor            []float64         `keras:"factor"`                            // see above, from 0 to 1; nil is {0, 1}
	KernelSize        []int             `keras:"kernel_size,length=2,default=3"`    // columns and rows, odd; one number is both; nil is 3
	Sigma             []float64         `keras:"sigma"`                             // see above, in cells; nil is {0, 1}
	ValueRange        []float64         `keras:"value_range,default=[0,255]"`       // smallest and largest value of a channel; nil is {0, 255}
	Seed              *int              `keras:"seed"`                              // different seeds draw different numbers
	DataFormat        DataFormat        `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
	BoundingBoxFormat BoundingBoxFormat `keras:"bounding_box_format,omitempty"`     // of boxes that come with the images, see [LabelledImages]
}

// Forward computes the layer.
func (l *RandomGaussianBlur) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	return augment(c, l, in)
}

func (l *RandomGaussianBlur) factor() []float64 { return orOne(l.Factor) }
func (l *RandomGaussianBlur) sigma() []float64  { return orOne(l.Sigma) }

func (l *RandomGaussianBlur) check(x *ops.Tensor) {
	imageAxes(x, l.DataFormat)
	factorRange(x.Graph(), "Factor", l.factor(), 0, 1)
	factorRange(x.Graph(), "Sigma", l.sigma(), 0, 1e6)
	valueRange(x.Graph(), l.ValueRange)
	for _, n := range tuple(x.Graph(), "KernelSize", l.KernelSize, 2, 3, 1) {
		if n%2 == 0 {
			ops.Failf(x.Graph(), "KernelSize must be odd, received %v", l.KernelSize)
		}
	}
}

func (l *RandomGaussianBlur) draw(c *Context, x *ops.Tensor) drawn {
	low, high := spread(l.sigma(), 0)
	apply := drawChoice(c, x, l.Seed, l.factor())
	return drawn{"should_apply_blur": apply, "blur_factor": ops.AddScalar(uniform(c, l.Seed, low, high, 2), 1e-6)}
}

func (l *RandomGaussianBlur) transform(x *ops.Tensor, d drawn) *ops.Tensor {
	axes, _ := imageAxes(x, l.DataFormat)
	low, high := valueRange(x.Graph(), l.ValueRange)
	size := tuple(x.Graph(), "KernelSize", l.KernelSize, 2, 3, 1)
	ops.CheckTable(x, "KernelSize", size...)
	y := x
	for i, axis := range []int{axes[1], axes[0]} {
		places := make([]float64, size[i])
		for j := range places {
			places[j] = float64(j) - float64(size[i]-1)/2
		}
		sigma := ops.Index(d["blur_factor"], 0, i)
		at := ops.Divide(ops.Constant(x, sigma.DType(), []int{size[i]}, places), sigma)
		weights := ops.Exp(ops.MultiplyScalar(ops.Square(at), -0.5))
		y = blurAxis(y, axis, ops.Cast(ops.Divide(weights, ops.Sum(weights)), x.DType()))
	}
	return ops.Clip(ops.Where(perImage(d["should_apply_blur"], x), y, x), low, high)
}

// AmendConfig writes single numbers as the ranges that they stand for.
func (l *RandomGaussianBlur) AmendConfig(keys map[string]any) error {
	if err := amendFactor(keys, "sigma", l.sigma(), 0); err != nil {
		return err
	}
	return amendFactor(keys, "factor", l.factor(), 0)
}

func (l *RandomGaussianBlur) boxFormat() (boxes BoundingBoxFormat, images DataFormat) {
	return l.BoundingBoxFormat, l.DataFormat
}

func init() { Register[RandomGaussianBlur]() }
