// Package callbacks watches and steers training: early stopping, learning-rate changes, checkpoints, logs.
//
// A callback embeds [Base], which gives it every hook as a no-op, and overrides those it needs. A hook that returns an
// error ends Fit with that error; the weights are those of the last step. Hooks run on the goroutine of Fit. A callback
// resets its state in OnTrainBegin, so one value can be reused in several runs, one at a time.
//
// Zero values of fields are Keras's defaults, and the callbacks decide, print and write the same as Keras 3.15.1. Where
// Keras has a defect, the type's comment says what the callback does instead. Messages and warnings go to the Output of
// the run; a warning is printed once per run.
package callbacks
