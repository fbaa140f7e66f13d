// Package protocol contains the decisions of parameter servers and their coordinator, without clock, network or disk.
//
// [State] is a parameter server: tables of rows with the state of an optimizer, and a ledger of the closures whose
// updates it has applied. Every change is a [Command]; the same commands in the same order give the same bits, so a
// snapshot and the log of commands after it restore a server. [Dispatcher] is the coordinator: waiting closures, the
// workers that run them, and what happens to both when workers are lost.
//
// A closure is identified by the coordinator's term and a sequence number. A worker sends the changes of a closure on a
// server as one command under that name; a server that has already seen the name repeats its answer and changes
// nothing. So a closure may be sent again at any time, to any worker: it is applied once on each server. A coordinator
// that takes over asks the servers for a greater term, and messages under smaller ones are refused. Names are forgotten
// when the coordinator says that all closures before a number have ended; later messages under these names are stale
// and also refused.
//
// Decoded data are not trusted: lengths are bounded by the size of the message, and tables by Limits.
package protocol
