package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
)

// imageSampling reads the arguments that say how images are sampled between their cells and outside.
func (a *operands) imageSampling() ops.ImageSampling {
	s := ops.ImageSampling{FillValue: a.number("fill_value")}
	if _, has := a.values["interpolation"]; has {
		s.Interpolation = a.text("interpolation")
	}
	if _, has := a.values["fill_mode"]; has {
		s.FillMode = a.text("fill_mode")
	}
	return s
}

func init() {
	// Images may have the channels first.
	warp := func(f func(a *operands, x *ops.Tensor) *ops.Tensor) func(a *operands) []*ops.Tensor {
		return oneResult(func(a *operands) *ops.Tensor {
			first := isChannelsFirst(a.graph, DataFormat(a.text("data_format")))
			return channelsFromLast(f(a, channelsToLast(a.tensor("images"), first)), first)
		})
	}
	define("image", "AffineTransform", `affine_transform(images, transform, *interpolation="bilinear", *fill_mode="constant", *fill_value=0, *data_format=null)`, warp(func(a *operands, x *ops.Tensor) *ops.Tensor {
		return ops.AffineTransform(x, a.tensor("transform"), a.imageSampling())
	}))
	define("image", "PerspectiveTransform", `perspective_transform(images, start_points, end_points, *interpolation="bilinear", *fill_value=0, *data_format=null)`, warp(func(a *operands, x *ops.Tensor) *ops.Tensor {
		return ops.PerspectiveTransform(x, a.tensor("start_points"), a.tensor("end_points"), a.imageSampling())
	}))
	define("image", "ElasticTransform", `elastic_transform(images, *alpha=20.0, *sigma=5.0, *interpolation="bilinear", *fill_mode="reflect", *fill_value=0.0, *seed=null, *data_format=null)`, warp(func(a *operands, x *ops.Tensor) *ops.Tensor {
		seed := uint64(0)
		if _, whole := a.values["seed"].(int64); whole {
			seed = uint64(a.integer("seed"))
		}
		return ops.ElasticTransform(x, a.number("alpha"), a.number("sigma"), seed, a.imageSampling())
	}))
	define("image", "MapCoordinates", `map_coordinates(inputs, coordinates, *order, *fill_mode="constant", *fill_value=0)`, oneResult(func(a *operands) *ops.Tensor {
		a.refuse("order", int64(0), int64(1))
		s := a.imageSampling()
		if s.Interpolation = "bilinear"; a.integer("order") == 0 {
			s.Interpolation = "nearest"
		}
		return ops.MapCoordinates(a.tensor("inputs"), a.tensor("coordinates"), s)
	}))
	define("image", "ScaleAndTranslate", "scale_and_translate(images, output_shape, scale, translation, *spatial_dims, *method, *antialias=true)", oneResult(func(a *operands) *ops.Tensor {
		shape := a.openShape("output_shape")
		x := a.tensor("images")
		for i, n := range shape {
			a.bounded("a length of output_shape", n, maxParts)
			if n == Unknown && i < x.Rank() {
				shape[i] = x.Dim(i)
			}
		}
		return ops.ScaleAndTranslate(x, shape, a.tensor("scale"), a.tensor("translation"), a.integers("spatial_dims"), a.text("method"), a.boolean("antialias"))
	}))
	define("image", "SSIM", "ssim(image1, image2, *max_val=1.0, *filter_size=11, *filter_sigma=1.5, *k1=0.01, *k2=0.03, *data_format=null)", oneResult(func(a *operands) *ops.Tensor {
		first := isChannelsFirst(a.graph, DataFormat(a.text("data_format")))
		a.bounded("filter_size", a.integer("filter_size"), maxParts)
		o := ops.SSIMOptions{MaxVal: a.number("max_val"), FilterSize: a.integer("filter_size"), FilterSigma: a.number("filter_sigma"), K1: a.number("k1"), K2: a.number("k2")}
		return ops.SSIM(channelsToLast(a.tensor("image1"), first), channelsToLast(a.tensor("image2"), first), o)
	}))
}
