// Package ptxsim runs kernels written in our subset of PTX on the host, to test them without a GPU.
//
// Blocks run one after the other, their threads one at a time from barrier to barrier, in an order that the caller
// chooses. It reports errors that hardware ignores or answers with garbage: accesses that are misaligned or outside of
// allocations, a word of shared memory that two threads touch without a barrier in between or that was never written,
// barriers that not all threads of a block reach, infinite loops.
//
// It does not model speed or warps: the kernels use no instruction that depends on warps.
package ptxsim
