// Package cuda runs programs on NVIDIA's GPUs. Programs import it for its effect:
//
//	import _ "github.com/gokeras/gokeras/kernels/cuda"
//
// Then "cuda:0", "cuda:1", ... are devices, wherever NVIDIA's driver (for CUDA 11.2 or later) is installed and the GPU
// is of compute capability 7.5 or later. Nothing else is needed: kernels are written as PTX by internal/lower, and the
// driver compiles them for the GPU at hand. Only Linux is supported. Without a driver nothing changes, and using a
// device is an error that says what is missing.
//
// A launch that is repeated with the same buffers is captured as a graph and replayed with one call. Results do not
// depend on the run: there are no atomic operations on floats, and sums have an order that shapes decide.
package cuda
