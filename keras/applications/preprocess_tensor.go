package applications

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// PreprocessTensor prepares images inside a Functional model, as [PreprocessInput] does for arrays: the operations are
// part of the model and of its file, as Keras writes them. The images have a float type and the shape (batch, height,
// width, 3), or with ChannelsFirst (batch, 3, height, width). Mistakes are reported when a model is made from the
// result.
func PreprocessTensor(images *layers.KerasTensor, o PreprocessOptions) *layers.KerasTensor {
	if err := images.Err(); err != nil {
		return layers.Failed(err)
	}
	channels, err := channelAxis([]int(images.Shape()), &o)
	if err == nil && len(images.Shape()) != 4 {
		err = fmt.Errorf("symbolic images must have four axes, received %v", images)
	}
	if err == nil && o.Mode != AsIs && !images.DType().IsFloat() {
		err = fmt.Errorf("symbolic images must be of a float type, received %v; apply layers.Op(\"cast\", images, \"float32\") first", images)
	}
	if err != nil {
		return layers.Failed(fmt.Errorf("applications: PreprocessTensor: %w", err))
	}
	return prepareTensor(images, channels, o.Mode)
}

func prepareTensor(x *layers.KerasTensor, channels int, mode Mode) *layers.KerasTensor {
	first := channels == 1
	whole, perImage := ir.Shape{1, 1, 1, 3}, ir.Shape{3}
	if first {
		whole, perImage = ir.Shape{1, 3, 1, 1}, ir.Shape{3, 1, 1}
	}
	constant := func(shape ir.Shape, factor float64, values [3]float64) any {
		scaled := make([]float64, 3)
		for i, v := range values {
			scaled[i] = factor * v
		}
		a, err := kernels.FromFloat64s(x.DType(), shape, scaled)
		if err != nil {
			return err // no operation accepts this argument, so the error is reported
		}
		return a
	}
	switch mode {
	case TF:
		return layers.Op("subtract", layers.Op("true_divide", x, 127.5), 1.0)
	case Torch:
		x = layers.Op("true_divide", x, 255.0)
		x = layers.Op("add", x, constant(whole, -1, imageNetMean))
		return layers.Op("true_divide", x, constant(perImage, 1, imageNetDeviation))
	case Caffe:
		parts := make([]*layers.KerasTensor, 3)
		for i := range parts {
			key := []any{layers.Ellipsis, 2 - i}
			if first {
				key = []any{layers.Slice{}, 2 - i, layers.Slice{}}
			}
			parts[i] = layers.Op("get_item", x, key)
		}
		axis := -1
		if first {
			axis = 1
		}
		return layers.Op("add", layers.Op("stack", parts, axis), constant(whole, -1, imageNetBytes))
	}
	return x
}
