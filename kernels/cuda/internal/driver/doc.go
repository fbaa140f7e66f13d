// Package driver is the part of NVIDIA's driver API that the CUDA backend uses.
//
// [API] has a method for each call, which returns the driver's status; [Open] binds it to libcuda.so.1 without cgo, and
// package fakedriver implements it for tests. The backend uses [Device], whose errors name the call and which makes the
// primary context current on the calling thread.
package driver
