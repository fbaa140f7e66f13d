// Package cublas multiplies matrices with NVIDIA's library cuBLASLt, if it is installed. The library is optional.
package cublas
