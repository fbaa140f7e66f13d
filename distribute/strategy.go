package distribute

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/gokeras/gokeras/kernels"
	_ "github.com/gokeras/gokeras/kernels/cpu" // the backend that is always there
	"github.com/gokeras/gokeras/kernels/exec"
)

// Strategy decides where replicas run. Models receive it through [Scope]; custom loops call it directly.
//
// Its methods are those of tf.distribute.Strategy that are called in cross-replica context, that is from ordinary Go
// code. What replica code may do is in [Replica].
//
// The strategies are those of this package and its subfolders: the interface cannot be implemented elsewhere. A value
// that embeds one, for example to change its String, stands for it: variables, functions, scopes and models belong to
// the strategy inside. To change how replicas communicate use [CrossDeviceFunc].
type Strategy interface {
	// NumReplicasInSync is the number of replicas that share one step.
	NumReplicasInSync() int
	// Devices lists the device of each replica in this process, in replica order.
	Devices() []kernels.Device
	// Communicators creates a set of communicators that connect the replicas, one for each replica of this process; nil
	// if there is a single replica.
	Communicators() ([]kernels.Communicator, error)
	// Function prepares code to be traced once and replayed on every replica.
	Function(f StepFunction) *Function
	// Run runs a function on every replica, each with its part of the batch.
	Run(ctx context.Context, f *Function, batch PerReplicaBatch) (PerReplica, error)
	// Reduce combines the replicas' values into one by Sum or Mean. Without axes it combines elementwise; with axes
	// also over these axes of each value, so that Mean counts every element once, even if the replicas' values differ
	// in length. Negative axes count from the end. The sum of a value that is not distributed ([PerReplica] of length
	// 1) is an error with several replicas; its mean is the value. The mean of integers is a float64. Bools cannot be
	// reduced.
	Reduce(op ReduceOp, value PerReplica, axes ...int) (kernels.Array, error)
	// Gather joins the replicas' values along axis, in replica order. They need at least one axis, and may differ only
	// in the length of axis. Negative axes are an error, as in TensorFlow.
	Gather(value PerReplica, axis int) (kernels.Array, error)
	// LocalResults lists the values of the replicas in this process, in replica order.
	LocalResults(value PerReplica) []kernels.Array
	// DistributeValuesFromFunction creates one value for each replica.
	DistributeValuesFromFunction(f func(ValueContext) (kernels.Array, error)) (PerReplica, error)
	// DistributeDataset divides each batch of ds into one part for each replica. Its batches are global.
	DistributeDataset(ds Dataset, options ...InputOptions) (*DistributedDataset, error)
	// DistributeDatasetsFromFunction yields the batches of the dataset that f creates, one for each replica; these are
	// local batches. f is called once, or once for each replica with [PerReplicaInput].
	DistributeDatasetsFromFunction(f func(InputContext) (Dataset, error), options ...InputOptions) (*DistributedDataset, error)
	// Split divides a number of examples into one part per replica: pieces of ⌈examples / replicas⌉, so that the last
	// parts may be short or empty. This is TensorFlow's rule. Split returns the parts of the replicas of this process,
	// [SplitOverWorkers] those of all.
	Split(examples int) []int
	// Extended holds methods that libraries need and users rarely do.
	Extended() *Extended
	// Placement tells the code that runs programs where replicas and variables are.
	Placement() *exec.Placement
	// String names the strategy and its devices.
	String() string

	base() *local
}

// local is a strategy whose replicas are all in this process. Strategies over several processes embed it, call is, set
// the numbers of at, and implement Communicators, Reduce and Gather themselves.
type local struct {
	name     string
	self     Strategy // what variables and functions belong to
	at       *exec.Placement
	crossOps CrossDeviceOps // nil: the backend's own communicators
	meeting  meeting        // with the replicas of other processes
	partings partings
}

