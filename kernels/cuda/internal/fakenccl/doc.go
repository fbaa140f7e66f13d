// Package fakenccl is a libnccl for tests, which works with the devices of package fakedriver. Its ranks are in one
// process, or in several that a [World] connects. As in the library, they wait in their streams for missing ranks until
// they are aborted.
//
// It is stricter than the library. These are faults: calls on a communicator that another call is using, with the
// context of another device, on a different thread than the group's, or after an abort; communicators that are
// destroyed while graphs use them; ranks that make different calls.
package fakenccl
