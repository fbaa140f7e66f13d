package ops

import (
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// planes cuts the three channels of images along an axis.
func planes(what string, x *Tensor, axis int) [3]*Tensor {
	if x.Rank() < 3 || !x.DType().IsFloat() || !dim.MayEqual(x.Dim(axis), 3) {
		Failf(x.g, "%s: needs images of floats with 3 channels along axis %d, received %v %v", what, axis, x.DType(), x.Shape())
	}
	return [3]*Tensor{Index(x, axis, 0), Index(x, axis, 1), Index(x, axis, 2)}
}

// RGBToHSV converts red, green and blue from 0 to 1 along an axis of images to hue, saturation and value from 0 to 1.
// Value is the largest of the three, and saturation is d divided by it, where d is the largest minus the smallest. Hue
// is (g-b)/6d, (b-r)/6d + 1/3 or (r-g)/6d + 2/3 if red, green or blue is the largest (in this order if they are equal),
// plus 1 where that is negative. Gray has hue 0. Like Keras, it treats colours below the type's ε as 0.
func RGBToHSV(x *Tensor, axis int) *Tensor {
	c := planes("rgb to hsv", x, axis)
	zero := ZerosLike(c[0])
	for i := range c {
		c[i] = Where(CompareScalar(ir.Lt, Abs(c[i]), epsilonOf(x.DType())), zero, c[i])
	}
	r, g, b := c[0], c[1], c[2]
	value := Maximum(Maximum(r, g), b)
	distance := Subtract(value, Minimum(Minimum(r, g), b))
	gray, one := CompareScalar(ir.Le, distance, 0), OnesLike(value)
	bright := CompareScalar(ir.Gt, value, 0)
	saturation := Where(bright, Divide(distance, Where(bright, value, one)), zero)
	norm := Divide(one, MultiplyScalar(Where(gray, one, distance), 6))
	hue := Where(Equal(value, g), AddScalar(Multiply(norm, Subtract(b, r)), 2./6), AddScalar(Multiply(norm, Subtract(r, g)), 4./6))
	hue = Where(Equal(value, r), Multiply(norm, Subtract(g, b)), hue)
	hue = Add(Where(gray, zero, hue), Cast(CompareScalar(ir.Lt, hue, 0), hue.DType()))
	return Stack(x.Axis(axis), hue, saturation, value)
}

// HSVToRGB is the inverse of [RGBToHSV]; hues count modulo 1.
func HSVToRGB(x *Tensor, axis int) *Tensor {
	c := planes("hsv to rgb", x, axis)
	saturation, value := c[1], c[2]
	at := MultiplyScalar(Subtract(c[0], Floor(c[0])), 6)
	away := func(centre float64) *Tensor { return Abs(AddScalar(at, -centre)) }
	ramp := func(d *Tensor) *Tensor { return Clip(d, 0, 1) }
	colour := func(d *Tensor) *Tensor {
		return Multiply(value, Add(AddScalar(Negative(saturation), 1), Multiply(saturation, d)))
	}
	return Stack(x.Axis(axis), colour(ramp(AddScalar(away(3), -1))), colour(ramp(AddScalar(Negative(away(2)), 2))), colour(ramp(AddScalar(Negative(away(4)), 2))))
}
