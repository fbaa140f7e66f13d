// Package losses measures how far predictions are from labels: the losses of Keras.
//
// A loss is a struct; its exported fields are its configuration and the zero value is Keras's default:
//
//	Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}
//
// [Get] also knows the names of Keras ("mse", "categorical_crossentropy", ...), and [Func] makes a loss from a
// function.
//
// # From values to a scalar
//
// PerExample gives one value for each example, or for each step of an example: (batch, ...). [Compute] weights and
// reduces them. It returns one replica's part: the sum over the replicas is what a single replica would compute for the
// joined batch, whatever the sizes of the local batches. An empty local batch gives 0. Its gradients, summed over the
// replicas as optimizers do, are those of the joined batch. (tf.distribute weights replicas equally instead, so an
// example in a smaller local batch counts for more.)
//
// Labels and predictions must agree in shape, up to a trailing axis of length 1; unlike in Keras, labels are not
// silently broadcast. Losses are computed in float32, or in float64 for float64 predictions.
package losses
