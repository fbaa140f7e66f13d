// Package scan holds the CPU compiler's passes for loops over time, and its analysis of loop bodies.
//
// [Passes] moves work between loops and the rest of the program: sums for the gradients of weights leave the loop
// backwards and become one product (sums.go); what that loop can recompute is not stored by the loop forwards
// (recompute.go); products of all steps move into loops that run by blocks of rows (pull.go); matrices that are read
// transposed in every step are transposed once (transpose.go); sums over stacks read them in the order of memory
// (align.go); and embeddings look up their rows in the order of the steps (embedding.go). [ByExamples] makes loops over
// blocks of the examples of a batch (examples.go). [ByRows] finds out whether a loop's steps treat the examples
// independently, so that it may run in blocks of rows, each through all steps (rows.go).
//
// It knows programs, but not steps, memory or kernels.
package scan
