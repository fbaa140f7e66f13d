// Package membership is the protocol by which workers form a group, notice that one of them is gone, agree on who it
// is, and form the next group. It is a state machine without clock, network or goroutine: time is an argument, and what
// is to be sent is a result.
//
// There is one kind of message, the [State] of a worker: all that others may need to know about it, with a serial
// number. It is sent to everybody at each heartbeat and after each change, and only the newest one of each worker
// counts. So messages may be lost, doubled, delayed and overtaken without any further care: what matters is sent again.
//
// A group (a [View]) is formed in two steps. Candidates gather; the one with the lowest number proposes a view with a
// generation above all that any of them has promised or seen; each accepts by promising that generation; when all have
// accepted, the view is installed. A candidate that accepted installs also when it sees another member at work in that
// view.
//
// Two workers may be alive of which one does not hear the other, because a link between them is broken. Each tells of
// whom nothing came for the deadline. A candidate is proposed only with those that it hears and that hear it ([Remove]
// says who stays out), and a view does not take in one that not all of its members can work with: otherwise it would
// form again and again, each time without another one.
//
// In a view each member watches all others. One that is silent for the deadline, whose connection is lost, that was
// restarted or that stalls is accused. Accusations spread with the states, and a member decides when all that would
// survive hold the same accusations. From equal accusations follow equal verdicts, so all survivors get the same one. A
// member that decided keeps the verdict in its state, and others adopt it.
//
// A candidate tells by a note how to reach its memory, and the others say which notes worked. Notes belong to one
// process at one gathering: a view says of which notes it is made, and who has not reached exactly those has no part in
// it.
//
// In a collective a member may be told that nothing comes for it ([Machine.Block]). When the states of all others show
// that they are beyond it, or wait in vain as well, it goes: no wait outlasts signs of life that prove it hopeless.
//
// Which of two workers that accuse each other goes is decided by [Remove]: the one with most accusations around it, as
// a worker that was cut off accuses all others and is accused by all of them.
package membership
