package distribute

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/gokeras/gokeras/kernels"
	_ "github.com/gokeras/gokeras/kernels/cpu" // the backend that is always there
	"github.com/gokeras/gokeras/kernels/ir"
)

// Strategy decides where replicas run. Models take it through [Scope]; custom loops call it directly.
type Strategy interface {
	// NumReplicasInSync is the number of replicas that share one step.
	NumReplicasInSync() int
	// Devices lists the device of each replica in this process, in replica order.
	Devices() []kernels.Device
	// Communicators connects the local replicas for one compiled program; nil for a single replica.
	Communicators() ([]kernels.Communicator, error)
	// Function prepares code to be traced once and replayed on every replica.
	Function(f StepFunction) *Function
	// Run runs a function on every replica, each with its part of the batch.
	Run(ctx context.Context, f *Function, batch PerReplicaBatch) (PerReplica, error)
	// Reduce combines the replicas' values into one: Sum or Mean, elementwise.
	Reduce(op VariableAggregation, value PerReplica) (kernels.Array, error)
	// Split cuts a global batch into one part a replica, as evenly as possible; the first parts are the larger ones and parts
	// may be empty.
	Split(examples int) []int
	// String names the strategy and its devices.
	String() string
}

// ScopeOption carries a strategy to a model: keras.NewSequential(layers, distribute.Scope(strategy)).
type ScopeOption struct{ strategy Strategy }

// Scope makes a model create its variables under the strategy.
func Scope(s Strategy) ScopeOption { return ScopeOption{s} }

// ScopeStrategy returns the strategy of the scope.
func (o ScopeOption) ScopeStrategy() Strategy { return o.strategy }

// local is a strategy whose replicas all live in this process.
type local struct {
	name    string
	devices []kernels.Device
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
	return &local{name, devices}, nil
}

func (s *local) NumReplicasInSync() int    { return len(s.devices) }
func (s *local) Devices() []kernels.Device { return s.devices }

func (s *local) String() string {
	names := make([]string, len(s.devices))
	for i, d := range s.devices {
		names[i] = d.String()
	}
	return s.name + "(" + strings.Join(names, ", ") + ")"
}

func (s *local) Communicators() ([]kernels.Communicator, error) {
	if len(s.devices) == 1 {
		return make([]kernels.Communicator, 1), nil
	}
	backend, err := kernels.Lookup(s.devices[0].Kind)
	if err != nil {
		return nil, err
	}
	return backend.NewCommunicators(s.devices)
}

func (s *local) Split(examples int) []int {
	n := len(s.devices)
	parts := make([]int, n)
	for i := range parts {
		parts[i] = examples / n
		if i < examples%n {
			parts[i]++
		}
	}
	return parts
}

var defaultStrategy = sync.OnceValue(func() Strategy {
	s, err := newLocal("Default", []kernels.Device{{Kind: "cpu"}})
	if err != nil {
		panic(err) // the CPU backend is linked in: this cannot fail
	}
	return s
})

// Default returns the strategy of a program that asks for none: one replica on the CPU.
func Default() Strategy { return defaultStrategy() }

// NewOneDeviceStrategy puts everything on one device.
func NewOneDeviceStrategy(device string) (Strategy, error) {
	d, err := kernels.ParseDevice(device)
	if err != nil {
		return nil, fmt.Errorf("distribute: OneDeviceStrategy: %w", err)
	}
	return newLocal("OneDevice", []kernels.Device{d})
}

// NewMirroredStrategy runs one replica on each of the given devices of this machine; all hold the same weights and every step
// sums their gradients. Without devices it takes every accelerator of an imported backend, or else the CPU. Logical CPU
// devices "cpu:0", "cpu:1", ... are real replicas.
func NewMirroredStrategy(devices ...string) (Strategy, error) {
	var list []kernels.Device
	for _, name := range devices {
		d, err := kernels.ParseDevice(name)
		if err != nil {
			return nil, fmt.Errorf("distribute: MirroredStrategy: %w", err)
		}
		list = append(list, d)
	}
	if devices == nil {
		for _, d := range kernels.Devices() {
			if d.Kind != "cpu" {
				list = append(list, d)
			}
		}
		if list == nil {
			list = []kernels.Device{{Kind: "cpu"}}
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("distribute: MirroredStrategy: the list of devices is empty; name at least one, or none at all to use every accelerator")
	}
	return newLocal("Mirrored", list)
}

// reduceKinds are the aggregations that Reduce knows.
var reduceKinds = map[VariableAggregation]ir.Kind{Sum: ir.Sum, Mean: ir.Mean}

func (s *local) Reduce(op VariableAggregation, value PerReplica) (kernels.Array, error) {
	kind, ok := reduceKinds[op]
	if !ok || len(value) == 0 {
		return kernels.Array{}, fmt.Errorf("distribute: Reduce: cannot combine %d values by %q; use Sum or Mean on the result of Run", len(value), op)
	}
	first := value[0]
	total := first.Float64s()
	for i, a := range value[1:] {
		if !a.Type.Equal(first.Type) {
			return kernels.Array{}, fmt.Errorf("distribute: Reduce: replica 0 has %v, replica %d has %v; elementwise reduction needs one type", first.Type, i+1, a.Type)
		}
		for j, x := range a.Float64s() {
			total[j] += x
		}
	}
	if kind == ir.Mean {
		for j := range total {
			total[j] /= float64(len(value))
		}
	}
	return kernels.FromFloat64s(first.Type.DType, first.Type.Shape, total)
}
