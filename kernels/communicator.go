package kernels

import (
	"context"
	"time"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Communicator lets one replica combine values with its peers. All replicas call the same operations in the same order.
// Implementations combine in replica order, so that all replicas get the same bits. Launches of a session make the
// calls.
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
	// Abort makes current and later calls of all replicas of this process return err, permanently. It is called when
	// one replica fails, so that the others do not wait for it. A set with an aborted communicator is closed and
	// replaced.
	Abort(err error)
	// Close releases the resources of the communicator. Calls in progress fail.
	Close()
}

// Preparer is implemented by communicators that need memory or programs for the calls of a session. Backends whose
// launches call communicators call Prepare before each launch.
type Preparer interface {
	Communicator
	// Prepare creates whatever the session needs and does not exist yet.
	Prepare(s Session) error
}

// InnerCommunicator belongs to a set that was made for other communicators to call; see [CommunicatorOptions.Inner].
type InnerCommunicator interface {
	Preparer
	// Serves reports whether AllReduce and Broadcast accept the values, because they are values of a running program.
	// Other values, and AllGather, go through host memory.
	Serves(values []Buffer) bool
}

// CommunicatorOptions say which replicas to connect.
type CommunicatorOptions struct {
	// Devices are those of the replicas in this process, in replica order.
	Devices []Device
	// First is the number of the first of them among the replicas of all processes. Replicas is the number of replicas
	// in all processes; 0 is len(Devices).
	First, Replicas int
	// Exchange gives every process the bytes of all, in the order of their replicas; all must call it equally often.
	// Backends send the data that a connection needs, such as the unique id that the first process draws. It is nil if
	// there is only one process.
	Exchange func(ctx context.Context, own []byte) ([][]byte, error)
	// Inner says that other communicators make the calls, on behalf of running programs. The communicators may be of
	// type [InnerCommunicator]. A backend returns [errors.ErrUnsupported] if its devices meet only in launches of their
	// own, or cannot all reach each other.
	Inner bool
	// Library names the library that combines the values, such as [NCCL]; "" leaves the choice to the backend.
	Library string
	// Packs is the number of packs in which the library combines the values of one call, laid end to end by types; 0
	// combines each value on its own.
	Packs int
	// Captured lets the library take part in captured steps even if a process has several devices; all processes must
	// say the same. If each has one device, it always does.
	Captured bool
	// Site is where the strategy was made, for errors on other processes; "" if unknown.
	Site string
	// Timeout is the longest wait for other processes; 0 is the backend's default. Narrow is the type in which large
	// sums of float32 travel between devices, if the backend supports that; Invalid is their own type.
	Timeout time.Duration
	Narrow  ir.DType
	// Broken is told that the connection to other processes no longer works, which no process may have noticed yet. It
	// returns the error for the calls, and may wait for an error that says which process is lost. nil: err itself.
	Broken func(err error) error
	// Called reports whether other processes wait for one in vain and are asking which. A process that itself waits for
	// others then says so through Broken, with [ErrNotComing], before its own timeout. Otherwise it is taken for the
	// missing one. nil: no process asks.
	Called func() bool
}

// Leaver is implemented by communicators that other processes may still need when this one is finished.
type Leaver interface {
	Communicator
	// Leave makes later calls of all replicas of this process return why. It waits until calls in progress are over,
	// here and in the other processes, which must leave too, but no longer than the context allows.
	// [Communicator.Abort] and Close follow.
	Leave(ctx context.Context, why error)
}

// NCCL is the library for NVIDIA's GPUs.
const NCCL = "NCCL"

// LibraryChecker is implemented by backends that combine values with optional libraries.
type LibraryChecker interface {
	// CheckLibrary returns an error if the library of this name cannot combine values, with what to do about it.
	CheckLibrary(name string) error
}

// Total is the number of replicas in all processes.
func (o CommunicatorOptions) Total() int {
	if o.Replicas == 0 {
		return len(o.Devices)
	}
	return o.Replicas
}

// Overlapper is implemented by communicators whose all-reduces run while the replica computes. Backends start the sum
// of a bucket of gradients as soon as the gradients exist, and wait for it when the sums are needed.
type Overlapper interface {
	Communicator
	// StartAllReduce begins an AllReduce and returns without waiting for the other replicas. Until the wait for it has
	// returned, the replica must not touch values or their memory. It counts as a call in the order of calls. If too
	// many are in progress, it waits for the oldest.
	StartAllReduce(ctx context.Context, kind ir.Kind, values []Buffer) error
	// WaitAllReduce returns when the oldest all-reduce that was started and not yet waited for is complete.
	WaitAllReduce(ctx context.Context) error
}
