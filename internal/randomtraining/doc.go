// Package randomtraining compares random losses, metrics, schedules of learning rates, optimizers, callbacks, training
// runs, runs with weights and masks on devices that change in between, training steps of one's own, sequences of calls
// on one model, on recurrent networks and on models over the same layers, models whose inputs, outputs, losses and data
// are lists, dicts and nests, files with which training goes on or which nearly equal models read, training in float64
// to ten digits, and what prepares data, with Keras. It contains only tests: the scripts draw them and record Keras's
// results.
package randomtraining
