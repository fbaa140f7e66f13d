// Package lower turns programs into PTX kernels and the order in which they are launched.
//
// [Program] decomposes composites that have no kernel. It decides which operations are computed where their results are
// read: chains of elementwise operations and of data movement are fused into each other and into reductions, and
// operations after a product into the product. It writes a kernel for each of the others, and plans the memory between
// them. None of this needs a device. Products of 16-bit floats use tensor cores if [Options] say that the device has
// them.
//
// Loops of known length are launched step by step. Both branches of a conditional are launched, and the kernels of the
// one not taken end at once: each branch has a guard, a byte on the device. An index out of range sets the queue's
// failure flag, and while that is set, kernels that replace inputs end at once. Such kernels run after everything that
// may fail, and overwrite the inputs when nothing reads them any more (commit.go); other new values are copied at the
// end.
package lower
