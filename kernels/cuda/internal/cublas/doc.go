// Package cublas multiplies matrices with NVIDIA's library cuBLASLt, where a machine has it. Nothing needs it.
package cublas
