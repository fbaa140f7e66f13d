// Package cuda runs programs on NVIDIA GPUs. Import it for its side effect:
//
//	import _ "github.com/gokeras/gokeras/kernels/cuda"
//
// Then "cuda:0", "cuda:1", ... are devices, if NVIDIA's driver (for CUDA 11.4 or later) is installed and the GPU has
// compute capability 7.5 or later. Nothing else is needed: internal/lower writes kernels as PTX, and the driver
// compiles them for the GPU. Only Linux is supported. Without a driver, using a device is an error that says what is
// missing.
//
// A launch that is repeated with the same buffers is captured as a graph and replayed with one call. Results are the
// same on every run: there are no atomic operations on floats, and the order of sums depends only on the shapes.
package cuda
