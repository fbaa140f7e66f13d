package kernels

import (
	"context"
	"time"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Communicator lets one replica combine values with its peers. All replicas call the same operations in the same order.
// Implementations combine in replica order, so that all replicas get the same bits. Launches of a session drive it.
//
// Communicators belong to a strategy and outlive programs. One set of them serves one step at a time.
type Communicator interface {
	Replica() int
	Replicas() int
	// AllReduce combines values (host memory or device memory of the replica's backend) in place.
	AllReduce(ctx context.Context, kind ir.Kind, values []Buffer) error
	// AllGather concatenates equal-sized parts in replica order.
	AllGather(ctx context.Context, part, whole Buffer, axis int) error
	// Broadcast copies the root's value to all.
	Broadcast(ctx context.Context, root int, value Buffer) error
	// Abort makes current and later calls of all replicas of this process return err, for good. It is called when one
	// replica fails, so that the others do not wait for it. A set with an aborted end is closed and replaced.
	Abort(err error)
	// Close releases what the end holds. Calls under way fail.
	Close()
}

// Preparer is implemented by communicators that need memory or programs for what a session is going to call. Backends
// whose launches call communicators tell them before each launch.
type Preparer interface {
	Communicator
	// Prepare makes what the session needs that is not there yet.
	Prepare(s Session) error
}

// InnerCommunicator is one end of a set that was made for other communicators to call; see [CommunicatorOptions.Inner].
type InnerCommunicator interface {
	Preparer
	// Serves reports whether the values are those of a running program that AllReduce and Broadcast take. Others, and
	// AllGather, meet in host memory.
	Serves(values []Buffer) bool
}

// CommunicatorOptions say which replicas are to be connected.
type CommunicatorOptions struct {
	// Devices are those of the replicas in this process, in replica order.
	Devices []Device
	// First is the number of the first of them among the replicas of all processes, and Replicas the number of these; 0
	// is len(Devices).
	First, Replicas int
	// Exchange gives every process the bytes of all, in the order of their replicas; all call it equally often.
	// Backends send the data that a connection needs, such as the unique id that the first process draws. nil if there
	// is one process.
	Exchange func(ctx context.Context, own []byte) ([][]byte, error)
	// Inner says that other communicators call the ends, on behalf of running programs. The ends may be of type
	// [InnerCommunicator]. A backend whose devices meet in no other way than in launches of their own, or do not all
	// reach each other, returns [errors.ErrUnsupported].
	Inner bool
	// Library names the library that combines the values, [NCCL]; "" is the backend's choice.
	Library string
	// Packs says in how many packs the library combines the values of one call, laid end to end by types; 0 is each
	// value on its own.
	Packs int
	// Captured lets the library take part in captured steps also where a process has several devices; all processes
	// must say the same. Where each has one, it always does.
	Captured bool
	// Site is where the strategy was made, for errors on other processes; "" where nobody knows.
	Site string
	// Timeout is the longest wait for other processes; 0 is the backend's. Narrow is the type in which large sums of
	// float32 travel between devices, where the backend lets them; Invalid is their own.
	Timeout time.Duration
	Narrow  ir.DType
	// Broken is told that the connection to other processes does not work any more, which no process may have noticed
	// yet. What it returns is the error of the calls; it may wait for one that says who is lost. nil: err itself.
	Broken func(err error) error
	// Called reports whether other processes look for one that they wait for in vain. Who waits for others then says so
	// by Broken, with [ErrNotComing], before its own time is over: else it is taken for the one that is missing. nil:
	// no process asks
	Called func() bool
}

// Leaver is implemented by communicators that other processes may still need when this one has all that it wants.
type Leaver interface {
	Communicator
	// Leave makes later calls of all replicas of this process return why, and waits until those under way are over here
	// and in the other processes, which take leave too; not longer than the context allows. [Communicator.Abort] and
	// Close follow.
	Leave(ctx context.Context, why error)
}

// NCCL is the library for NVIDIA's GPUs.
const NCCL = "NCCL"

// LibraryChecker is implemented by backends that combine values with optional libraries.
type LibraryChecker interface {
	// CheckLibrary reports why values cannot be combined by the library of this name, and what to do about it.
	CheckLibrary(name string) error
}

// Total is the number of replicas in all processes.
func (o CommunicatorOptions) Total() int {
	if o.Replicas == 0 {
		return len(o.Devices)
	}
	return o.Replicas
}

// Overlapper is implemented by communicators whose all-reduces run while the replica computes. Backends use it to start
// the sum of a bucket of gradients as soon as these exist, and to wait for it when the sums are needed.
type Overlapper interface {
	Communicator
	// StartAllReduce begins what AllReduce does and returns without waiting for the other replicas. Until the wait for
	// it has returned, the replica must not touch values or their memory. It counts as a call in the order of calls. If
	// too many are under way, it waits for the oldest.
	StartAllReduce(ctx context.Context, kind ir.Kind, values []Buffer) error
	// WaitAllReduce returns when the oldest all-reduce that was started and not waited for is complete.
	WaitAllReduce(ctx context.Context) error
}
