// Package metrics measures a model while it is trained and evaluated: the metrics of Keras.
//
// A metric is a struct; its exported fields are its configuration and the zero value is Keras's default:
//
//	Metrics: []metrics.Metric{&metrics.SparseCategoricalAccuracy{}, &metrics.AUC{Curve: "PR"}}
//
// [Get] and [Resolve] also know the names of Keras ("accuracy", "mse", "mean_io_u", ...), and [Func] makes a metric
// from a function.
//
// # State
//
// A metric keeps sums over everything seen since it was last [Reset]. Each replica adds up its own part of a batch; the
// result is computed from the sums over all replicas, so it is what one replica would compute from all examples,
// however they were distributed. Sums are kept in float32, or in float64 in a float64 model.
//
// Mean-type metrics first reduce each example to one number, the mean over its steps, and weight it by the mean of its
// sample weights.
//
// Outside of a model, [UpdateState] and [ResultOf] update and read a metric.
package metrics
