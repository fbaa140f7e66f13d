// Package parameters is the interface between training loops and a job with parameter servers: variables on servers,
// and closures that workers run. Package distribute/parameterserver implements such jobs over the network; this one
// links no gRPC.
//
// Most programs need neither package directly: keras models train under the strategy that parameterserver.NewStrategy
// returns, and custom loops use package distribute/coordinator.
package parameters

import (
	"context"
	"errors"
	"time"

	"github.com/gokeras/gokeras/distribute/internal/protocol"
	"github.com/gokeras/gokeras/distribute/internal/shared"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Rule says how servers update a variable from gradients.
type Rule = protocol.Rule

// The kinds of rules.
const (
	NoRule  = protocol.NoRule
	SGD     = protocol.SGD
	Adagrad = protocol.Adagrad
	Adam    = protocol.Adam
	RMSprop = protocol.RMSprop
	FTRL    = protocol.FTRL
)

// Constraint is a function that servers apply to a variable after each update from gradients.
type Constraint = protocol.Constraint

// The constraints that servers know, by the names of layers/constraints.
const (
	NoConstraint = protocol.NoConstraint
	MaxNorm      = protocol.MaxNorm
	NonNeg       = protocol.NonNeg
	UnitNorm     = protocol.UnitNorm
	MinMaxNorm   = protocol.MinMaxNorm
)

// Init gives the initial values of the rows of a variable.
type Init = protocol.Init

// The initializers that servers know.
const (
	Constant        = protocol.Constant
	Uniform         = protocol.Uniform
	Normal          = protocol.Normal
	TruncatedNormal = protocol.TruncatedNormal
)

// Policy says which rows of a dynamic table are evicted first when there are more than MaxRows.
type Policy = protocol.Policy

// The policies.
const (
	LeastFrequent = protocol.LeastFrequent
	LeastRecent   = protocol.LeastRecent
)

// Row is a row of a dynamic table with its key and the state of the optimizer.
type Row = protocol.Row

// Rates are the learning rates that were applied to a dynamic table.
type Rates = protocol.Rates

// TextKey returns the key of a text in dynamic tables with text keys and this seed.
func TextKey(seed uint64, text string) int64 { return protocol.TextKey(seed, text) }

// Op is the operation of a change.
type Op = protocol.Op

// The operations. In a round of synchronous training, assigned values are averaged over the closures of the round
// (AssignFirst takes those of the first closure), additions are summed, and then the mean of the gradients is applied.
const (
	Assign      = protocol.Assign
	AssignFirst = protocol.AssignFirst
	Add         = protocol.Add
	Gradient    = protocol.Gradient
)

// Staleness counts how many other updates were applied between reading a variable and applying its gradient.
type Staleness = protocol.Staleness

// ErrCancelled is the result of closures that were waiting when another one failed or the coordinator was closed.
var ErrCancelled = protocol.ErrCancelled

// ErrOver tells a worker that the coordinator has ended the job.
var ErrOver = errors.New("parameterserver: the coordinator has ended the job")

// ErrElsewhere is returned by a function to let another worker run the closure.
var ErrElsewhere = errors.New("parameterserver: this worker cannot run the closure any more")

// Spec describes a variable to be created on the servers.
type Spec struct {
	Name  string
	Shape ir.Shape // of float32
	Rule  Rule     // the zero value: gradients are refused
	Init  Init     // what it begins with where Value is nil
	// Constraint is applied after each update from gradients. A variable whose constraint works along its first axis is
	// kept whole on one server, whatever the partitioner says.
	Constraint Constraint
	// Value returns the initial value. It is called only if the variable does not exist yet.
	Value func() ([]float32, error)

	// Dynamic creates a table with a row for each key that is used; keys are any int64. Shape is then that of a row.
	Dynamic bool
	MaxRows int    // of all shards together; those used least, longest ago, go. 0: no bound
	MaxAge  uint64 // rows that were not updated during the last MaxAge updates are evicted; 0: no bound
	Policy  Policy // which rows go first where there are more than MaxRows
	Text    bool   // keys stand for texts, which changes name; see TextKey
}

// Variable is a variable on parameter servers: a single variable to its users, however it is sharded.
type Variable struct {
	Name    string
	Shape   ir.Shape // of a dynamic table that of a row
	Width   int      // numbers in a row
	Dynamic bool
	Shards  []Shard // by First; those of a dynamic table share the keys
}

// Shard is a range of rows of a variable on one server.
type Shard struct {
	First, Rows int
	Server      int
	Number      uint32 // on that server
}

// Rows returns the length of the first axis: 1 for a scalar, 0 for a dynamic table.
func (v *Variable) Rows() int {
	if v.Dynamic {
		return 0
	}
	if len(v.Shape) == 0 {
		return 1
	}
	return v.Shape[0]
}

// Room is memory for the values of a [Read] or a [Change] that servers on the same host read and write in place, so
// that values are not copied on the way. It serves one call at a time: until the call has returned or, for a closure,
// until [Outcome].Release. It cannot be used after a failed call, because a server may still be using it.
type Room = shared.Room

// NewRoom returns room for n numbers. If memory cannot be shared, or for few numbers, it is ordinary memory.
func NewRoom(n int) *Room { return shared.NewRoom(n) }

// Read asks for the values of a variable, or of some rows.
type Read struct {
	Variable *Variable
	IDs      []int64 // increasing, each once; see Distinct. nil: all rows
	// Values receives the answer, row by row. Existing memory is reused.
	Values []float32
	// Room is the room that the memory of Values belongs to, or nil. After a failed call Values are in other memory.
	Room *Room
	// InPlace reports that the servers are on this host and have written all values into Room.
	InPlace bool
	Came    bool // of [Outcome].Next: Values have come
	// Seen is the number of gradients that had been applied to each shard. Copy it to Change, to measure the staleness.
	Seen []uint64
}

// Change changes a variable, or some rows of it.
type Change struct {
	Variable *Variable
	Op       Op
	Rate     float64  // learning rate of a gradient
	IDs      []int64  // increasing, each once; nil: all rows
	Names    []string // of a table with text keys: the texts of IDs
	Values   []float32
	Room     *Room    // that Values lie in; nil: in none
	Seen     []uint64 // of the Read that a gradient comes from; nil: not known
}

// TableState is the history of a dynamic table.
type TableState struct {
	Version uint64 // changes
	Step    uint64 // gradients
	Rates   Rates
}

// Closure is a call that a worker runs.
type Closure struct {
	Term, Sequence uint64 // name it
	Attempt        int    // from 1
	Function       string
	Argument       []byte
	Worker         int // that runs it
}

// Outcome is the result of a closure. Its changes are applied exactly once on each server, however often the closure is
// run.
type Outcome struct {
	Value   []byte
	Changes []Change
	// Round is the number of the synchronous training round to which the closure belongs: its changes wait on the
	// servers until [Job.Settle]. 0: none.
	Round uint64
	Part  int
	// Next lists reads of whole variables with which the next closure of this worker begins. The same message to each
	// server that applies the changes also fills these reads with the values right after the changes; Came is then true
	// when Release is called. They are not filled in a round, if a server holds none of the changed variables, or if
	// variables have copies.
	Next []*Read
	// Release is called when the changes have been sent or given up, and their memory may be reused. nil: not called.
	Release func()
}

// Function is run by workers. Its own errors end the closure; an error of ctx lets another worker try.
type Function func(ctx context.Context, c *Closure) (Outcome, error)

// Until returns a function whose closures also end when another context ends, that of the call to which they belong;
// another worker then runs them.
func (f Function) Until(call context.Context) Function {
	return func(ctx context.Context, c *Closure) (Outcome, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(call, cancel)()
		o, err := f(ctx, c)
		if err != nil && call.Err() != nil {
			err = ErrElsewhere
		}
		return o, err
	}
}

// Pending is a closure that was scheduled.
type Pending interface {
	// Fetch waits for the end of the closure.
	Fetch(ctx context.Context) ([]byte, error)
}

// Job is a job with parameter servers, as one of its processes sees it.
type Job interface {
	// Coordinates reports whether this process is the coordinator. Worker is its number if it is a worker, otherwise
	// -1. Workers is the number of workers.
	Coordinates() bool
	Worker() int
	Workers() int

	// Rounds returns the number of closures in a round of synchronous training, and how many backup closures are
	// started in addition; 0 if training is asynchronous.
	Rounds() (replicas, backups int)
	// Round is the number of the current round, for Outcome.Round.
	Round() uint64

	// Find returns an existing variable, or an error if there is none of that name.
	Find(ctx context.Context, name string) (*Variable, error)
	// Pull fills reads, with one message to each server.
	Pull(ctx context.Context, reads ...*Read) error
	// Slots returns the optimizer's state for a variable, by name of the slot, and the number of gradients applied.
	Slots(ctx context.Context, v *Variable) (map[string][]float32, uint64, error)
	// Export returns the rows of a dynamic table with their keys.
	Export(ctx context.Context, v *Variable) (keys []int64, rows []float32, err error)
	// Rows calls f for all rows of a dynamic table until f returns false, and returns the table's state. If f is nil,
	// it only returns the state.
	Rows(ctx context.Context, v *Variable, f func(row Row) bool) (TableState, error)
	// Note returns a note that the coordinator has stored on the servers; nil if there is none.
	Note(ctx context.Context, key string) ([]byte, error)

	// The following methods are for the coordinator.

	// Create creates a variable. If an earlier coordinator of the job has created it, it keeps its value, and created
	// is false.
	Create(ctx context.Context, s Spec) (v *Variable, created bool, err error)
	// Change changes variables outside of closures.
	Change(ctx context.Context, changes ...Change) error
	// SetSlots restores the optimizer's state for a variable, by the slot names of its rule; steps is the number of
	// gradients applied so far.
	SetSlots(ctx context.Context, v *Variable, slots map[string][]float32, steps uint64) error
	// PutRows copies rows of another dynamic table to a dynamic table, replacing existing ones.
	PutRows(ctx context.Context, v *Variable, of TableState, rows []Row) error
	// SetNote stores a note on the servers; see [SetLastNote].
	SetNote(ctx context.Context, key string, value []byte) error
	// Schedule gives a call of a function to one worker, or to any worker if worker is -1. After a closure has failed,
	// Schedule and Join return its error, once, and waiting closures are cancelled.
	Schedule(ctx context.Context, function string, argument []byte, worker int) (Pending, error)
	// Settle ends the current round. From the parts with these numbers, summed in that order, all servers apply
	// assignments, additions and the mean of the gradients; they drop the other parts. The closures of these parts must
	// have ended. No value changes before Settle, so a part whose worker was lost is recomputed from the same values.
	Settle(ctx context.Context, parts []int) error
	// Join waits until all closures have ended. Done reports whether they have.
	Join(ctx context.Context) error
	Done() (bool, error)

	// The following methods are for workers.

	// Register lets the coordinator call a function under a name; a nil function removes it.
	Register(name string, f Function)
	// Over returns when the coordinator has ended the job, with nil, or when ctx ends.
	Over(ctx context.Context) error

	// Close ends the job if this is the coordinator, and leaves it otherwise.
	Close() error
}

// SetLastNote is SetNote for a note about how a job ended. It works even if ctx has ended, which may be why the job
// ends. It waits at most ten seconds for the servers, or two if ctx has ended, since they may have been told to end as
// well.
func SetLastNote(ctx context.Context, job Job, key string, value []byte) error {
	patience := 10 * time.Second
	if ctx.Err() != nil {
		patience = 2 * time.Second
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	return job.SetNote(ctx, key, value)
}
