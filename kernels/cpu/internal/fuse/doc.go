// Package fuse decides which nodes of a program run as one step, and in which order the steps run. It knows programs,
// but not memory or kernels.
//
// [Build] makes a [Graph] of [Unit]s:
//
//   - patterns.go has the table of patterns: nodes that one kernel computes together, such as a product with its bias
//     and relu (epilogue.go).
//   - group.go gathers elementwise nodes over one index space, which read broadcasts, slices and reshapes in place
//     (access.go), and reductions of their results (sink.go). neighbours.go joins units that share operands.
//   - Updates of variables run as early as possible (schedule_updates.go). Small ones run together (bucket_updates.go),
//     and those of plain gradient descent join the product that computes their gradient (descent.go).
//   - overlap.go adds waits for all-reduces that run while the replica computes.
//
// relu.go and share.go recognise gradients that elementwise units compute with a single kernel. views.go says which
// values share their operand's memory.
package fuse
