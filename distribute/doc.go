// Package distribute decides on which devices the replicas of a program run, where each variable lives, and how values
// are combined across replicas: the tf.distribute.Strategy family.
//
// # Glossary
//
//   - replica: one copy of the model's variables together with one instance of the step program, on one device.
//   - global batch: the examples of one step over all replicas; a local batch is one replica's part.
//   - mirrored variable: a copy on each replica; all copies hold the same value, because every update is combined over the
//     replicas before it is applied.
//   - sync-on-read variable: each replica updates its own copy; reading sums the copies (metrics).
//
// A step runs the same program on every replica. Each replica divides its loss by the size of the global batch, and
// gradients are summed over the replicas. So N replicas compute what one replica computes on the joined batch, even if
// the local batches differ in size or are empty.
package distribute
