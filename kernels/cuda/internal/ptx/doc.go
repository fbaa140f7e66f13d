// Package ptx writes kernels in PTX, the assembly language that NVIDIA's driver compiles for the installed GPU.
//
// A [Kernel] hands out typed registers and appends instructions; a [Module] joins kernels into the text that the driver
// loads. The text needs PTX 6.4 and runs on compute capability 7.5 and later; one with instructions of tensor cores
// needs PTX 7.0 and capability 8.0, one with products of warp groups PTX 8.0 and
// capability 9.0.
package ptx
