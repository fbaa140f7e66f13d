package recovery

// Kind is a kind of undertaking: something that all workers of a job do together.
type Kind uint8

// The kinds of undertakings.
const (
	Enter    Kind = iota // begin a Fit
	Step                 // a training step
	Epoch                // the collectives at the end of an epoch; EndEpoch follows when callbacks have been told
	Boundary             // agree on whether to go on; whoever waits is taken in
	Aside                // what one worker does for all, such as writing a file
)

// String names the kind.
func (k Kind) String() string {
	return name(int(k), "enter", "step", "epoch", "boundary", "aside")
}

// Place is a position within a Fit.
type Place struct {
	Epoch int // the current epoch, or the next one
	Done  int // batches of it that were trained on
}

// Task is an undertaking.
type Task struct {
	Kind    Kind
	Next    Place  // of Step and Epoch: where it leads
	Config  string // of Enter: what must be equal on all workers, such as the batch size
	Joining bool   // of Enter: this worker has no state, and the group that took it in does
}

// Action is what a worker must do now.
type Action uint8

// The first action means that there is no undertaking, the next ones are to be done, and the last ones end an
// undertaking.
const (
	Idle     Action = iota
	Attempt         // do what was undertaken
	Agree           // join the flags of all workers: whether training stops, whether workers wait
	Form            // form the next group
	Rejoin          // form the next group as a worker without state
	Transfer        // hand the latest state to the workers that are behind
	Restore         // bring what a failed attempt has changed (metrics) back to the position
	Adopt           // take over the place of the state that was received
	Rewrite         // write the variables that were received again: callbacks have set them meanwhile

	Proceed // it is done
	Skip    // others have done it, and this worker has what came of it
	Move    // this worker was away and goes on where the others are
	Stop    // all have agreed to stop before it
	Refuse  // the others are in the same Fit with another Config
	Fail    // an error ended it
)

// String names the action.
func (a Action) String() string {
	return name(int(a), "idle", "attempt", "agree", "form", "rejoin", "transfer", "restore", "adopt", "rewrite", "proceed", "skip", "move", "stop", "refuse", "fail")
}

// Ends reports whether the action ends an undertaking.
func (a Action) Ends() bool { return a >= Proceed }

// Outcome is the result of an action.
type Outcome uint8

// The outcomes. Done and Failed are possible for every action that is to be done, the others for the actions that they
// name.
const (
	Done     Outcome = iota
	Failed           // with an error that a next group cannot mend
	Lost             // Attempt, Agree, Transfer: workers were lost
	Waiting          // Agree: workers are waiting to join
	Stopping         // Agree: all stop
	Took             // Transfer: this worker was behind and has the state now
	Kept             // Transfer: this worker had it; Rejoin: nobody has any, so the job begins
	Left             // Form: the others have left the job in good order
)

// String names the outcome.
func (o Outcome) String() string {
	return name(int(o), "done", "failed", "lost", "waiting", "stopping", "took", "kept", "left")
}

// Event reports the outcome of an action.
type Event struct {
	Outcome Outcome
	State   State // of Took
}

// State says where a worker is; it is sent to workers that are behind.
type State struct {
	Position uint64 // positions that the job has come to
	Fits     int    // calls of Fit that have begun, in the whole job
	Inside   bool   // the last one has not ended
	Asides   int    // those that the job has done since
	Config   string // of the Fit
	Place    Place  // in it; whoever sends the state sets it
}

func name(i int, names ...string) string {
	if i >= len(names) {
		return "invalid"
	}
	return names[i]
}
