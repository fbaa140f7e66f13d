// Package keras holds models and their training: Sequential, Functional and subclassed models with Compile, Fit,
// Evaluate and Predict, with the behaviour of Keras.
//
//	model, err := keras.NewSequential([]layers.Layer{
//		&layers.Dense{Units: 64, Activation: "relu"},
//		&layers.Dense{Units: 10},
//	})
//	err = model.Compile(keras.CompileConfig{
//		Optimizer: "adam",
//		Loss:      &losses.SparseCategoricalCrossentropy{FromLogits: true},
//		Metrics:   []string{"accuracy"},
//	})
//	history, err := model.Fit(ctx, data.Arrays(x, y), keras.Epochs(5))
//
// A step (forward, loss, gradients, update, metrics) is one program, traced once for each shape of the batch and
// replayed on every replica of the model's strategy. A model may define its own step: see [Step].
//
// Nothing is printed unless asked for with [Verbose]; every mistake is an error that names the layer.
package keras
