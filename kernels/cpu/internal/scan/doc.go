// Package scan holds the CPU compiler's passes for loops over time, and its analysis of loop bodies.
//
// [Passes] moves work between loops and the rest of the program. Sums for the gradients of weights leave the backward
// loop and become one product (sums.go). What the backward loop can recompute is not stored by the forward loop
// (recompute.go). Products of all steps move into loops that run in blocks of rows (pull.go). Matrices that are read
// transposed in every step are transposed once (transpose.go). Sums over stacks read them in the order of memory
// (align.go). Embeddings look up their rows in the order of the steps (embedding.go). [ByExamples] makes loops over
// blocks of the examples of a batch (examples.go). [ByRows] finds out whether the steps of a loop treat the examples
// independently, so that the loop may run in blocks of rows, each through all steps (rows.go).
//
// The package knows programs, but not steps, memory or kernels.
package scan
