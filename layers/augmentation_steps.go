package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// augmentationStep is one of the things that [RandAugment] and [AugMix] choose from, under Keras's name.
type augmentationStep struct {
	name string
	stepOfImages
}

// stepOfImages is the part of augmentation that a step needs.
type stepOfImages interface {
	check(x *ops.Tensor)
	draw(c *Context, x *ops.Tensor) drawn
	transform(x *ops.Tensor, d drawn) *ops.Tensor
}

// masks changes segmentation masks of images x, if the step does so.
func (s augmentationStep) masks(masks, x *ops.Tensor, d drawn) *ops.Tensor {
	if changer, ok := s.stepOfImages.(maskChanger); ok {
		return ops.Cast(changer.transformMasks(masks, x, d), masks.DType())
	}
	return masks
}

// contrastStep is AutoContrast as a step. It draws no numbers.
type contrastStep struct{ AutoContrast }

func (s *contrastStep) check(x *ops.Tensor)                          { needSize(x, 1, 1) }
func (s *contrastStep) draw(*Context, *ops.Tensor) drawn             { return nil }
func (s *contrastStep) transform(x *ops.Tensor, _ drawn) *ops.Tensor { return s.stretch(x) }

// stepOptions holds what all steps have in common.
type stepOptions struct {
	low, high     float64 // strength, from 0 to 1
	valueRange    []float64
	interpolation Interpolation
	seed          *int
	dataFormat    DataFormat
}

// geometricSteps move the cells of images.
//
//go:noinline
func (o stepOptions) geometricSteps() []augmentationStep {
	f := []float64{o.low, o.high}
	return []augmentationStep{
		{"random_shear", &RandomShear{XFactor: f, YFactor: f, Interpolation: o.interpolation, Seed: o.seed, DataFormat: o.dataFormat}},
		{"random_translation", &RandomTranslation{HeightFactor: f, WidthFactor: f, Interpolation: o.interpolation, Seed: o.seed, DataFormat: o.dataFormat}},
		{"random_rotation", &RandomRotation{Factor: f, Interpolation: o.interpolation, Seed: o.seed, DataFormat: o.dataFormat}},
	}
}

// colourSteps change brightness, colour, contrast and sharpness.
func (o stepOptions) colourSteps() []augmentationStep {
	f := []float64{o.low, o.high}
	return []augmentationStep{
		{"random_brightness", &RandomBrightness{Factor: f, ValueRange: o.valueRange, Seed: o.seed, DataFormat: o.dataFormat}},
		{"random_color_degeneration", &RandomColorDegeneration{Factor: f, ValueRange: o.valueRange, Seed: o.seed, DataFormat: o.dataFormat}},
		{"random_contrast", &RandomContrast{Factor: f, ValueRange: o.valueRange, Seed: o.seed, DataFormat: o.dataFormat}},
		{"random_sharpness", &RandomSharpness{Factor: f, ValueRange: o.valueRange, Seed: o.seed, DataFormat: o.dataFormat}},
	}
}

// valueSteps change the values of cells according to their histogram and their bits.
func (o stepOptions) valueSteps() []augmentationStep {
	f, bits := []float64{o.low, o.high}, max(1, int(8*o.high))
	return []augmentationStep{
		{"random_posterization", &RandomPosterization{Factor: []int{bits}, ValueRange: o.valueRange, Seed: o.seed, DataFormat: o.dataFormat}},
		{"solarization", &Solarization{AdditionFactor: f, ThresholdFactor: f, ValueRange: o.valueRange, Seed: o.seed, DataFormat: o.dataFormat}},
		{"auto_contrast", &contrastStep{AutoContrast{ValueRange: o.valueRange, DataFormat: o.dataFormat}}},
		{"equalization", &Equalization{ValueRange: o.valueRange, DataFormat: o.dataFormat}},
	}
}

// amongSteps computes apply(k) for the value k in [0, n) that index has when the program runs, and nothing for other
// values.
func amongSteps(index *ops.Tensor, n int, apply func(k int) *ops.Tensor) *ops.Tensor {
	var half func(from, to int) *ops.Tensor
	half = func(from, to int) *ops.Tensor {
		if to-from == 1 {
			return apply(from)
		}
		middle := (from + to) / 2
		side := func(from, to int) func() []*ops.Tensor {
			return func() []*ops.Tensor { return []*ops.Tensor{half(from, to)} }
		}
		return ops.Cond(ops.CompareScalar(ir.Lt, index, float64(middle)), side(from, middle), side(middle, to))[0]
	}
	return half(0, n)
}
