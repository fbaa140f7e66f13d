package kernels

import (
	"context"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Backend compiles programs for its devices. All of its methods may be called by many goroutines.
//
// Work on a device is ordered by the buffers it uses: operations that read or write the same buffer happen as if in the
// order of the calls. So a caller may write an input, launch a program, copy a result and launch the next program
// without waiting in between.
type Backend interface {
	// Kind is the kind of its devices, such as "cpu".
	Kind() string
	// Devices lists the devices that are usable now. Logical devices that need no hardware (any "cpu:n") need not be
	// listed.
	Devices() []Device
	// Open returns an error if the device does not exist or cannot be used.
	Open(d Device) error
	// NewBuffer allocates memory filled with zeros.
	NewBuffer(d Device, t ir.Type) (Buffer, error)
	// Compile translates a program once for all replicas that will run it.
	Compile(p *ir.Program, o CompileOptions) (Executable, error)
	// NewQueue opens a queue for launches on a device.
	NewQueue(d Device) (Queue, error)
	// NewCommunicators connects replicas and returns the communicators of those in this process, in the order of their
	// devices. It returns an error that wraps [errors.ErrUnsupported] if the backend cannot connect several processes:
	// the caller then combines values through host memory.
	NewCommunicators(ctx context.Context, o CommunicatorOptions) ([]Communicator, error)
}

// CompileOptions say what a program is compiled for. Nothing in them belongs to a single replica.
type CompileOptions struct {
	// Device is one of the devices that will run the program; the others are of the same kind.
	Device Device
	// Replicas is the number of replicas in all processes; 0 is 1. The program's collectives must be traced for that
	// number.
	Replicas int
	// Overlap says that the communicators are [Overlapper]s.
	Overlap bool
	// TF32 says that matrices of float32 may be multiplied as TF32; see [AllowTF32].
	TF32 bool
	// Variables are the indices of the inputs that hold variables. A backend may compute values that depend only on
	// them once, and use them for all runs until a variable changes.
	Variables []int
}

// Executable is a program that has been compiled for one kind of device and one number of replicas. It never changes:
// any replica of any strategy may open sessions of it, from any goroutine.
type Executable interface {
	// NewSession allocates the memory that one replica needs to run the program. A caller that runs the program several
	// times at once needs a session for each.
	NewSession(o SessionOptions) (Session, error)
	// Stats describes what was compiled.
	Stats() Stats
	// Close releases the program. Open sessions stay usable.
	Close()
}

// Stats describes a compiled program.
type Stats struct {
	Nodes      int   // nodes of the program
	Steps      int   // scheduled operations after fusion
	ArenaBytes int64 // memory for intermediate values, of one session
}

// SessionOptions say where a session runs.
type SessionOptions struct {
	Device Device
	// Replica is its number among all replicas.
	Replica int
	// Scratch lends the session memory for intermediate values; nil: the session has its own.
	Scratch *Scratch
}

// Scratch is memory for intermediate values of sessions on one device that share it. One of them runs at a time, and
// none runs while another one is made. The zero value is ready for use. It lets a caller keep the programs of many
// shapes: they need the memory of the largest instead of that of all. A backend that cannot share memory ignores it.
type Scratch struct {
	// Memory belongs to the backend. It is nil before the first session, and if the backend does not share.
	Memory any
}

// Session is the memory of one replica for one program: intermediate values, and anything a backend keeps to repeat a
// launch quickly.
type Session interface {
	// Launch puts a run of the program into a queue and returns an event for its end. The slices may be used again when
	// it returns; the buffers stay in use until the run is over. A launch with the same buffers, queue and communicator
	// as the previous one can be a replay of the captured launch. So callers keep inputs, results and variables in the
	// same buffers and write to them.
	//
	// The event returns errors: mistakes in the arguments, failures of the computation, such as an index out of range,
	// and failures of collectives. A run that fails changes none of the buffers that it replaces; the other outputs are
	// undefined then. ctx ends waiting for other replicas, but not a computation that has begun. A launch that fails,
	// or does not run because of an earlier failure in its queue, aborts its communicator, so that the other replicas
	// do not wait.
	//
	// A session runs one launch at a time.
	Launch(ctx context.Context, l Launch) Event
	// Close releases the memory when all launches so far are over.
	Close()
}

// Launch says what one run of a program works on.
type Launch struct {
	// Queue orders the run and remembers its failure. nil is a new queue.
	Queue Queue
	// Inputs holds a buffer for each input and Outputs one for each output, in program order, with the program's types.
	// If an output replaces an input and Outputs has nil, the input is donated: the result takes its memory. Otherwise
	// the given buffer is written.
	Inputs, Outputs []Buffer
	// Communicator connects the replica with the others; nil if the program has no collectives.
	Communicator Communicator
}
