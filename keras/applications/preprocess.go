package applications

import (
	"fmt"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/layers"
)

// Statistics of ImageNet's pixels, for R, G and B.
var (
	imageNetMean      = [3]float64{0.485, 0.456, 0.406} // of values from 0 to 1
	imageNetDeviation = [3]float64{0.229, 0.224, 0.225}
	imageNetBytes     = [3]float64{103.939, 116.779, 123.68} // means for B, G and R of values from 0 to 255
)

// Mode says how pixels are prepared for a network.
type Mode string

// Modes of [PreprocessInput], for pixels x from 0 to 255 in the order R, G, B.
const (
	Caffe Mode = "caffe" // in the order B, G, R, minus ImageNet's mean of the channel: 103.939, 116.779, 123.68; not scaled
	TF    Mode = "tf"    // x/127.5 - 1, from -1 to 1
	Torch Mode = "torch" // (x/255 - mean) / deviation with the mean 0.485, 0.456, 0.406 and the deviation 0.229, 0.224, 0.225
	AsIs  Mode = "as_is" // unchanged: layers of the network do it
)

// Family is a module of keras.applications: networks whose inputs are prepared in the same way.
type Family struct {
	name string
	mode Mode
}

// The families of networks, named like Keras's modules.
var (
	ConvNeXt          = Family{"convnext", AsIs}
	DenseNet          = Family{"densenet", Torch}
	EfficientNet      = Family{"efficientnet", AsIs}
	EfficientNetV2    = Family{"efficientnet_v2", AsIs}
	InceptionResNetV2 = Family{"inception_resnet_v2", TF}
	InceptionV3       = Family{"inception_v3", TF}
	MobileNet         = Family{"mobilenet", TF}
	MobileNetV2       = Family{"mobilenet_v2", TF}
	MobileNetV3       = Family{"mobilenet_v3", AsIs}
	NASNet            = Family{"nasnet", TF}
	ResNet            = Family{"resnet", Caffe}
	ResNetV2          = Family{"resnet_v2", TF}
	VGG16             = Family{"vgg16", Caffe}
	VGG19             = Family{"vgg19", Caffe}
	Xception          = Family{"xception", TF}
)

// String returns the name of Keras's module: "resnet_v2".
func (f Family) String() string { return f.name }

// Mode returns how pixels are prepared.
func (f Family) Mode() Mode { return f.mode }

// PreprocessInput prepares images with channels last for the networks of the family; see the function
// [PreprocessInput].
func (f Family) PreprocessInput(images data.Array) (data.Array, error) {
	return PreprocessInput(images, PreprocessOptions{Mode: f.mode})
}

// PreprocessTensor is PreprocessInput as part of a model; see the function [PreprocessTensor].
func (f Family) PreprocessTensor(images *layers.KerasTensor) *layers.KerasTensor {
	return PreprocessTensor(images, PreprocessOptions{Mode: f.mode})
}

// PreprocessOptions are the options of [PreprocessInput].
type PreprocessOptions struct {
	Mode       Mode              // "" is Caffe
	DataFormat layers.DataFormat // layers.ChannelsLast or layers.ChannelsFirst; "" is ChannelsLast
}

// PreprocessInput prepares images, with values from 0 to 255 in the order R, G, B, as in the training of a network. The
// images have the shape (batch, height, width, 3) or (height, width, 3), or with ChannelsFirst (batch, 3, height,
// width) or (3, height, width). The modes TF and AsIs accept any number of channels.
//
// The result is a new array, of float64 if the images are, otherwise of float32. It is
// keras.applications.imagenet_utils.preprocess_input, except that Keras overwrites its argument.
func PreprocessInput(images data.Array, o PreprocessOptions) (data.Array, error) {
	if err := images.Check(); err != nil {
		return data.Array{}, fmt.Errorf("applications: PreprocessInput: %w", err)
	}
	channels, err := channelAxis(images.Shape(), &o)
	if err != nil {
		return data.Array{}, fmt.Errorf("applications: PreprocessInput: %w", err)
	}
	switch values := images.Elements().(type) {
	case []float64:
		return data.ArrayOf(prepare[float64](values, images.Shape(), channels, o.Mode), images.Shape()...)
	case []float32:
		return data.ArrayOf(prepare[float32](values, images.Shape(), channels, o.Mode), images.Shape()...)
	case []uint8:
		return data.ArrayOf(prepare[float32](values, images.Shape(), channels, o.Mode), images.Shape()...)
	case []int32:
		return data.ArrayOf(prepare[float32](values, images.Shape(), channels, o.Mode), images.Shape()...)
	case []int64:
		return data.ArrayOf(prepare[float32](values, images.Shape(), channels, o.Mode), images.Shape()...)
	}
	return data.Array{}, fmt.Errorf("applications: PreprocessInput: images of %v cannot be prepared; expected float32, float64, uint8, int, int32 or int64", images.DType())
}

// channelAxis checks shape and options and returns the axis of the channels.
func channelAxis(shape []int, o *PreprocessOptions) (int, error) {
	if o.Mode == "" {
		o.Mode = Caffe
	}
	switch o.Mode {
	case Caffe, TF, Torch, AsIs:
	default:
		return 0, fmt.Errorf("Mode must be %q, %q, %q or %q, received %q", Caffe, TF, Torch, AsIs, o.Mode)
	}
	if len(shape) != 3 && len(shape) != 4 {
		return 0, fmt.Errorf("images must have three axes, or four with the batch, received the shape %v", layers.ShapeString(shape))
	}
	axis := len(shape) - 1
	switch o.DataFormat {
	case "", layers.ChannelsLast:
	case layers.ChannelsFirst:
		axis -= 2
	default:
		return 0, fmt.Errorf("DataFormat must be %q or %q, received %q", layers.ChannelsFirst, layers.ChannelsLast, o.DataFormat)
	}
	if (o.Mode == Caffe || o.Mode == Torch) && shape[axis] != 3 {
		return 0, fmt.Errorf("mode %q is for 3 channels, received %d in the shape %v", o.Mode, shape[axis], layers.ShapeString(shape))
	}
	return axis, nil
}

type pixel interface {
	uint8 | int32 | int64 | float32 | float64
}

// prepare computes in the type of the result, step by step like NumPy, so that the numbers equal Keras's to the last
// bit.
func prepare[F float32 | float64, P pixel](in []P, shape []int, axis int, mode Mode) []F {
	out := make([]F, len(in))
	inner := 1 // distance between channels
	for _, n := range shape[axis+1:] {
		inner *= n
	}
	count := shape[axis]
	for i, p := range in {
		x := F(p)
		switch mode {
		case TF:
			x = F(x/127.5) - 1
		case Torch:
			c := i / inner % count
			x = F(F(x/255)-F(imageNetMean[c])) / F(imageNetDeviation[c])
		case Caffe:
			c := i / inner % count
			out[i+(count-1-2*c)*inner] = x - F(imageNetBytes[count-1-c])
			continue
		}
		out[i] = x
	}
	return out
}
