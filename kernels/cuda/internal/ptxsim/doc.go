// Package ptxsim runs kernels written in our subset of PTX on the host, to test them without a GPU.
//
// Blocks run one after the other, their threads one at a time from barrier to barrier, in an order that the caller
// chooses. It reports what hardware lets pass or answers with nonsense: accesses outside of allocations or misaligned,
// a word of shared memory that two threads touch without a barrier in between, or that nobody has written, barriers
// that not all threads of a block reach, loops without end.
//
// It is no model of speed, and there is nothing of warps in it: the kernels use no instruction that depends on them.
package ptxsim
