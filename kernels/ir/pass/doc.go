// Package pass holds what every backend can do to a program before it chooses kernels: passes, which take a program and
// return one of the same meaning.
//
//   - [Simplify] drops what nobody needs, computes what occurs twice once, folds constants and removes operations that change nothing.
//   - [Decompose] leaves only operations that the backend has kernels for.
//   - [MergeAllReduces] makes one call of the all-reduces of a bucket.
//   - [RecomputeCheap] recomputes cheap values where they are read, instead of keeping them.
//
// A backend makes its list of these and of passes of its own ([New]) and runs it with [Run], which names the pass that
// fails and can show the program after each. A [Rewriter] is what most passes are written with. Programs are never
// changed in place.
package pass
