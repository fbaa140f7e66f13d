package layers

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// AugMix replaces, in training, images x by a mean of themselves and of the results of several chains of steps.
// Otherwise y = x.
//
//	y = cut(m·x + (1 - m)·Σ w[i]·chain[i](x))
//
// with the sum over NumChains chains, w drawn from the symmetric Dirichlet distribution with parameter Alpha, and m
// from the beta distribution with both parameters Alpha. w and m are the same for all images of a batch. cut clips
// numbers to ValueRange. A chain consists of ChainDepth successive steps. Each is drawn with equal probability from
// doing nothing, [RandomShear], [RandomTranslation], [RandomRotation], [RandomPosterization], [Solarization],
// [AutoContrast], [Equalization] and, unless NoColorOps is set, [RandomBrightness], [RandomColorDegeneration],
// [RandomContrast] and [RandomSharpness]. All images of a batch get the same steps, but each with its own random
// numbers. Steps are drawn again for each training step, and only those drawn are computed; Keras draws them when it
// traces the function that calls the layer.
//
// Factor [low, high] is the factor of all steps that take one; posterization keeps up to max(1, floor(8·high)) bits.
//
// Input shape: (batch, height, width, channels), or one image without the batch; with DataFormat ChannelsFirst the
// channels come before the height. There are 1 or 3 channels, with NoColorOps any number. Output shape: that of the
// input, in the compute type. A mask does not pass through.
//
// Source: Hendrycks et al., "AugMix: A Simple Data Processing Method to Improve Robustness and Uncertainty", ICLR 2020;
// behaviour of keras.layers.AugMix.
type AugMix struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	ValueRange        []float64         `keras:"value_range,default=[0,255]"`       // smallest and largest value of a channel; nil is {0, 255}
	NumChains         int               `keras:"num_chains,default=3"`              // 0 is 3
	ChainDepth        int               `keras:"chain_depth,default=3"`             // steps of a chain; 0 is 3
	Factor            []float64         `keras:"factor"`                            // strength from 0 to 1, or one number f for {0, f}; nil is {0, 0.3}
	Alpha             *float64          `keras:"alpha,default=1.0"`                 // see above, positive; nil is 1
	NoColorOps        bool              `keras:"all_ops,not"`                       // without the last four of the steps above
	Interpolation     Interpolation     `keras:"interpolation,default=bilinear"`    // "bilinear" or "nearest", between cells; "" is "bilinear"
	Seed              *int              `keras:"seed"`                              // different seeds draw different numbers
	DataFormat        DataFormat        `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
	BoundingBoxFormat BoundingBoxFormat `keras:"bounding_box_format,omitempty"`     // of boxes that come with the images, see [LabelledImages]
}

// Forward computes the layer.
func (l *AugMix) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	t := labelledInputs(l, in)
	x := ops.Cast(t.Images, c.ComputeDType())
	t.Images = x
	t.castBoxes()
	l.check(x)
	if !c.Training {
		return t.tensors()
	}
	d := l.draw(c, x)
	if t.Masks == nil {
		// The numbers of a step are drawn where it is computed, because most of the possible steps are not computed.
		t.Images = l.mixChains(x, d, func(_, _ int, s augmentationStep, x *ops.Tensor) drawn { return s.draw(c, x) })
		return t.tensors()
	}
	l.drawSteps(c, x, d) // images and masks take the same
	t.Images = l.transform(x, d)
	t.Masks = l.mixMasks(ops.Cast(t.Masks, mixedType(t.Masks.DType())), x, d)
	return t.tensors()
}

// drawSteps draws the numbers of every possible step, under the names that transform expects.
func (l *AugMix) drawSteps(c *Context, x *ops.Tensor, d drawn) {
	chains, depth := l.sizes()
	for i := range chains {
		for k := range depth {
			for _, s := range l.steps() {
				for key, v := range s.draw(c, x) {
					d[fmt.Sprintf("%d/%d/%s/%s", i, k, s.name, key)] = v
				}
			}
		}
	}
}

// mixMasks returns the mean of masks, which have a float type, as transform does for images: the steps of the chains
// move them.
func (l *AugMix) mixMasks(masks, x *ops.Tensor, d drawn) *ops.Tensor {
	return l.meanOfChains(masks, d, func(i, k int, s augmentationStep, before *ops.Tensor) *ops.Tensor {
		return s.masks(before, x, d.of(fmt.Sprintf("%d/%d/%s", i, k, s.name)))
	})
}

func (l *AugMix) factor() []float64 {
	if l.Factor == nil {
		return []float64{0.3}
	}
	return l.Factor
}

// sizes returns the number of chains and their depth.
func (l *AugMix) sizes() (chains, depth int) {
	chains, depth = l.NumChains, l.ChainDepth
	if chains == 0 {
		chains = 3
	}
	if depth == 0 {
		depth = 3
	}
	return chains, depth
}

// steps lists the steps to choose from, besides doing nothing, in Keras's order.
func (l *AugMix) steps() []augmentationStep {
	low, high := spread(l.factor(), 0)
	o := stepOptions{low, high, l.ValueRange, l.Interpolation, l.Seed, l.DataFormat}
	steps := slices.Concat(o.geometricSteps(), o.valueSteps())
	if !l.NoColorOps {
		steps = append(steps, o.colourSteps()...)
	}
	return steps
}

func (l *AugMix) check(x *ops.Tensor) {
	imageAxes(x, l.DataFormat)
	factorRange(x.Graph(), "Factor", l.factor(), 0, 1)
	if a := number(l.Alpha, 1); !(a > 0 && a <= 1e6) {
		ops.Failf(x.Graph(), "Alpha must be above 0 and at most 1e6, received %v", a)
	}
	if chains, depth := l.sizes(); chains < 1 || depth < 1 || chains > maxSteps || depth > maxSteps/chains {
		ops.Failf(x.Graph(), "NumChains and ChainDepth must be at least 1 and their product at most %d, received %d and %d", maxSteps, chains, depth)
	}
	for _, s := range l.steps() {
		s.check(x)
	}
}

// draw draws the weights and which steps are applied; the last number stands for none.
func (l *AugMix) draw(c *Context, _ *ops.Tensor) drawn {
	chains, depth := l.sizes()
	alpha := uniform(c, l.Seed, number(l.Alpha, 1), number(l.Alpha, 1))
	return drawn{
		"chain_mixing_weights": ops.RandomDirichlet(alpha, seedOf(l.Seed), chains),
		"weight_sample":        ops.RandomBeta(alpha, alpha, seedOf(l.Seed)),
		"layer_idxes":          ops.RandomInt(c, ir.Int32, 0, len(l.steps())+1, seedOf(l.Seed), chains, depth),
	}
}

// transform takes the numbers of the steps from the given ones. The names of those of step k of chain i begin with
// "i/k/" and the step's name.
func (l *AugMix) transform(x *ops.Tensor, d drawn) *ops.Tensor {
	return l.mixChains(x, d, func(i, k int, s augmentationStep, _ *ops.Tensor) drawn {
		return d.of(fmt.Sprintf("%d/%d/%s", i, k, s.name))
	})
}

// mixChains computes the layer. numbers returns the numbers of a step, given its chain and its index in the chain.
func (l *AugMix) mixChains(x *ops.Tensor, d drawn, numbers func(chain, place int, s augmentationStep, x *ops.Tensor) drawn) *ops.Tensor {
	low, high := valueRange(x.Graph(), l.ValueRange)
	y := l.meanOfChains(x, d, func(i, k int, s augmentationStep, before *ops.Tensor) *ops.Tensor {
		return ops.Cast(s.transform(before, numbers(i, k, s, before)), before.DType())
	})
	return ops.Clip(y, low, high)
}

// meanOfChains returns the weighted mean of x and of the results of the chains, where apply computes a step.
func (l *AugMix) meanOfChains(x *ops.Tensor, d drawn, apply func(chain, place int, s augmentationStep, before *ops.Tensor) *ops.Tensor) *ops.Tensor {
	chains, depth := l.sizes()
	steps := l.steps()
	weights, share := ops.Cast(d["chain_mixing_weights"], x.DType()), ops.Cast(d["weight_sample"], x.DType())
	var sum *ops.Tensor
	for i := range chains {
		y := x
		for k := range depth {
			before := y
			index := ops.Index(ops.Index(d["layer_idxes"], 0, i), 0, k)
			y = amongSteps(index, len(steps)+1, func(choice int) *ops.Tensor {
				if choice == len(steps) {
					return before
				}
				return apply(i, k, steps[choice], before)
			})
		}
		y = ops.Multiply(y, ops.Index(weights, 0, i))
		if i > 0 {
			y = ops.Add(sum, y)
		}
		sum = y
	}
	return ops.Add(ops.Multiply(share, x), ops.Multiply(ops.Subtract(ops.Scalar(share, 1), share), sum))
}

// AmendConfig writes a single number as the range that it stands for.
func (l *AugMix) AmendConfig(keys map[string]any) error {
	return amendFactor(keys, "factor", l.factor(), 0)
}

func (l *AugMix) boxFormat() (boxes BoundingBoxFormat, images DataFormat) {
	return l.BoundingBoxFormat, l.DataFormat
}

func init() { Register[AugMix]() }
