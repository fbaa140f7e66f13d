// Package pass holds the passes that any backend can run on a program before it chooses kernels: each takes a program
// and returns an equivalent one.
//
//   - [Simplify] removes dead code and duplicates, folds constants and removes operations that change nothing.
//   - [Decompose] leaves only operations that the backend has kernels for.
//   - [MergeAllReduces] merges the all-reduces of a bucket into one call.
//   - [RecomputeCheap] recomputes cheap values where they are read, instead of keeping them.
//   - [GateUpdates] makes updates of variables unscale their gradients, and skip themselves if gradients are not
//     finite.
//   - [ScheduleUpdates] computes new values of variables as early as they may overwrite the old ones.
//
// A backend lists these and its own passes ([New]) and runs them with [Run], which names the pass that fails and can
// show the program after each. Most passes are written with a [Rewriter]. Programs are never changed in place.
package pass
