// Package fakenccl is a libnccl for tests, beside the devices of package fakedriver: ranks of one process, or of
// several as a [World] connects them, which wait in their streams for missing ranks until they are aborted, as the
// library does.
//
// It is stricter than the library: calls on a communicator that is in use by another call, with the context of another
// device, outside a group's thread, or after an abort, communicators that are given back while graphs refer to them,
// and ranks that make different calls, are faults.
package fakenccl
