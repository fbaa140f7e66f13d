// Package randomtraining compares random losses, metrics, schedules of learning rates, optimizers, callbacks, training
// runs, training steps of one's own, sequences of calls on one model, files with which training goes on, and what
// prepares data, with Keras. It contains only tests: the scripts draw them and record Keras's results.
package randomtraining
