// Package lower turns programs into kernels in PTX and the order in which they are launched.
//
// [Program] decomposes composites without a kernel of their own. It decides which operations are computed where their
// results are read: chains of elementwise operations and of movements of data are computed in each other and in
// reductions, and operations after a product in the product. It writes a kernel for each of the others, and plans the
// memory between them. Nothing here needs a device. Products of 16-bit floats are computed by tensor cores if [Options]
// say that the device has the necessary ones.
//
// Loops of known length are launched step by step. Both branches of a conditional are launched, and the kernels of the
// one not taken end at once: each has a guard, a byte on the device. An index out of range sets the failure flag of the
// queue, and while that is set, kernels that replace inputs end at once. Such kernels run after everything that may
// fail and overwrite the inputs when nobody reads them any more (commit.go); other new values are copied at the end.
package lower
