// Package cudnn computes convolutions with NVIDIA's library cuDNN, version 8 or 9, if a machine has it. It is optional.
package cudnn
