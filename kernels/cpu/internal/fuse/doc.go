// Package fuse decides which nodes of a program become one step, and in which order the steps run. It knows programs,
// but not memory or kernels.
//
// [Build] makes a [Graph] of [Unit]s:
//
//   - patterns.go has the table of patterns: nodes that one kernel computes together, such as a product with its bias and relu (epilogue.go).
//   - group.go gathers elementwise nodes over one index space, which read broadcasts, slices and reshapes in place (access.go), with reductions of what
//     they compute (sink.go); neighbours.go joins units that share operands.
//   - updates of variables run as early as possible (schedule_updates.go), small ones together (bucket_updates.go), those of plain
//     gradient descent with the product that computes their gradient (descent.go).
//   - overlap.go adds waits for all-reduces that run while the replica computes.
//
// relu.go and share.go recognise gradients that elementwise units have one kernel for; views.go says which values share
// their operand's memory.
package fuse
