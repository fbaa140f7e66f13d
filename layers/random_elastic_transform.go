package layers

import (
	"math"

	"github.com/gokeras/gokeras/keras/ops"
)

// RandomElasticTransform distorts, in training, images as if they were drawn on rubber, with a probability that is
// itself uniform in [Factor[0], Factor[1]). Otherwise y = x. The cell in column u and row v is sampled at
//
//	u + α·dx[v, u],   v + α·dy[v, u],   α = 0.1·f·max(height, width)
//
// with f uniform in [Scale[0], Scale[1]), drawn once for the batch. dx and dy are drawn for each image: normal noise
// times σ, which is then blurred. The blur sums over the neighbours up to floor(3σ) cells away on either axis, with
// weights exp(-k²/2σ²) for distance k, divided by their sum over all these neighbours; beyond the border there are
// zeros. σ = 0.05·f·min(height, width). Results of all images are clipped to ValueRange.
//
// Interpolation "bilinear" weights the four cells around that point, "nearest" takes the nearest one. Outside the
// image, FillMode says what is read: "reflect" (d c b a | a b c d | d c b a), "mirror" (d c b | a b c d | c b a),
// "wrap" (a b c d | a b c d | a b c d), "nearest" (a a a a | a b c d | d d d d) or "constant", which is FillValue.
// Factors given as a single number f stand for {0, f}.
//
// Input shape: (batch, height, width, channels), or one image without the batch; with DataFormat ChannelsFirst the
// channels come before the height. Output shape: that of the input, in the compute type. A mask does not pass through.
//
// Source: Simard, Steinkraus and Platt, "Best Practices for Convolutional Neural Networks Applied to Visual Document
// Analysis", ICDAR 2003; formulas of keras.layers.RandomElasticTransform, but there dx equals dy, so images move only
// along one diagonal.
type RandomElasticTransform struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Factor            []float64         `keras:"factor"`                            // see above, from 0 to 1; nil is {0, 1}
	Scale             []float64         `keras:"scale"`                             // see above, from 0 to 1; nil is {0, 1}
	Interpolation     Interpolation     `keras:"interpolation,default=bilinear"`    // see above; "" is "bilinear"
	FillMode          FillMode          `keras:"fill_mode,default=reflect"`         // see above; "" is "reflect"
	FillValue         float64           `keras:"fill_value,null"`                   // of FillMode "constant"
	ValueRange        []float64         `keras:"value_range,default=[0,255]"`       // smallest and largest value of a channel; nil is {0, 255}
	Seed              *int              `keras:"seed"`                              // different seeds draw different numbers
	DataFormat        DataFormat        `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
	BoundingBoxFormat BoundingBoxFormat `keras:"bounding_box_format,omitempty"`     // of boxes that come with the images, see [LabelledImages]
}

// Forward computes the layer.
func (l *RandomElasticTransform) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	return augment(c, l, in)
}

func (l *RandomElasticTransform) sampling() sampling {
	return samplingOf(l.Interpolation, l.FillMode, l.FillValue)
}

func (l *RandomElasticTransform) check(x *ops.Tensor) {
	imageAxes(x, l.DataFormat)
	if l.FillMode == "mirror" {
		samplingOf(l.Interpolation, "", 0).check(x.Graph())
	} else {
		l.sampling().check(x.Graph())
	}
	factorRange(x.Graph(), "Factor", orOne(l.Factor), 0, 1)
	factorRange(x.Graph(), "Scale", orOne(l.Scale), 0, 1)
	valueRange(x.Graph(), l.ValueRange)
}

// draw draws which images are changed, f, and the noise.
func (l *RandomElasticTransform) draw(c *Context, x *ops.Tensor) drawn {
	axes, _ := imageAxes(x, l.DataFormat)
	apply := drawChoice(c, x, l.Seed, orOne(l.Factor))
	low, high := spread(orOne(l.Scale), 0)
	factor := uniform(c, l.Seed, low, high)
	noise := func() *ops.Tensor {
		return ops.RandomNormal(c, factor.DType(), 0, 1, seedOf(l.Seed), imageCount(x), x.Dim(axes[0]), x.Dim(axes[1]))
	}
	return drawn{"apply_transform": apply, "distortion_factor": factor, "dx": noise(), "dy": noise()}
}

func (l *RandomElasticTransform) transform(x *ops.Tensor, d drawn) *ops.Tensor {
	if l.still() {
		return x
	}
	low, high := valueRange(x.Graph(), l.ValueRange)
	return ops.Clip(l.bend(x, d, l.sampling()), low, high)
}

func (l *RandomElasticTransform) transformMasks(masks, _ *ops.Tensor, d drawn) *ops.Tensor {
	if l.still() {
		return masks
	}
	return l.bend(masks, d, l.sampling().nearest())
}

func (l *RandomElasticTransform) moveBoxes(boxes, _ *ops.Tensor, _ drawn) *ops.Tensor {
	ops.Failf(boxes.Graph(), "the boxes of distorted objects cannot be computed, so boxes are not accepted in training; omit them, or use masks")
	return nil
}

// still reports whether no image is ever changed.
func (l *RandomElasticTransform) still() bool {
	_, probability := spread(orOne(l.Factor), 0)
	_, scale := spread(orOne(l.Scale), 0)
	return probability == 0 || scale == 0
}

//dim:known drawn in training, for the shapes of a step
func (l *RandomElasticTransform) bend(x *ops.Tensor, d drawn, s sampling) *ops.Tensor {
	images, restore := batchImages(x, l.DataFormat)
	height, width, factor := images.Dim(1), images.Dim(2), d["distortion_factor"]
	alpha := ops.MultiplyScalar(factor, 0.1*float64(max(height, width)))
	sigma := ops.MultiplyScalar(factor, 0.05*float64(min(height, width)))
	down, across := blurMatrix(sigma, height), blurMatrix(sigma, width)
	move := func(noise *ops.Tensor) *ops.Tensor {
		blurred := ops.Matmul(down, ops.Matmul(ops.Multiply(noise, sigma), across))
		return ops.Multiply(blurred, alpha)
	}
	columns := ops.Add(move(d["dx"]), ops.Iota(x, factor.DType(), 2, 1, 1, width))
	rows := ops.Add(move(d["dy"]), ops.Iota(x, factor.DType(), 1, 1, height, 1))
	return ops.Where(perImage(d["apply_transform"], x), restore(s.read(images, rows, columns)), x)
}

// blurMatrix is the matrix (length, length) that blurs along an axis: entry (i, j) is the weight of neighbour j for
// cell i, which depends only on i - j. As products, the sums over neighbours take two steps for an image, however many
// neighbours there are.
//
//dim:known drawn in training, for the shapes of a step
func blurMatrix(sigma *ops.Tensor, length int) *ops.Tensor {
	sigma = ops.Maximum(sigma, ops.Scalar(sigma, 1e-6)) // of a standard deviation 0, which blurs nothing
	reach := ops.Floor(ops.MultiplyScalar(sigma, 3))
	weight := func(distance *ops.Tensor) *ops.Tensor {
		w := ops.Exp(ops.MultiplyScalar(ops.Square(ops.Divide(distance, sigma)), -0.5))
		return ops.Where(ops.LessEqual(ops.Abs(distance), reach), w, ops.ZerosLike(w))
	}
	wide := sigma.DType()
	far := int(math.Ceil(0.15*float64(length))) + 1 // 3σ is at most 0.15 of the shorter axis
	all := ops.SubtractScalar(ops.Iota(sigma, wide, 0, 2*far+1), float64(far))
	distance := ops.Subtract(ops.Iota(sigma, wide, 0, length, 1), ops.Iota(sigma, wide, 1, 1, length))
	return ops.Divide(weight(distance), ops.Sum(weight(all)))
}

// AmendConfig writes single numbers as the ranges that they stand for.
func (l *RandomElasticTransform) AmendConfig(keys map[string]any) error {
	if err := amendFactor(keys, "scale", orOne(l.Scale), 0); err != nil {
		return err
	}
	return amendFactor(keys, "factor", orOne(l.Factor), 0)
}

func (l *RandomElasticTransform) boxFormat() (boxes BoundingBoxFormat, images DataFormat) {
	return l.BoundingBoxFormat, l.DataFormat
}

func init() { Register[RandomElasticTransform]() }
