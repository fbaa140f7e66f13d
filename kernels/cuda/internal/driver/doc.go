// Package driver is the part of NVIDIA's driver interface that the CUDA backend uses.
//
// [API] has a method for each call, which returns the driver's status; [Open] binds it to libcuda.so.1 without cgo, and
// package fakedriver has another implementation for tests. The backend uses [Device]: its errors name the call, and it
// makes the primary context current on the calling thread.
package driver
