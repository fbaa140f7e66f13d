// Package applications provides the models of keras.applications: well-known image networks with random weights, with
// weights from a file, or with the weights that were trained on ImageNet and published for Keras.
//
//	model, err := applications.NewResNet50(applications.Options{Weights: "imagenet"})
//	x, err := applications.ResNet.PreprocessInput(images) // (batch, 224, 224, 3), RGB, 0 to 255
//	scores, err := model.Predict(ctx, data.Arrays(x, nil))
//	named, err := applications.DecodePredictions(scores, applications.DecodeOptions{})
//
// Layers, their names, their order and their configuration equal Keras's, so weights and whole models can be exchanged
// in both directions.
//
// Nothing is downloaded unless requested: weights and class names are looked for in Keras's own cache, ~/.keras/models,
// and [Files] has an option to download missing files. Files with a published checksum are verified.
//
// As in Keras, a model with NoTop ends with its last feature map, or with its mean or maximum over all positions
// (Pooling), for a custom head:
//
//	base, err := applications.NewMobileNetV2(applications.MobileNetV2Options{Options: applications.Options{
//		Weights: "imagenet", NoTop: true, Pooling: "avg", InputShape: []int{160, 160, 3}}})
//	layers.SetTrainable(base, false)
//	image := keras.Input(keras.Shape(160, 160, 3))
//	x := layers.Apply(base, applications.MobileNetV2.PreprocessTensor(image))
//	model, err := keras.NewFunctional(keras.Inputs(image), keras.Outputs(layers.Apply(&layers.Dense{Units: 5}, x)))
//
// Differences from Keras: Weights is empty by default, like Keras's weights=None, so that nothing is downloaded
// unasked; an unknown Pooling is an error; and there are no warnings about unusual numbers of channels or weights made
// for another size. NASNet does not accept open sizes; Keras builds such a model, which fails when it runs.
//
// Files with whole ConvNeXt and InceptionResNetV2 models contain layers of this package. A program that reads them must
// import it, if only for its side effect.
package applications