func newLocal(name string, devices []kernels.Device) (*local, error) {
	for i, d := range devices {
		backend, err := kernels.Lookup(d.Kind)
		if err != nil {
			return nil, fmt.Errorf("distribute: %s: %w", name, err)
		}
		if err := backend.Open(d); err != nil {
			return nil, fmt.Errorf("distribute: %s: device %v: %w", name, d, err)
		}
		if d.Kind != devices[0].Kind {
			return nil, fmt.Errorf("distribute: %s: devices %v and %v are of different kinds; replicas must run on one kind", name, devices[0], d)
		}
		if slices.Contains(devices[:i], d) {
			return nil, fmt.Errorf("distribute: %s: device %v is listed twice; each replica needs its own (\"cpu:0\", \"cpu:1\", ...)", name, d)
		}
	}
	s := &local{name: name, at: &exec.Placement{Devices: devices, Site: exec.CallSite(), Total: len(devices)}}
	if backend, err := kernels.Lookup(devices[0].Kind); err == nil {
		together, ok := backend.(kernels.Lockstep)
		s.at.Lockstep = ok && together.Lockstep()
	}
	s.at.ConnectOwn = s.Communicators
	s.is(s)
	return s, nil
}

// is says which strategy the replicas belong to.
func (s *local) is(self Strategy) {
	s.self, s.at.Strategy, s.at.Connect = self, self, self.Communicators
}

// Placement says where replicas and variables are.
func (s *local) Placement() *exec.Placement { return s.at }

func (s *local) NumReplicasInSync() int    { return s.at.Total }
func (s *local) Devices() []kernels.Device { return s.at.Devices }

func (s *local) String() string {
	list := s.at.DeviceNames()
	if s.at.Central {
		list += "; variables on " + s.at.Parameter.String()
	}
	return s.name + "(" + list + ")"
}

func (s *local) base() *local { return s }

// baseOf returns the common part of a strategy; nil if there is none.
func baseOf(s Strategy) *local {
	if s == nil {
		return nil
	}
	return s.base()
}

// inside returns the strategy that s embeds and stands for, or s itself.
func inside(s Strategy) Strategy {
	if s == nil {
		return nil
	}
	return s.base().self
}

func (s *local) Communicators() ([]kernels.Communicator, error) {
	if len(s.at.Devices) == 1 {
		return make([]kernels.Communicator, 1), nil
	}
	if s.crossOps != nil {
		return s.crossOps.communicators(s.at.Devices, false)
	}
	return s.connect(context.Background(), nil)
}

func (s *local) Split(examples int) []int {
	return s.at.Split(examples)[s.at.First : s.at.First+len(s.at.Devices)]
}

// SplitOverWorkers divides a number of examples into one part for each replica of all processes, by the rule of
// [Strategy].Split, and returns the parts with the number of the first replica of this process. In a single process it
// returns the result of Split, and 0.
func SplitOverWorkers(s Strategy, examples int) (parts []int, first int) {
	if b := baseOf(s); b != nil {
		return b.at.Split(examples), b.at.First
	}
	return s.Split(examples), 0
}

func (s *local) Extended() *Extended { return &Extended{s.self} }

var defaultStrategy = sync.OnceValue(func() Strategy {
	s, err := newLocal("Default", []kernels.Device{{Kind: "cpu"}})
	if err != nil {
		panic(err) // the CPU backend is linked in: this cannot fail
	}
	s.at.Site = ""
	return s
})

// Default returns the strategy of a program that asks for none: one replica on the CPU.
func Default() Strategy { return defaultStrategy() }

// HasStrategy reports whether s is a strategy that was chosen explicitly: neither nil nor the default.
func HasStrategy(s Strategy) bool { return s != nil && inside(s) != Default() }

// NewOneDeviceStrategy puts everything on one device: variables, inputs and computation.
func NewOneDeviceStrategy(device string) (Strategy, error) {
	list, err := parseDevices("OneDeviceStrategy", []string{device})
	if err != nil {
		return nil, err
	}
	return asStrategy(newLocal("OneDevice", list))
}

// asStrategy keeps a nil pointer from becoming a non-nil interface.
func asStrategy(s *local, err error) (Strategy, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

func parseDevices(what string, names []string) ([]kernels.Device, error) {
	var list []kernels.Device
	for _, name := range names {
		d, err := kernels.ParseDevice(name)
		if err != nil {
			return nil, fmt.Errorf("distribute: %s: %w", what, err)
		}
		list = append(list, d)
	}
	return list, nil
}

// accelerators lists every accelerator of an imported backend, or else the CPU.
func accelerators() []kernels.Device {
	var list []kernels.Device
	for _, d := range kernels.Devices() {
		if d.Kind != "cpu" {
			list = append(list, d)
		}
	}
	if list == nil {
		list = []kernels.Device{{Kind: "cpu"}}
	}
	return list
}
