// Package ptx writes kernels in PTX, the assembly language that NVIDIA's driver compiles for the installed GPU.
//
// A [Kernel] hands out typed registers and appends instructions; a [Module] joins kernels into the text that the driver
// loads. The text needs PTX 6.4 and compute capability 7.5 or later. Tensor-core instructions need PTX 7.0 and
// capability 8.0; warp-group products need PTX 8.0 and run on capability 9.0 only.
package ptx
