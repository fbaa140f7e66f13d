package applications

import (
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/activations"
)

// ImageNet is the value of Options.Weights for the weights that were trained on ImageNet.
const ImageNet = "imagenet"

// Options are the options that all models have. The zero value is Keras's default, but with random weights.
type Options struct {
	// NoTop omits the classifier at the end (Keras's include_top=False).
	NoTop bool

	// Weights is "" for random weights, ImageNet for those published with Keras, or the path of a file: .weights.h5,
	// .keras, or .h5 of Keras 2. The file must have been saved from a model with the same options.
	Weights string

	// Files says where to find ImageNet's weights, and whether they may be downloaded.
	Files Files

	// InputTensor is used as the input instead of a new one. The model then begins at the inputs that it is computed
	// from.
	InputTensor *layers.KerasTensor

	// InputShape is the shape of one image, (height, width, channels); with ChannelsFirst (channels, height, width). An
	// axis of length layers.Unknown is open. The default has 3 channels and the size that the model was created for, or
	// open sizes with NoTop.
	InputShape []int

	// Pooling says, with NoTop, how the last feature map is pooled: "avg" and "max" take its mean or maximum over all
	// positions, which gives (batch, channels); "" leaves it unchanged.
	Pooling string

	// Classes is the number of classes of the top; 0 is 1000.
	Classes int

	// ClassifierActivation is the activation at the end of the top, as a name or function; nil is "softmax". Keras's
	// None is "linear": scores before the softmax.
	ClassifierActivation any

	// Name names the model; the default is Keras's, such as "resnet50".
	Name string

	// DataFormat is layers.ChannelsLast or layers.ChannelsFirst; "" is ChannelsLast. In Keras it is a global setting.
	DataFormat layers.DataFormat
}

func (o *Options) classes() int {
	if o.Classes == 0 {
		return 1000
	}
	return o.Classes
}

func (o *Options) activation() any {
	if o.ClassifierActivation == nil {
		return "softmax"
	}
	return o.ClassifierActivation
}

func (o *Options) first() bool { return o.DataFormat == layers.ChannelsFirst }

// check refuses options that no model accepts.
func (o *Options) check() error {
	switch o.Pooling {
	case "", "avg", "max":
	default:
		return fmt.Errorf("Pooling must be \"\", \"avg\" or \"max\", received %q", o.Pooling)
	}
	switch o.DataFormat {
	case "", layers.ChannelsLast, layers.ChannelsFirst:
	default:
		return fmt.Errorf("DataFormat must be %q or %q, received %q", layers.ChannelsFirst, layers.ChannelsLast, o.DataFormat)
	}
	if o.Classes < 0 {
		return fmt.Errorf("Classes must be positive, received %d", o.Classes)
	}
	if o.Weights != "" && o.Weights != ImageNet {
		if _, err := os.Stat(o.Weights); err != nil {
			return fmt.Errorf("Weights must be \"\" (random initialization), %q (pre-training on ImageNet), or the path of the weights file to be loaded; received %q: %w", ImageNet, o.Weights, pathCause(err))
		}
	}
	if o.Weights == ImageNet && !o.NoTop && o.classes() != 1000 {
		return fmt.Errorf("with Weights %q and the top included, Classes must be 1000, received %d; leave the top out with NoTop", ImageNet, o.classes())
	}
	return nil
}

// pathCause removes the path from an error that repeats it.
func pathCause(err error) error {
	if e, ok := err.(*fs.PathError); ok {
		return e.Err
	}
	return err
}

// checkActivation refuses activations that do not fit a trained classifier. Without trained weights all are accepted.
func (o *Options) checkActivation() error {
	if o.Weights == "" {
		return nil
	}
	f, err := activations.Get(o.activation())
	if err != nil {
		return fmt.Errorf("ClassifierActivation: %w", err)
	}
	if name, _ := activations.Name(f); name != "softmax" && name != "linear" {
		return fmt.Errorf("with trained weights and the top included, ClassifierActivation must be \"softmax\" or \"linear\", received %v", o.ClassifierActivation)
	}
	return nil
}

// sizes are the default and minimum size of a model's input.
type sizes struct{ byDefault, least int }

// inputShape determines the shape of one image, like Keras's obtain_input_shape.
func (o *Options) inputShape(s sizes) ([]int, error) {
	channels := 2
	if o.first() {
		channels = 0
	}
	image := func(size, depth int) []int {
		shape := []int{size, size, size}
		shape[channels] = depth
		return shape
	}
	given := o.InputShape
	if given == nil {
		if o.NoTop {
			return image(layers.Unknown, 3), nil
		}
		return image(s.byDefault, 3), nil
	}
	if o.Weights == ImageNet && !o.NoTop {
		if shape := image(s.byDefault, 3); !slices.Equal(given, shape) {
			return nil, fmt.Errorf("with Weights %q and the top included, InputShape must be %v, received %v", ImageNet, shape, given)
		}
	}
	if len(given) != 3 {
		return nil, fmt.Errorf("InputShape must have three lengths, (height, width, channels), received %v", given)
	}
	if o.Weights == ImageNet && given[channels] != 3 {
		return nil, fmt.Errorf("with Weights %q the input must have 3 channels, received InputShape %v", ImageNet, given)
	}
	for i, n := range given {
		switch {
		case i != channels && n != layers.Unknown && n < s.least:
			return nil, fmt.Errorf("the input must be at least %dx%d, received InputShape %v", s.least, s.least, given)
		case n == layers.Unknown && !o.NoTop:
			return nil, fmt.Errorf("with the top included, InputShape must not have open axes, received %v", given)
		}
	}
	return slices.Clone(given), nil
}
