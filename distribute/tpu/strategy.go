package tpu

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Options configure [NewStrategy]. The zero value takes every core of the TPU of this machine.
type Options struct {
	// Resolver says where the TPU is; nil means the TPU of this machine.
	Resolver cluster.Resolver
	// Topology is what InitializeSystem returned; nil calls InitializeSystem.
	Topology *Topology
	// DeviceKind is that of [SystemOptions], if Topology is nil.
	DeviceKind string
	// DeviceAssignment says which core each replica is on; nil means one replica on every core, in the order of their
	// numbers.
	DeviceAssignment *DeviceAssignment
	// SPMDPartitioning (experimental_spmd_xla_partitioning) lets a replica have several cores: XLA divides its program
	// over them, as SplitToLogicalDevices and ReplicateToLogicalDevices of the strategy say for its tensors, and
	// replicates tensors for which they say nothing. It needs devices of a PJRT plugin. On a TPU of several hosts each
	// replica has cores of one host, or all replicas have cores of every host. In the latter case all hosts compute
	// each replica together: they read the same data and make the same calls, and each holds the parts on its own
	// cores.
	SPMDPartitioning bool
	// SameRandomNumbers makes all replicas draw the same random numbers.
	SameRandomNumbers bool
}

// Strategy is tf.distribute.TPUStrategy: one replica on each core of all hosts, synchronous, all in one compiled
// program. Models and loops behave as under a mirrored strategy; N replicas compute what one computes on the joined
// batch.
type Strategy struct {
	distribute.Strategy
	resolver   cluster.Resolver
	assignment *DeviceAssignment
	spmd       bool // the cores of a replica are a mesh of one axis
}

// NewStrategy creates the strategy. Replicas of several cores need [Options].SPMDPartitioning; for layouts of variables
// over several devices use keras/distribution.
func NewStrategy(ctx context.Context, o Options) (*Strategy, error) {
	if o.DeviceAssignment != nil && o.Topology == nil {
		o.Topology = o.DeviceAssignment.topology
	}
	if o.Topology == nil {
		t, err := InitializeSystem(ctx, SystemOptions{Resolver: o.Resolver, DeviceKind: o.DeviceKind})
		if err != nil {
			return nil, err
		}
		o.Topology = t
	}
	if o.Topology.kind == "" {
		return nil, errors.New("tpu: the topology was made by hand and has no devices; use the one that InitializeSystem returns")
	}
	if n := o.Topology.NumTasks(); n > 1 && o.Topology.system == nil {
		return nil, fmt.Errorf("tpu: the TPU has %d hosts, which have not joined each other: give InitializeSystem the Resolver and Join", n)
	}
	a := o.DeviceAssignment
	switch {
	case a == nil:
		a = everyCore(o.Topology)
	case a.topology != o.Topology && (a.topology.kind != o.Topology.kind || a.topology.String() != o.Topology.String()):
		return nil, fmt.Errorf("tpu: the device assignment is for another topology: %v, the TPU is a %v", a.topology, o.Topology)
	case a.NumCoresPerReplica() > 1 && !o.SPMDPartitioning:
		return nil, fmt.Errorf("tpu: the device assignment has %d cores for each replica; expected 1, or the option SPMDPartitioning", a.NumCoresPerReplica())
	}
	var group distribute.WorkerGroup
	spans := false
	if o.Topology.system != nil {
		group = o.Topology.system.group
		var err error
		if spans, err = a.spans(); err != nil {
			return nil, err
		}
	}
	if group != nil && !spans {
		var err error
		if a, err = byHost(a, o.Topology); err != nil {
			return nil, err
		}
	}
	whole := func(p *ir.Program) ([][]int, error) { return make([][]int, len(p.Inputs)), nil }
	devices, err := places(a, spans, []int{a.NumCoresPerReplica()}, whole)
	if err != nil {
		return nil, err
	}
	inner, err := over(devices, group, spans, o.SameRandomNumbers)
	if err != nil {
		return nil, err
	}
	return &Strategy{inner, o.Resolver, a, a.NumCoresPerReplica() > 1}, nil
}

// over makes the strategy on the devices of this host's replicas.
func over(devices []kernels.Device, group distribute.WorkerGroup, spans, sameRandomNumbers bool) (distribute.Strategy, error) {
	o := distribute.TPUOptions{Devices: devices, Group: group, SameRandomNumbers: sameRandomNumbers}
	if spans {
		o.Group = nil
	}
	s, err := distribute.NewTPUStrategyOver(o)
	if err == nil && spans {
		s.Placement().Hosts = group
	}
	return s, err
}

// byHost numbers replicas host by host, as a strategy over several processes does. Each host needs the same number of
// replicas, on its own cores.
func byHost(a *DeviceAssignment, t *Topology) (*DeviceAssignment, error) {
	hosts := make([][][]Coordinates, t.NumTasks())
	for i, cores := range a.cores {
		host, _, err := a.find(i, 0)
		if err != nil {
			return nil, err
		}
		hosts[host] = append(hosts[host], cores)
	}
	for host, own := range hosts {
		if len(own) != len(hosts[0]) || len(own) == 0 {
			return nil, fmt.Errorf("tpu: the device assignment has %d replicas on host %d and %d on host 0; all hosts need equally many, and one at least", len(own), host, len(hosts[0]))
		}
	}
	return &DeviceAssignment{a.topology, slices.Concat(hosts...)}, nil
}

