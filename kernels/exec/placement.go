package exec

import (
	"strings"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
)

// Strategy is what functions and variables belong to. It says where they are.
type Strategy interface {
	// NumReplicasInSync is the number of replicas that share one step.
	NumReplicasInSync() int
	// Devices lists the device of each replica in this process, in replica order.
	Devices() []kernels.Device
	// String names the strategy and its devices.
	String() string
	// Placement says where replicas and variables are. It returns the same one at each call.
	Placement() *Placement
}

// Placement says where the replicas of a strategy run, where its variables are and how replicas meet. A strategy fills
// it in before anything runs, and calls [Placement.Renew] after a change.
type Placement struct {
	Strategy Strategy         // whose placement it is; functions and variables name it as theirs
	Site     string           // where the strategy was made, "" if nobody needs to know
	Devices  []kernels.Device // of the replicas of this process
	First    int              // number of the first of them among the replicas of all processes
	Total    int              // replicas of all processes
	Group    WorkerGroup      // the processes; nil: only this one
	// Hosts are processes that run the same replicas together, each on some of the devices, and so make the same calls
	// in the same order. nil: there are none. Group is nil if there are hosts.
	Hosts WorkerGroup
	// Elastic says that workers come and go, so that one may trace a program before the others do.
	Elastic bool

	Central   bool           // there is one copy of each variable, on the device Parameter
	Parameter kernels.Device // of Central

	BytesPerPack int  // size of the buckets in which gradients are summed; 0 is [DefaultBytesPerPack]
	SameDraws    bool // all replicas draw the same random numbers
	// ShardOptimizerState cuts variables that allow it (VariableSpec.Sharded) into pieces, one on each replica.
	ShardOptimizerState bool
	// Lockstep says that all replicas run one program: if their parts of a batch differ in length, they are padded to
	// the longest.
	Lockstep bool

	// LayerOutput says how a result of a layer is laid out on the devices, by the layer's path; nil: nobody does.
	LayerOutput func(layer string, y *ops.Tensor) *ops.Tensor

	// Connect makes communicators that connect the replicas of this process with those of all processes. ConnectOwn
	// connects only those of this process.
	Connect, ConnectOwn func() ([]kernels.Communicator, error)

	all, own communicatorPool
}

// DefaultBytesPerPack is large enough that the cost of a launch does not matter, and small enough that summing begins
// while gradients are still being computed.
const DefaultBytesPerPack = 4 << 20

// Renew closes the communicators that no step is using, because the replicas of all processes, or their number, have
// changed.
func (p *Placement) Renew() { p.all.clear() }

// DeviceNames lists the devices of the replicas of this process, for messages.
func (p *Placement) DeviceNames() string {
	names := make([]string, len(p.Devices))
	for i, d := range p.Devices {
		names[i] = d.String()
	}
	return strings.Join(names, ", ")
}

// bytesPerPack is the size of buckets of gradients; p is nil in a trace without a strategy.
func (p *Placement) bytesPerPack() int {
	if p == nil || p.BytesPerPack == 0 {
		return DefaultBytesPerPack
	}
	return p.BytesPerPack
}

// VariableDevices lists where the copies of a variable are: one on each replica, or with central storage one on the
// parameter device. State that each replica keeps for itself and that is never combined stays with the replicas.
func (p *Placement) VariableDevices(v *Variable) []kernels.Device {
	if p.isCentral(v) {
		return []kernels.Device{p.Parameter}
	}
	return p.Devices
}

// isCentral reports whether the variable has one copy for all replicas.
func (p *Placement) isCentral(v *Variable) bool {
	return p != nil && p.Central && !(v.spec.Synchronization == OnRead && v.spec.Aggregation == None)
}

// MadeAt says where the strategy was made, " made at file:line", or "" if that is unknown.
func (p *Placement) MadeAt() string {
	if p.Site == "" {
		return ""
	}
	return " made at " + p.Site
}

// Fail tells the other processes that this one has failed; see [WorkerGroup].Fail.
func (p *Placement) Fail(err error) {
	if err != nil && p.Group != nil {
		p.Group.Fail(err)
	}
	if err != nil && p.Hosts != nil {
		p.Hosts.Fail(err)
	}
}

// Split cuts a number of examples into one part for each replica of all processes: pieces of ⌈examples / replicas⌉, so
// that the last parts may be short or empty.
func (p *Placement) Split(examples int) []int { return splitEvenly(examples, p.Total) }

// splitEvenly cuts examples into n pieces.
func splitEvenly(examples, n int) []int {
	size := (examples + n - 1) / n
	parts := make([]int, n)
	for i := range parts {
		parts[i] = min(size, examples)
		examples -= parts[i]
	}
	return parts
}

// placementOf returns the placement of a strategy; nil if there is none.
func placementOf(s Strategy) *Placement {
	if s == nil {
		return nil
	}
	return s.Placement()
}

// inside returns the strategy embedded in a value that stands for it.
func inside(s Strategy) Strategy {
	if s == nil {
		return nil
	}
	return s.Placement().Strategy
}
