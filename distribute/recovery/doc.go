// Package recovery is what a worker of a job that outlives lost workers does next. It is a state machine without clock,
// network or goroutine: [Machine.Undertake] begins something that all workers do together, [Machine.Action] says what
// to do for it now, and [Machine.Apply] takes in how that went and says what comes next. Whoever trains does the
// actions; Fit of package keras does. Programs have no need of this package.
//
// A job goes from position to position: the begin of Fit is one, each training step, each end of an epoch, the end of
// Fit, and each [Aside] between two Fits. A position is counted when the last collective that leads to it is done. So
// where a collective fails, some workers are at one position and the others at the one before it, and what any has is
// complete. The next group hands the latest state to those that are behind. Then all agree again on whether to go on,
// which keeps their collectives in step.
//
//	Attempt, Agree -- lost --> Form --> Transfer -- kept --> Restore --> Agree --> Attempt again
//	                            ^          |    `-- took --> the undertaking is done (Skip), or it goes on elsewhere (Move)
//	                            `-- lost --'
//
// A worker that kept its state does again what failed. One that was a single position behind has what it failed to do
// from the others: it skips it. One that was away for longer, or is a new process, goes where the others are, in
// whichever call of Fit that is. Where that is a Fit that it has not come to, it waits there ([Machine.Late]); where
// the others have finished its own, it ends it too.
//
// After the transfer all workers of a group are at the same position and make the same calls. No batch is trained twice
// or left out, and nobody waits forever, whoever is lost at whatever moment. The tests explore every order in which
// workers of small jobs can be lost, left out and come back, and many orders in larger jobs.
package recovery
