// Package protocol is what parameter servers and their coordinator decide, without clock, network and disk.
//
// [State] is a parameter server: tables of rows with the state of an optimizer, and a ledger of the closures whose
// updates it has applied. Everything that changes it is a [Command]; the same commands in the same order give the same
// bits, so a log of them after a snapshot brings a server back. [Dispatcher] is the coordinator: closures that wait,
// the workers that run them, and what becomes of both when workers are lost.
//
// A closure is named by the coordinator's term and a sequence number. A worker sends what a closure changes on a server
// as one command under that name; a server that has seen the name answers as it did and changes nothing. So a closure
// may be sent out again at any time, to any worker: it is applied once on each server. A coordinator that takes over
// asks the servers for a greater term, and what was sent under smaller ones is refused. Names are forgotten when the
// coordinator says that all closures before a number have ended; what comes under these later is stale, and refused
// too.
//
// Everything that is decoded may come from anywhere: lengths are bounded by what was received, and tables by Limits.
package protocol
