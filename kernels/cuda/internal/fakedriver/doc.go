// Package fakedriver is a driver for tests: devices without hardware, on which the interpreter of package ptxsim runs
// our kernels.
//
// Streams run asynchronously and late, the host cannot see the devices' memory, host memory is read and written when a
// copy runs and not when it is requested, and graphs replay what was captured. The fake counts live objects, and any
// call can be made to fail.
package fakedriver
