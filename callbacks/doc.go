// Package callbacks watches and steers training: early stopping, learning-rate changes, checkpoints, logs.
//
// A callback embeds [Base], which gives it every hook as a no-op, and overrides those it needs. A hook that returns an error
// ends Fit with that error; weights stay as the last step left them. Hooks run on the goroutine of Fit. A callback resets its
// state in OnTrainBegin, so one value can be used in several runs, one at a time.
package callbacks
