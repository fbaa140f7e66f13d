// Package estimator is TensorFlow's Estimator: a model as a function of features, labels and mode, with training,
// evaluation and prediction around it, checkpoints in a folder, and canned models.
//
//	regressor, err := estimator.NewLinearRegressor(estimator.LinearRegressor{
//		FeatureColumns: []estimator.FeatureColumn{estimator.NumericColumn{Key: "feats"}},
//		Optimizer:      "SGD",
//		Config:         estimator.RunConfig{TrainDistribute: strategy, EvalDistribute: strategy},
//	})
//	err = regressor.Train(ctx, inputFn, estimator.Steps(10))
//	results, err := regressor.Evaluate(ctx, inputFn, estimator.Steps(10))
//
// # How it works
//
// Each call of Train, Evaluate or Predict is a separate session. The [ModelFn] is traced under the strategy of the
// call, once for each shape of the batches. The variables that the trace uses are restored from the latest checkpoint
// in the model's folder, or get their initial values. The traced step is then replayed for each batch. Only the folder
// is kept between calls, so training can resume even in another process and under another strategy.
//
// # Words
//
//   - input function: makes the data set of a session. Its batches are those of one replica: with a batch size of 10 and two replicas
//     a step takes two batches, 20 examples.
//   - global step: the number of training steps so far, over all sessions.
//   - hook: code that is called around the steps of a session; see [SessionRunHook].
//
// # The loss under several replicas
//
// The loss of a ModelFn is that of one replica's batch, usually a mean. [Context.Minimize] divides it by the number of
// replicas before gradients are summed, as TensorFlow's Estimator does, so that N batches of b examples count as one of
// N·b. A training step takes place only when every replica has a batch; the remainder at the end of the data is
// dropped. Evaluation uses all batches.
//
// # Several processes
//
// Under distribute/multiworker all workers make the same calls of Train and Evaluate. The chief reads and writes the
// checkpoints, and sends the values to the others, so ModelDir need not be a shared folder. Each worker's input
// function yields that worker's examples, according to InputContext. Training ends when any worker has no more data.
//
// # What differs from TensorFlow
//
// Models that are created inside the ModelFn must be kept across traces with [Once]; checkpoints are safetensors files
// beside TensorFlow's text file "checkpoint"; Predict yields examples one by one with all keys; an export is a folder
// with a checkpoint, not a SavedModel; TF_CONFIG is read only if [RunConfig].Cluster asks for it.
package estimator
