// Package randomtraining compares random losses, metrics, schedules of learning rates, optimizers, callbacks, training
// runs, sequences of calls on one model, and files with which training goes on, with Keras. It contains only tests: the
// scripts draw them and record Keras's results.
package randomtraining
