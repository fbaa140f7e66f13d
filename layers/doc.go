// Package layers holds the building blocks of models, under the names and with the defaults of keras.layers.
//
// A layer is a struct: exported fields are its configuration (the zero value of a field is Keras's default), unexported
// ones its state. Fields are read when the layer is first used and must not change afterwards. Calling a layer inside a
// trace builds its variables, if that has not been done, and adds its operations to the program:
//
//	y := layers.Invoke(dense, c, x)
//
// Outside a trace, [Apply] records the call of a layer on symbolic tensors, for a Functional model.
//
// # Writing a layer
//
// Embed [Base], and implement Forward (and Build, if it has weights):
//
//	type Scale struct {
//		layers.Base
//		Name string
//		gain *distribute.Variable
//	}
//
//	func (l *Scale) Build(b *layers.Builder, in []ir.Shape) {
//		l.gain = b.AddWeight("gain", ir.Shape{in[0][len(in[0])-1]}, layers.WeightOptions{Initializer: "ones"})
//	}
//
//	func (l *Scale) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
//		return []*ops.Tensor{ops.Multiply(in[0], c.Weight(l.gain))}
//	}
//
//	func init() { layers.Register[Scale]() }
//
// Layers held in exported fields (also in slices and maps) are found and tracked; pass those created in Build to
// [Builder.Adopt]. Register the type so that files containing it can be read. Configuration fields need tags; see
// docs/custom_layers.md.
//
// # Text and images
//
// Programs have no strings. Layers that take words ([StringLookup], [TextVectorization], [Hashing], [HashedCrossing])
// work on the host: each is a [HostLayer], with Transform instead of Forward. It must come right after the inputs of a
// model or of a nested model, which runs it on every batch before its program.
//
// The layers of image augmentation ([RandomFlip], [RandomRotation], ...) are part of the program. They change images
// only in training, with new random numbers in each step, for each image, on each replica. [MixUp] and [CutMix] take
// labels, and masks of objects in the images, as further inputs, and change them accordingly.
package layers
