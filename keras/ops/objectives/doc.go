// Package objectives holds the formulas that losses and metrics share, as Keras's functions of the same names: each
// maps labels and predictions to one value for each example (or for each step of an example).
//
// Labels are cast to the element type of the predictions and brought to the same shape with [Match]; a mismatch is an
// error that names both shapes. Predictions (batch) count as (batch, 1), one value for each example. (Keras takes them
// for one example.) Where a formula says "mean" or "sum" without more, it runs over the last axis. ε is [Epsilon].
//
// The objectives that look at the whole batch at once take a [Batch], which reaches the examples of other replicas.
package objectives
