// Package recovery decides what a worker does next in a job that survives the loss of workers. It is a state machine
// without clock, network or goroutine. [Machine.Undertake] begins an undertaking of all workers, [Machine.Action] says
// what to do for it now, and [Machine.Apply] receives the outcome and returns the next action. The training loop, such
// as Fit of package keras, performs the actions. Programs do not need this package.
//
// A job moves from position to position: the beginning of Fit is one, and so are each training step, each end of an
// epoch, the end of Fit, and each [Aside] between two Fits. A worker reaches a position when the last collective that
// leads to it is done. So if a collective fails, some workers are at one position and the others at the previous one,
// and each has a complete state. The next group sends the latest state to the workers that are behind. Then all agree
// again on whether to continue, which keeps their collectives in step.
//
//	Attempt, Agree -- lost --> Form --> Transfer -- kept --> Restore --> Agree --> Attempt again
//	                            ^          |    `-- took --> the undertaking is done (Skip), or it goes on elsewhere (Move)
//	                            `-- lost --'
//
// A worker that kept its state repeats what failed. A worker that was one position behind got the result of what it
// failed to do from the others, so it skips it. A worker that was away for longer, or is a new process, moves to where
// the others are, in whichever call of Fit that is. If it has not reached that Fit yet, it waits there
// ([Machine.Late]); if the others have finished its own Fit, it ends it too.
//
// After the transfer all workers of a group are at the same position and make the same calls. No batch is trained twice
// or left out, and no worker waits forever, whichever workers are lost at whatever moment. The tests explore every
// order in which workers of small jobs can be lost, left out and come back, and many orders in larger jobs.
package recovery