// places returns the devices of the replicas that are on this host, wholly or in part: cores, or meshes of several
// cores each.
func places(a *DeviceAssignment, spans bool, shape []int, layouts func(p *ir.Program) ([][]int, error)) ([]kernels.Device, error) {
	t := a.topology
	var devices []kernels.Device
	for i := range a.NumReplicas() {
		cores, numbers := make([]kernels.Device, a.NumCoresPerReplica()), make([]int, a.NumCoresPerReplica())
		own := true
		for j := range cores {
			task, n, err := a.find(i, j)
			if err != nil {
				return nil, err
			}
			own = own && task == t.own
			cores[j], numbers[j] = kernels.Device{Kind: t.kind, Index: n}, t.numbers[a.cores[i][j]]
		}
		switch {
		case !own && !spans:
			continue
		case len(cores) == 1:
			devices = append(devices, cores[0])
			continue
		}
		backend, err := kernels.Lookup(t.kind)
		if err != nil {
			return nil, fmt.Errorf("tpu: %w", err)
		}
		p, ok := backend.(kernels.Partitioner)
		if !ok {
			return nil, fmt.Errorf("tpu: SPMDPartitioning needs devices whose compiler divides programs, those of a PJRT plugin; %q are none", t.kind)
		}
		o := kernels.MeshOptions{Devices: cores, Shape: shape, Layouts: layouts}
		if spans {
			o.Devices, o.Span = nil, t.system.span(numbers)
		}
		mesh, err := p.NewMesh(o)
		if err != nil {
			return nil, fmt.Errorf("tpu: %w", err)
		}
		devices = append(devices, mesh)
	}
	return devices, nil
}

// everyCore has one replica on each device, in the order of their numbers.
func everyCore(t *Topology) *DeviceAssignment {
	a := &DeviceAssignment{topology: t}
	for _, host := range t.devices {
		for _, c := range host {
			a.cores = append(a.cores, []Coordinates{c})
		}
	}
	return a
}

// ClusterResolver is the resolver with which the strategy was created; nil if there was none.
func (s *Strategy) ClusterResolver() cluster.Resolver { return s.resolver }

// Close leaves a TPU with several hosts: the others learn that this one is gone, and cannot continue. With one host it
// does nothing.
func (s *Strategy) Close() error {
	if g := s.Placement().Hosts; g != nil {
		return g.Close()
	}
	if m, ok := s.Strategy.(*distribute.MultiWorkerMirroredStrategy); ok {
		return m.Close()
	}
	return nil
}

// Rank is the number of this process among the hosts of the TPU; 0 if there is only one.
func (s *Strategy) Rank() int {
	if g := s.Placement().Hosts; g != nil {
		return g.Rank()
	}
	if m, ok := s.Strategy.(*distribute.MultiWorkerMirroredStrategy); ok {
		return m.Rank()
	}
	return 0
}

// IsChief reports whether this process writes checkpoints and summaries: the host with rank 0.
func (s *Strategy) IsChief() bool { return s.Extended().ShouldCheckpoint() }

// DeviceAssignment says which core each replica is on. On a TPU of several hosts replicas are numbered host by host.
func (s *Strategy) DeviceAssignment() *DeviceAssignment { return s.assignment }

// Topology describes the positions of the cores.
func (s *Strategy) Topology() *Topology { return s.assignment.topology }

// AssignToLogicalDevice corresponds to experimental_assign_to_logical_device, with which TensorFlow places a tensor on
// one of the cores of a replica. Here the tensor stays where it is, which does not change any result. A core that the
// replica does not have is an error.
func (s *Strategy) AssignToLogicalDevice(x *ops.Tensor, logicalCore int) *ops.Tensor {
	if n := s.assignment.NumCoresPerReplica(); logicalCore < 0 || logicalCore >= n {
		ops.Failf(x.Graph(), "AssignToLogicalDevice: logical core %d; a replica has %d, counted from 0", logicalCore, n)
	}
	return x
}

// SplitToLogicalDevices splits a tensor over the cores of a replica (experimental_split_to_logical_devices): axis i
// into partitions[i] parts. The product of partitions must be the number of cores of a replica, and only one axis may
// be split.
func (s *Strategy) SplitToLogicalDevices(x *ops.Tensor, partitions ...int) *ops.Tensor {
	if len(partitions) != x.Rank() {
		ops.Failf(x.Graph(), "SplitToLogicalDevices: received %d numbers of parts; expected %d, one for each axis of %v", len(partitions), x.Rank(), x.Shape())
	}
	parts := 1
	for i, n := range partitions {
		if n < 1 || x.Dim(i)%n != 0 {
			ops.Failf(x.Graph(), "SplitToLogicalDevices: axis %d of length %d in %d parts; expected parts of equal length", i, x.Dim(i), n)
		}
		parts *= n
	}
	n := s.assignment.NumCoresPerReplica()
	if parts != n {
		ops.Failf(x.Graph(), "SplitToLogicalDevices: %v makes %d parts; expected %d, the cores of a replica", partitions, parts, n)
	}
	axes := slices.Repeat([]int{-1}, x.Rank())
	if n > 1 {
		i := slices.Index(partitions, n)
		if i < 0 {
			ops.Failf(x.Graph(), "SplitToLogicalDevices: %v cuts several axes; expected one axis in %d parts", partitions, n)
		}
		axes[i] = 0
	}
	return s.laidOut(x, axes)
}

// ReplicateToLogicalDevices copies a tensor to all cores of a replica (experimental_replicate_to_logical_devices).
func (s *Strategy) ReplicateToLogicalDevices(x *ops.Tensor) *ops.Tensor {
	return s.laidOut(x, slices.Repeat([]int{-1}, x.Rank()))
}

func (s *Strategy) laidOut(x *ops.Tensor, axes []int) *ops.Tensor {
	if !s.spmd {
		return x
	}
	return ops.WithLayout(x, []int{s.assignment.NumCoresPerReplica()}, axes)
}
