// Package amx multiplies matrices in the matrix registers of Intel's processors (AMX, since Sapphire Rapids): bfloat16
// into float32, and bytes into int32.
//
//	C[r, c] = Σ_o Σ_s Σ_k A[o, s, r, k] · B[o, s, k, c] + accumulate? C[r, c]
//
// All three matrices consist of words of 32 bits. A word of A or B is two numbers of bfloat16 or four bytes that are
// neighbours in the sum, and a word of C is a sum. A row of A is contiguous along k and a row of B along c, which is
// the order of the panels that the kernels for vectors read, so these need no layout of their own. The bytes of A have
// a sign, those of B have none.
//
// A tile is up to 16 rows of 16 words. A function computes blocks of up to two tiles by two with one configuration, and
// releases it before it returns: it cannot be preempted, so tiles are never in use while Go code runs, and no thread
// keeps the 8 KiB of their state. A signal that arrives meanwhile finds them saved by the operating system.
//
// The sums of an element are formed in an order that depends on k, s and o alone: 16 words of a segment at a time, in
// the order of memory, for all segments, and then what is left of each segment where K is not a multiple of 16. Several
// segments are taken in equal steps of fewer words where as many steps suffice, so that nothing is left. Within such a
// step, the processor adds up products of bfloat16 at even and at odd places apart, with denormals as zeros, whatever
// the thread's mode is.
package amx
