// Package objectives holds the formulas that losses and metrics share, as Keras's functions of the same names: each
// maps labels and predictions to one value for each example (or for each step of an example).
//
// Labels are cast to the element type of the predictions and brought to the same shape with [Match]; a mismatch is an
// error that names both shapes. Predictions of shape (batch) count as (batch, 1), one value for each example. (Keras
// treats them as one example.) Where a formula just says "mean" or "sum", it runs over the last axis. ε is [Epsilon].
//
// Objectives over the whole batch take a [Batch], which can access the examples of other replicas.
package objectives
