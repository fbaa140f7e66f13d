// Package optimizers updates weights from gradients: the optimizers of Keras.
//
// An optimizer is a struct; its exported fields are its configuration and the zero value is Keras's default:
//
//	&optimizers.Adam{LearningRate: 1e-3}
//	&optimizers.SGD{LearningRate: 0.1, Momentum: 0.9, Options: optimizers.Options{ClipNorm: new(1.0)}}
//
// [Get] also knows the names of Keras ("adam", "rmsprop", ...). A custom optimizer embeds [Base] and implements [Rule].
//
// # One step
//
// Apply does the following, in Keras's order and in the same trace as the gradients:
//
//  1. skip weights without a gradient,
//  2. sum the gradients of all replicas, in buckets, the last layers' first,
//  3. divide by LossScaleFactor,
//  4. accumulate (GradientAccumulationSteps n: points 5 to 7 run only in every n-th step, with the mean of n gradients),
//  5. clip, 6. decay weights, 7. update weights and slots by the optimizer's rule,
//  8. update the moving averages, and overwrite the weights with them if requested,
//  9. apply constraints, 10. count the iteration.
//
// Every replica computes the same update of its own copy of the weights, so all copies stay equal.
package optimizers
