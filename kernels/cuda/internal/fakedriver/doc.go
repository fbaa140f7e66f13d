// Package fakedriver is a driver for tests: devices without hardware, on which the interpreter of package ptxsim runs
// our kernels.
//
// Streams run asynchronously and late. The host cannot access device memory. Host memory is read and written when a
// copy runs, not when it is requested. Graphs replay what was captured. The fake counts live objects, and any call can
// be made to fail.
package fakedriver
