// Package driver is the part of NVIDIA's driver interface that the CUDA backend uses.
//
// [API] has a method for each call, with the driver's own status; [Open] binds it to libcuda.so.1 without cgo, and
// package fakedriver has another one for tests. [Device] is what the backend works with: errors that name the call, the
// primary context current on whichever thread calls.
package driver
