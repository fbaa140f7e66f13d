// Package ptxsim runs kernels written in our subset of PTX on the host, to test them without a GPU.
//
// Blocks run one after the other, their threads one at a time from barrier to barrier, in an order that the caller
// chooses. It reports errors that hardware ignores or answers with garbage: accesses that are misaligned or outside of
// allocations, a word of shared memory that two threads access without a barrier in between or that was never written,
// barriers that some threads of a block do not reach, infinite loops, warp instructions that some threads of the warp
// do not reach, and copies to shared memory that are used before they are waited for.
//
// Instructions that warps execute together (products of matrices, ldmatrix, shuffles) follow the layouts of NVIDIA's
// manual. Neither speed nor the order in which tensor cores add is modeled: their sums are rounded once.
package ptxsim
