package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
)

// RandomColorJitter applies, in training, [RandomBrightness], [RandomContrast], [RandomSaturation] and [RandomHue] one
// after the other, each if its factor is given. Otherwise y = x.
//
// Input shape: (batch, height, width, channels), or one image without the batch; with DataFormat ChannelsFirst the
// channels come before the height. Output shape: that of the input, in the compute type. A mask does not pass through.
type RandomColorJitter struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	ValueRange        []float64         `keras:"value_range,default=[0,255]"`       // smallest and largest value of a channel; nil is {0, 255}
	BrightnessFactor  []float64         `keras:"brightness_factor,null,scalar"`     // of RandomBrightness; nil omits it
	ContrastFactor    []float64         `keras:"contrast_factor,null,scalar"`       // of RandomContrast; nil omits it
	SaturationFactor  []float64         `keras:"saturation_factor,null,scalar"`     // of RandomSaturation; nil omits it
	HueFactor         []float64         `keras:"hue_factor,null,scalar"`            // of RandomHue; nil omits it
	Seed              *int              `keras:"seed"`                              // different seeds draw different numbers
	DataFormat        DataFormat        `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
	BoundingBoxFormat BoundingBoxFormat `keras:"bounding_box_format,omitempty"`     // of boxes that come with the images, see [LabelledImages]
}

// Forward computes the layer.
func (l *RandomColorJitter) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	return augment(c, l, in)
}

// steps returns the layers to apply, with the names of their parts among the drawn numbers.
func (l *RandomColorJitter) steps() (steps []augmentation, names []string) {
	add := func(factor []float64, name string, step augmentation) {
		if factor != nil {
			steps, names = append(steps, step), append(names, name)
		}
	}
	add(l.BrightnessFactor, "brightness", &RandomBrightness{Factor: l.BrightnessFactor, ValueRange: l.ValueRange, Seed: l.Seed, DataFormat: l.DataFormat})
	add(l.ContrastFactor, "contrast", &RandomContrast{Factor: l.ContrastFactor, ValueRange: l.ValueRange, Seed: l.Seed, DataFormat: l.DataFormat})
	add(l.SaturationFactor, "saturation", &RandomSaturation{Factor: l.SaturationFactor, ValueRange: l.ValueRange, Seed: l.Seed, DataFormat: l.DataFormat})
	add(l.HueFactor, "hue", &RandomHue{Factor: l.HueFactor, ValueRange: l.ValueRange, Seed: l.Seed, DataFormat: l.DataFormat})
	return steps, names
}

func (l *RandomColorJitter) check(x *ops.Tensor) {
	imageAxes(x, l.DataFormat)
	steps, _ := l.steps()
	for _, step := range steps {
		step.check(x)
	}
}

func (l *RandomColorJitter) draw(c *Context, x *ops.Tensor) drawn {
	all := drawn{}
	steps, names := l.steps()
	for i, step := range steps {
		for key, v := range step.draw(c, x) {
			all[names[i]+"/"+key] = v
		}
	}
	return all
}

func (l *RandomColorJitter) transform(x *ops.Tensor, d drawn) *ops.Tensor {
	steps, names := l.steps()
	for i, step := range steps {
		x = step.transform(x, d.of(names[i]))
	}
	return x
}

func (l *RandomColorJitter) boxFormat() (boxes BoundingBoxFormat, images DataFormat) {
	return l.BoundingBoxFormat, l.DataFormat
}

func init() { Register[RandomColorJitter]() }
