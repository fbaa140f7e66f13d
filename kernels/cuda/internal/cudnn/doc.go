// Package cudnn convolves with NVIDIA's library cuDNN, of version 8 or 9, where a machine has it. Nothing needs it.
package cudnn
