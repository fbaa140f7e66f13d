// Package cpu is the default backend: it compiles programs for the processor and runs them from static memory.
//
// # Compilation
//
// [Backend.Compile] turns an [ir.Program] into a flat list of steps in five passes, one file each:
//
//  1. normalize: half precision is computed in float32, composites without a kernel of their own are decomposed, and the
//     program is simplified (dead code, common subexpressions, exact algebraic identities, folding of splat constants).
//  2. group: elementwise nodes are merged into groups that run blockwise over one index space; a bias and a relu after a
//     contraction or convolution join its kernel.
//  3. place: every value gets a storage. Reshapes share their operand's, outputs are computed in the output buffers, a
//     variable's new value in the variable, elementwise results in place of an operand that is not needed any more.
//  4. lower: every group becomes one closure with sizes, strides and kernels resolved.
//  5. plan: storages that are never alive together share memory in one arena.
//
// # Execution
//
// A run binds the caller's buffers to the storages and calls the closures in order. It allocates nothing, looks nothing up,
// and takes no lock but the executable's own. Work is cut into chunks whose number depends only on the problem's
// size, and partial results are combined in a fixed order: the bits of a result do not depend on the number of workers.
//
// # Numbers
//
// float32, float64, integers and bool are computed in their own type. float16 and bfloat16 are computed in float32 and rounded
// after every elementwise operation; contractions, reductions and composites are computed in float32 throughout and
// rounded once. Integers wrap around, as in Go; an integer divided by zero gives 0.
package cpu
