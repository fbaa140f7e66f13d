package membership

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"
)

// Phase is what a worker is doing.
type Phase uint8

// The phases of a worker.
const (
	Idle      Phase = iota // has not asked for a group
	Gathering              // wants to be in the next view
	Serving                // is in a view
	Failed                 // its view has a verdict; it has not asked for the next one
	Left                   // is going away
	phaseCount
)

// String names the phase.
func (p Phase) String() string {
	return [...]string{"idle", "gathering", "serving", "failed", "left", "invalid"}[min(p, phaseCount)]
}

// ViewID names a view. The zero value is no view.
type ViewID struct {
	Generation uint64 // grows from view to view
	Digest     uint64 // of the members
}

// Member is one worker of a view.
type Member struct {
	Task        int    // number in the cluster
	Incarnation uint64 // of the process: another one after each restart
	HasState    bool   // brings the state of the training
	Step        uint64 // the last step it completed, if it has state
	Note        NoteID // of the note that it gave when it gathered
	About       string // what its process says of itself
}

// NoteID names the note of one worker at one gathering; 0 is no note. A process has another one each time that it
// gathers.
type NoteID uint64

// IDOf returns the name of a note.
func IDOf(note []byte) NoteID {
	if len(note) == 0 {
		return 0
	}
	return NoteID(fnv1a(fnvBasis, note...)) | 1
}

// Trial is a note of another worker that was tried here.
type Trial struct {
	Task int
	Note NoteID
}

// View is a group of workers that agreed to work together.
type View struct {
	ID      ViewID
	Members []Member // by increasing task; the place is the rank
	Shared  bool     // all members reach each other's shared memory
}

// Rank returns the rank of a task in the view, or -1.
func (v *View) Rank(task int) int {
	return slices.IndexFunc(v.Members, func(m Member) bool { return m.Task == task })
}

// Tasks lists the members' tasks.
func (v *View) Tasks() []int {
	tasks := make([]int, len(v.Members))
	for i, m := range v.Members {
		tasks[i] = m.Task
	}
	return tasks
}

// Agreed returns the last step that any member has completed and the lowest rank that did, or rank -1 if no member has
// state. Members with less need the state of that rank.
func (v *View) Agreed() (step uint64, source int) {
	source = -1
	for rank, m := range v.Members {
		if m.HasState && (source < 0 || m.Step > step) {
			step, source = m.Step, rank
		}
	}
	return step, source
}

// digest is the FNV-1a hash of everything that distinguishes views.
func (v *View) digest(proposer int) uint64 {
	h := fnvBasis
	mix := func(x uint64) {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], x)
		h = fnv1a(h, b[:]...)
	}
	mix(v.ID.Generation)
	mix(uint64(proposer))
	for _, m := range v.Members {
		mix(uint64(m.Task))
		mix(m.Incarnation)
		mix(uint64(m.Note))
	}
	return h
}

const fnvBasis = uint64(14695981039346656037)

// fnv1a continues a hash.
func fnv1a(h uint64, data ...byte) uint64 {
	for _, b := range data {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return h
}

// Reason says why a worker is removed from its view.
type Reason uint8

// The reasons.
const (
	Silent      Reason = iota // no sign of life for the deadline
	Lost                      // its connection broke
	Restarted                 // its process was replaced
	Stalled                   // alive, but did not reach a collective in time
	Moved                     // formed another group
	Departed                  // closed its group
	Withdrew                  // cancelled a collective
	Split                     // met a larger group
	reasonCount               //
)

var reasonTexts = [...]string{"silent", "connection lost", "restarted", "stalled", "moved to another group", "left", "withdrew", "met a larger group", "invalid"}

// String names the reason.
func (r Reason) String() string { return reasonTexts[min(r, reasonCount)] }

// Accusation is the reason that one member gives against another, or against itself when it leaves.
type Accusation struct {
	By, Who int
	Reason  Reason
	Detail  string
}

func compareAccusations(a, b Accusation) int {
	if a.By != b.By {
		return a.By - b.By
	}
	return a.Who - b.Who
}

// Call is the call that a member makes as a certain collective of a view.
type Call struct {
	Sequence    uint64
	Description string // compared between members
}

// Difference names two members that disagree about a collective.
type Difference struct {
	Sequence uint64
	A, B     int // tasks
	CallA    string
	CallB    string
}

// Verdict is how a view ended, the same for all its survivors.
type Verdict struct {
	View       ViewID
	Removed    []Accusation // who is gone, by increasing task, each with the accusation that counts; empty for a Difference
	Difference *Difference  // set when members disagreed about a collective; nobody is removed then
}

// Removes reports whether the verdict removes a task.
func (v *Verdict) Removes(task int) bool {
	return slices.ContainsFunc(v.Removed, func(a Accusation) bool { return a.Who == task })
}

// State is everything that other workers need to know about a worker.
type State struct {
	Task        int
	Incarnation uint64
	Serial      uint64 // grows with each state that a process sends
	Phase       Phase

	View     ViewID // the last one installed
	ViewSize int
	Unheard  []int // tasks of which nothing came for the deadline

	// Why is the reason of a worker that has given up or left, "" if there is none.
	Why string

	// While gathering.
	About    string // what this process says of itself; the views that it is in repeat it
	HasState bool
	Step     uint64
	Note     []byte  // for the layer above: how to reach this process's shared memory
	Reach    []Trial // notes of others that worked here
	Beyond   []Trial // notes of others that did not work here
	Promised uint64  // generation below which no proposal is accepted any more
	Accepted ViewID  // proposal accepted
	Proposal *View   // own proposal

	// About View.
	Accusations []Accusation // all that are known, by (By, Who)
	Verdict     *Verdict     // the last verdict reached, about View or the view before
	Completed   uint64       // the last collective that this member has completed
	Settling    bool         // it wants to leave the view and asks whether the others have completed as much
	Waiting     *Call        // the collective that this member cannot complete
	Blocked     uint64       // the collective in which nothing came for the deadline; 0: none
	Answers     []Call       // calls of this member that others wait in
}

// Config holds what does not change during the life of a process.
type Config struct {
	Task        int           // own number
	Size        int           // number of tasks in the cluster
	Incarnation uint64        // greater than that of any earlier process of this task; else others take this one in after the deadline
	About       string        // what this process says of itself, which all other workers learn when it gathers
	Heartbeat   time.Duration // between states when nothing changes
	Deadline    time.Duration // silence after which a worker is accused

	// Describe returns the description of a collective of the current view if this worker has begun it; nil: unknown.
	Describe func(sequence uint64) (string, bool)
}

// Terms say when gathering may end.
type Terms struct {
	Min      int           // fewest members of the view
	Max      int           // most members
	Patience time.Duration // how long to wait for more than Min
	Timeout  time.Duration // when to give up
	HasState bool          // this worker brings the state of the training
	Step     uint64        // last completed step
	Note     []byte        // passed on to the other candidates
}

// JoinError says that no view was formed in time.
type JoinError struct {
	Missing []int // tasks that did not gather
	Busy    []int // those of them that are alive in a view which they do not leave
	Present []int
	Apart   []Accusation // pairs of those that gathered of which one does not hear the other
	Min     int
	After   time.Duration
}

// Error describes the error by task numbers.
func (e *JoinError) Error() string {
	return fmt.Sprintf("no group of at least %d formed within %v: present %v, missing %v, busy %v", e.Min, e.After, e.Present, e.Missing, e.Busy)
}
