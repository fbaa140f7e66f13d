// Package membership is the protocol by which workers form a group, notice that one of them is gone, agree on who it
// is, and form the next group. It is a state machine without clock, network or goroutine: time is an argument, and the
// messages to send are a result.
//
// There is one kind of message, the [State] of a worker: everything that others may need to know about it, with a
// serial number. It is sent to all workers at each heartbeat and after each change, and only the newest one from each
// worker counts. So messages may be lost, duplicated, delayed and reordered without further precautions: whatever
// matters is sent again.
//
// A group (a [View]) is formed in two steps. Candidates gather; the one with the lowest number proposes a view with a
// generation higher than any of them has promised or seen; each accepts by promising that generation; when all have
// accepted, the view is installed. A candidate that has accepted also installs the view when it sees another member
// working in it.
//
// Two workers may be alive although one does not hear the other, because the link between them is broken. Each reports
// from whom it has received nothing for the deadline. A candidate is proposed only together with those that it hears
// and that hear it ([Remove] says who stays out), and a view does not admit a worker that not all of its members can
// work with: otherwise views would keep forming, each time without another worker.
//
// In a view each member watches all others. A member that is silent for the deadline, loses its connection, was
// restarted or stalls is accused. Accusations spread with the states, and a member decides when all would-be survivors
// hold the same accusations. Equal accusations give equal verdicts, so all survivors get the same one. A member that
// has decided keeps the verdict in its state, and others adopt it.
//
// A candidate publishes a note that says how to reach its memory, and the others report which notes worked. Notes
// belong to one process at one gathering: a view lists its notes, and a worker that has not reached exactly those is
// not part of it.
//
// In a collective a member may report that it receives nothing ([Machine.Block]). When the states of all others show
// that they are past the collective, or wait in vain as well, the member leaves: no wait continues once heartbeats
// prove it hopeless.
//
// If two workers accuse each other, [Remove] decides which one leaves: the one involved in the most accusations,
// because a worker that was cut off accuses all others and is accused by all of them.
package membership
