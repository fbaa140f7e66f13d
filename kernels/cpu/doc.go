// Package cpu is the default backend: it compiles programs for the processor and runs them from static memory.
//
// # Compilation
//
// [Backend.Compile] turns an [ir.Program] into a flat list of steps, in passes:
//
//  1. normalize: half precision is computed in float32, composites without a kernel of their own are decomposed, and
//     the program is simplified (dead code, common subexpressions, exact algebraic identities, folding of constants of
//     one repeated element, transposes into products). All-reduces of a bucket become one call. Sums of products over
//     the steps of a loop leave the loop and become one product (internal/scan/sums.go); what a loop backwards can
//     cheaply compute again from other things that it reads, the forward loop does not store
//     (internal/scan/recompute.go); a matrix that a loop's products read transposed is transposed once before it
//     (internal/scan/transpose.go).
//  2. group: nodes are gathered into units. Elementwise nodes over one index space run together, block by block, on a small
//     vector machine (vm.go) that reads broadcasts, slices and reshapes in place; reductions of what they compute join them
//     (internal/fuse/sink.go). A bias and a relu join the product or convolution before them, the gradient of relu and of a bias the gradient
//     of pooling, a transpose the product it follows, and 2x2 maxima the convolution whose result nothing else needs
//     (internal/fuse/epilogue.go). Elementwise units that follow each other and share operands become one (internal/fuse/neighbours.go).
//  3. schedule updates: updates of variables run as early as possible, but after the last step that can fail: a failed
//     step changes no variable.
//  4. assign storage: every value that is needed in memory gets a storage. Reshapes and contiguous slices share their
//     operand's, outputs are computed in the output buffers, a variable's new value in the variable, results in place
//     of an operand that is no longer needed. A value that cannot be computed in its final place is copied there at the
//     end.
//  5. lower: every unit becomes one closure with sizes, strides and kernels resolved. Steps that depend only on
//     constants run now.
//  6. plan: storages that are never alive together share memory in one arena.
//
// The general passes are package ir/pass, those for loops internal/scan; 2 and 3 are internal/fuse, 4 and 6
// internal/plan. This package has stage 5 and the code that runs, by file:
//   - backend.go, executable.go, session.go, runtime.go, buffer.go, queue.go: the interfaces of package kernels;
//   - passes.go, lower.go, emission.go, wait.go, collective.go, control.go, scan_blocks.go, scan_packed.go: from units to steps, loops and branches;
//   - vm*.go, chain.go, relu.go, share.go: elementwise units;
//   - dot*.go, descent.go, tall.go, weights.go, convolution.go, attention*.go, norm*.go, pooling.go, reduce.go, softmax.go, ...: the steps of one family of
//     ops each;
//   - measurement.go, profile.go, traced.go, peak.go: where time goes.
//
// The loop body of a scan or while is compiled the same way, once; its inputs and outputs are pointed at the parent's
// memory, so that slices of stacked values are not copied, and carried values alternate between two buffers.
//
// Placement is also where a layout other than row-major would be recorded, for example weights kept in the panels that
// package gemm packs: a storage's readers and writers are known there, and all of them must be able to use it.
//
// # Execution
//
// A run binds the caller's buffers to the storages and calls the closures in order. It allocates nothing, looks nothing
// up, and takes no lock except the executable's. Work is cut into chunks whose number depends only on the problem's
// size, and partial results are combined in a fixed order: the bits of a result do not depend on the number of workers.
//
// # Numbers
//
// float32, float64, integers and bool are computed in their own type. float16 and bfloat16 are computed in float32 and
// rounded after every elementwise operation, in registers; contractions, reductions and composites are computed in
// float32 throughout and rounded once. Products read and write 16 bits (internal/gemm/half.go): with AVX512-BF16 they
// add up pairs of products of bfloat16, which leaves the last bits of the float32 sums different from those of other
// processors, and with them now and then the last bit of a result. On one machine the bits depend neither on the number
// of workers nor on how a batch is split. Integers wrap around, as in Go; an integer divided by zero gives 0.
//
// Programs run with denormal numbers flushed to zero, results and operands, on amd64 and arm64, under every
// GOKERAS_CPU: the goroutine that calls Run is locked to its thread meanwhile and the thread's mode is restored
// afterwards; the same goes for the pool's workers (internal/flush). On other processors, which only have the portable
// kernels, denormals are kept.
//
// # Limits
//
// Convolutions and poolings have up to three spatial axes. Data movement handles any rank whose axes merge into at most
// twelve.
package cpu
