// Package cudnn computes convolutions with NVIDIA's library cuDNN, version 8 or 9, if it is installed. The library is
// optional.
package cudnn
