// Package cpu is the default backend: it compiles programs for the processor and runs them from static memory.
//
// docs/cpu.md in the repository describes the optimizations; this page has the stages and the rules.
//
// # Compilation
//
// [Backend.Compile] turns an [ir.Program] into a flat list of steps:
//
//  1. Passes (passes.go) simplify the program: dead code, common subexpressions, exact algebraic identities, constants
//     of one repeated element, transposes that products can absorb. They decompose composites that have no kernel, and
//     merge the all-reduces of a bucket into one call. Passes for loops over time (internal/scan) move sums of products
//     out of a loop, where they become one product (sums.go). They let the backward loop recompute what is cheap, so
//     that the forward loop need not store it (recompute.go). They transpose a matrix once, before the loop, if its
//     products read it transposed (transpose.go).
//  2. Fusion (internal/fuse) gathers nodes into units. Elementwise nodes over one index space run together, block by
//     block, on a small vector machine (vm.go), which reads broadcasts, slices and reshapes in place. Reductions of
//     their results join them (sink.go), and so do successive elementwise units that share operands (neighbours.go). A
//     bias and a relu join the product or convolution before them, and a transpose joins the product that it follows.
//     2x2 maxima join a convolution that nothing else reads. The gradients of a relu and of a bias join that of a
//     pooling (epilogue.go).
//  3. Scheduling (internal/fuse) moves updates of variables as early as possible, but not before the last step that can
//     fail: a failed step changes no variable.
//  4. Placement (internal/plan) gives a storage to every value that is needed in memory. Reshapes and contiguous slices
//     share their operand's storage. Outputs are computed in the output buffers, a variable's new value in the variable,
//     and other results in place of an operand that is no longer needed. A value that cannot be computed in its final
//     place is copied there at the end.
//  5. Lowering, in this package, makes one closure of every unit, with sizes, strides and kernels resolved. Steps that
//     depend only on constants run at compile time.
//  6. Planning (internal/plan) lets storages that are never alive together share memory in one arena.
//
// The general passes are in package ir/pass. The files of this package:
//   - backend.go, executable.go, session.go, runtime.go, buffer.go, queue.go: the interfaces of package kernels;
//   - passes.go, lower.go, emission.go, wait.go, collective.go, control.go, scan_blocks.go, scan_packed.go: from units to steps, loops and branches;
//   - vm*.go, chain*.go, relu.go, share.go: elementwise units;
//   - dot*.go, descent.go, tall.go, weights.go, convolution*.go, attention*.go, norm*.go, pooling*.go, reduce*.go, softmax*.go, ...: the steps of one
//     family of ops each;
//   - measurement.go, profile.go, traced.go, peak.go: where time goes.
//
// The body of a scan or while is compiled in the same way, once. Its inputs and outputs point into the parent's memory,
// so that slices of stacked values are not copied, and carried values alternate between two buffers.
//
// # Execution
//
// A run binds the caller's buffers to the storages and calls the closures in order. It allocates nothing, looks nothing
// up, and takes no locks but those of its session and the worker pool. Work is cut into chunks whose number depends on
// the size of the problem alone, and partial results are combined in a fixed order, so the bits of a result do not
// depend on the number of workers.
//
// # Numbers
//
// float32, float64, integers and bool are computed in their own type. Integers wrap around, as in Go; an integer
// divided by zero gives 0.
//
// float16 and bfloat16 are computed in float32. Elementwise operations round after each operation, in registers.
// Contractions, reductions and composites compute in float32 throughout and round once. Programs of mixed precision
// that gain nothing by 16 bits do not round between operations at all (excess.go). Products read and write 16 bits
// (internal/gemm/half.go). Where the processor multiplies pairs of bfloat16, it also sums the products pair by pair.
// The last bits of the float32 sums then differ from those of other processors, and occasionally the last bit of a
// result does. On one machine the bits depend neither on the number of workers nor on how a batch is split.
//
// On amd64 and arm64, under every GOKERAS_CPU, programs run with denormal operands and results flushed to zero. The
// goroutine that calls Run is locked to its thread meanwhile, and the thread's mode is restored afterwards; the same
// holds for the pool's workers (internal/flush). Other processors only have the portable kernels, and keep denormals.
//
// # Limits
//
// Convolutions and poolings have up to three spatial axes. Data movement handles any rank whose axes merge into at most
// twelve.
package cpu
