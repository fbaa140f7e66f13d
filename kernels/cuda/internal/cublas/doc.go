// Package cublas multiplies matrices with NVIDIA's library cuBLASLt, if a machine has it. It is optional.
package cublas
