// Package parameters is the interface between training loops and a job with parameter servers: variables on servers,
// and closures that workers run. Package distribute/parameterserver implements such jobs over the network; this one
// links no gRPC.
//
// Most programs need neither: keras models train under the strategy that parameterserver.NewStrategy makes, and custom
// loops use package distribute/coordinator.
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

// Constraint is what servers do to a variable after each update from gradients.
type Constraint = protocol.Constraint

// The constraints that servers know, by the names of layers/constraints.
const (
	NoConstraint = protocol.NoConstraint
	MaxNorm      = protocol.MaxNorm
	NonNeg       = protocol.NonNeg
	UnitNorm     = protocol.UnitNorm
	MinMaxNorm   = protocol.MinMaxNorm
)

// Init says what the rows of a variable begin with.
type Init = protocol.Init

// The initializers that servers know.
const (
	Constant        = protocol.Constant
	Uniform         = protocol.Uniform
	Normal          = protocol.Normal
	TruncatedNormal = protocol.TruncatedNormal
)

// Policy says which rows of a dynamic table go first when there are more than MaxRows.
type Policy = protocol.Policy

// The policies.
const (
	LeastFrequent = protocol.LeastFrequent
	LeastRecent   = protocol.LeastRecent
)

// Row is a row of a dynamic table with its key and the state of the optimizer.
type Row = protocol.Row

// Rates are the learning rates that a dynamic table has had.
type Rates = protocol.Rates

// TextKey is the key of a text in dynamic tables with text keys and this seed.
func TextKey(seed uint64, text string) int64 { return protocol.TextKey(seed, text) }

// Op is what a change does.
type Op = protocol.Op

// The changes. In a round of synchronous training assigned values are averaged over its closures (with AssignFirst
// those of the first one count), what is added is added, and then the mean of the gradients is applied.
const (
	Assign      = protocol.Assign
	AssignFirst = protocol.AssignFirst
	Add         = protocol.Add
	Gradient    = protocol.Gradient
)

// Staleness counts how many other updates came between reading a variable and its gradient.
type Staleness = protocol.Staleness

// ErrCancelled is the result of closures that waited when another one failed or the coordinator was closed.
var ErrCancelled = protocol.ErrCancelled

// ErrOver tells a worker that the coordinator has ended the job.
var ErrOver = errors.New("parameterserver: the coordinator has ended the job")

// ErrElsewhere is what a function returns to let another worker run the closure.
var ErrElsewhere = errors.New("parameterserver: this worker cannot run the closure any more")

// Spec describes a variable to be made on the servers.
type Spec struct {
	Name  string
	Shape ir.Shape // of float32
	Rule  Rule     // the zero value: gradients are refused
	Init  Init     // what it begins with where Value is nil
	// Constraint follows each update from gradients. A variable with one along its first axis lies on one server as a
	// whole, whatever the partitioner says.
	Constraint Constraint
	// Value makes the first value; it is called only where the variable does not exist yet.
	Value func() ([]float32, error)

	// Dynamic makes a table with a row for each key that is met: any int64. Shape is then that of a row.
	Dynamic bool
	MaxRows int    // of all shards together; those used least, longest ago, go. 0: no bound
	MaxAge  uint64 // rows that were not updated in so many updates go; 0: no bound
	Policy  Policy // which rows go first where there are more than MaxRows
	Text    bool   // keys stand for texts, which changes name; see TextKey
}

// Variable is a variable on parameter servers: one to its users, whatever its shards.
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

// Rows is the length of the first axis, 1 for a scalar; 0 for a dynamic table.
func (v *Variable) Rows() int {
	if v.Dynamic {
		return 0
	}
	if len(v.Shape) == 0 {
		return 1
	}
	return v.Shape[0]
}

// Room is memory for the values of a [Read] or a [Change] that servers of the same host read and write in place, so
// that they are not copied on their way. It is used for one call at a time, until the call has returned, or for a
// closure until [Outcome].Release. A call that went wrong spoils it: a server may still be busy with it.
type Room = shared.Room

// NewRoom returns room for n numbers. Where memory cannot be shared, and for few numbers, it is like any other.
func NewRoom(n int) *Room { return shared.NewRoom(n) }

