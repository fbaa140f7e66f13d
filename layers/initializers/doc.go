// Package initializers draws the initial values of weights, under the names and with the defaults of
// keras.initializers.
//
// An initializer is a small struct; its fields are its configuration and the zero value of a field is Keras's default.
// Layers take a value, or its name as a string:
//
//	&layers.Dense{Units: 64, KernelInitializer: &initializers.HeNormal{}}
//	&layers.Dense{Units: 64, KernelInitializer: "he_normal"}
//
// # Seeds
//
// An initializer with a Seed gives the same values on every call, as in Keras. Without one it uses the seed it is
// called with, which the framework derives from the model's seed and the path of the weight: two weights differ even if
// they share the initializer. (In Keras a shared initializer without a seed gives equal values on every call.)
//
// # Fans
//
// The scaled initializers depend on how many inputs and outputs a unit of the weight has. For a shape (..., in, out)
// fan_in = in·r and fan_out = out·r, where r is the product of the other axes (the receptive field of a convolution).
// For a vector of length n both are n. InputAxes and OutputAxes, given together, name the axes to multiply instead.
package initializers
