// Package ptxsim runs kernels written in our subset of PTX on the host, to test them without a GPU.
//
// Blocks run one after the other, their threads one at a time from barrier to barrier, in an order that the caller
// chooses. It reports errors that hardware ignores or answers with garbage: accesses that are misaligned or outside of
// allocations, a word of shared memory that two threads touch without a barrier in between or that was never written,
// barriers that not all threads of a block reach, infinite loops, instructions of a warp that not all its threads
// reach, and copies to shared memory that are used before they are waited for.
//
// Instructions that warps execute together (products of matrices, ldmatrix, shuffles) follow the layouts of NVIDIA's
// manual. It does not model speed, nor in which order tensor cores add up: their sums are rounded once.
package ptxsim