// Read asks for the values of a variable, or of some rows.
type Read struct {
	Variable *Variable
	IDs      []int64 // increasing, each once; see Distinct. nil: all rows
	// Values are the answer, row after row. Existing memory is reused.
	Values []float32
	// Room is what the memory of Values belongs to, if to one. After a call that went wrong Values lie elsewhere.
	Room *Room
	// InPlace reports that the servers are on this host and have written all values into Room.
	InPlace bool
	Came    bool // of [Outcome].Next: Values have come
	// Seen is, for each shard, how many gradients had been applied; it goes into Change, for the staleness.
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

// TableState is what a dynamic table has been through.
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

// Outcome is what a closure leaves. Its changes are applied exactly once on each server, however often the closure is
// run.
type Outcome struct {
	Value   []byte
	Changes []Change
	// Round is that of synchronous training which the closure computes a part of: what it changes waits on the servers
	// until [Job.Settle]. 0: none.
	Round uint64
	Part  int
	// Next are reads of whole variables that the next closure of this worker begins with. They are filled with the
	// values right after the changes, by the same message to each server: then Came is true when Release is called. In
	// a round, where a server holds none of the changed variables, and where there are copies, they are not.
	Next []*Read
	// Release is called when the changes have been sent, or given up: their memory may be used again. nil: nothing
	// waits for that.
	Release func()
}

// Function is what workers run. Errors of its own end the closure; an error of ctx lets another worker try.
type Function func(ctx context.Context, c *Closure) (Outcome, error)

// Until returns a function whose closures end with another context too, that of the call which they belong to, and are
// left to another worker then.
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
	// Coordinates reports whether this process is the coordinator; Worker is its number if it is a worker, or -1.
	// Workers counts all.
	Coordinates() bool
	Worker() int
	Workers() int

	// Rounds is the number of closures of a round of synchronous training, and how many more are started; 0 where
	// training is asynchronous.
	Rounds() (replicas, backups int)
	// Round is the number of the round under way, for Outcome.Round.
	Round() uint64

	// Find returns a variable that exists; an error that says so where there is none.
	Find(ctx context.Context, name string) (*Variable, error)
	// Pull fills reads, with one message to each server.
	Pull(ctx context.Context, reads ...*Read) error
	// Slots returns the optimizer's state of a variable by name, and how many gradients were applied.
	Slots(ctx context.Context, v *Variable) (map[string][]float32, uint64, error)
	// Export returns the rows of a dynamic table with their keys.
	Export(ctx context.Context, v *Variable) (keys []int64, rows []float32, err error)
	// Rows calls f for all rows of a dynamic table until f returns false, and returns what the table has been through;
	// with nil that alone.
	Rows(ctx context.Context, v *Variable, f func(row Row) bool) (TableState, error)
	// Note returns what the coordinator has noted on the servers; nil where there is nothing.
	Note(ctx context.Context, key string) ([]byte, error)

	// The rest is the coordinator's.

	// Create makes a variable, or finds it where an earlier coordinator of the job has made it: then created is false,
	// and it keeps its value.
	Create(ctx context.Context, s Spec) (v *Variable, created bool, err error)
	// Change changes variables outside of closures.
	Change(ctx context.Context, changes ...Change) error
	// SetSlots gives a variable the optimizer's state that it had elsewhere, by the names of its rule, after so many
	// gradients.
	SetSlots(ctx context.Context, v *Variable, slots map[string][]float32, steps uint64) error
	// PutRows gives a dynamic table rows of another one; existing ones are replaced.
	PutRows(ctx context.Context, v *Variable, of TableState, rows []Row) error
	// SetNote keeps a note on the servers; see [SetLastNote].
	SetNote(ctx context.Context, key string, value []byte) error
	// Schedule hands a call of a function to the workers: to one of them, or to any with -1. After a closure has
	// failed, Schedule and Join return its error, once; closures that waited are cancelled.
	Schedule(ctx context.Context, function string, argument []byte, worker int) (Pending, error)
	// Settle ends the round under way: all servers apply what the parts assign and add, and the mean of the gradients,
	// of the parts with these numbers, summed in their order, and drop the others. The closures of these parts must
	// have ended. Until then no value changes, so that a part whose worker was lost is computed again of the same ones.
	Settle(ctx context.Context, parts []int) error
	// Join waits until all closures have ended. Done reports whether they have.
	Join(ctx context.Context) error
	Done() (bool, error)

	// The rest is the workers'.

	// Register lets the coordinator call a function under a name; a nil function takes it back.
	Register(name string, f Function)
	// Over returns when the coordinator has ended the job, with nil, or when ctx ends.
	Over(ctx context.Context) error

	// Close ends the job if this is the coordinator, and leaves it otherwise.
	Close() error
}

// SetLastNote is SetNote for how a job ended: also where ctx has ended, which is a reason to end. It waits ten seconds
// for the servers at most, and two where ctx has ended, since they may have been told to end as well.
func SetLastNote(ctx context.Context, job Job, key string, value []byte) error {
	patience := 10 * time.Second
	if ctx.Err() != nil {
		patience = 2 * time.Second
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	return job.SetNote(ctx, key, value)
}
