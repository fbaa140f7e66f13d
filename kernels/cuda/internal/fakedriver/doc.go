// Package fakedriver is a driver for tests: devices without hardware, on which the interpreter of package ptxsim runs
// our kernels.
//
// Streams work late and by themselves, the host cannot see the devices' memory, host memory is read and written when a
// copy is made and not when it was asked for, graphs replay what was captured. The fake counts what is alive, and any
// call can be made to fail.
package fakedriver
