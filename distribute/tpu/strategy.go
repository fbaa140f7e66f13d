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
	// Resolver says where the TPU is; nil is the TPU of this machine.
	Resolver cluster.Resolver
	// Topology is what InitializeSystem returned; nil initializes.
	Topology *Topology
	// DeviceKind is that of [SystemOptions], where Topology is nil.
	DeviceKind string
	// DeviceAssignment says which core each replica is on; nil takes all, in the order of their numbers.
	DeviceAssignment *DeviceAssignment
	// SPMDPartitioning (experimental_spmd_xla_partitioning) lets a replica have several cores: XLA divides its program
	// over them, as SplitToLogicalDevices and ReplicateToLogicalDevices of the strategy say of its tensors, and copies
	// what they say nothing of. It needs devices of a PJRT plugin.
	SPMDPartitioning bool
	// SameRandomNumbers makes all replicas draw the same random numbers.
	SameRandomNumbers bool
}

// Strategy is tf.distribute.TPUStrategy: one replica on each core, synchronous, all in one compiled program. What a
// model or a loop does under it is what it does under a mirrored strategy; N replicas compute what one computes on the
// joined batch.
type Strategy struct {
	distribute.Strategy
	resolver   cluster.Resolver
	assignment *DeviceAssignment
	spmd       bool // the cores of a replica are a mesh of one axis
}

// NewStrategy makes the strategy. Replicas of several cores need [Options].SPMDPartitioning; layouts of variables over
// several devices are those of keras/distribution.
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
	if n := o.Topology.NumTasks(); n > 1 {
		return nil, fmt.Errorf("tpu: the TPU has %d hosts; several hosts are not supported yet", n)
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
	devices, err := places(o.Topology.kind, a)
	if err != nil {
		return nil, err
	}
	inner, err := distribute.NewTPUStrategyOver(distribute.TPUOptions{Devices: devices, SameRandomNumbers: o.SameRandomNumbers})
	if err != nil {
		return nil, err
	}
	return &Strategy{inner, o.Resolver, a, a.NumCoresPerReplica() > 1}, nil
}

// places are the devices of the replicas: cores, or meshes of several cores each.
func places(kind string, a *DeviceAssignment) ([]kernels.Device, error) {
	devices := make([]kernels.Device, a.NumReplicas())
	for i := range devices {
		cores := make([]kernels.Device, a.NumCoresPerReplica())
		for j := range cores {
			n, err := a.Ordinal(i, j)
			if err != nil {
				return nil, err
			}
			cores[j] = kernels.Device{Kind: kind, Index: n}
		}
		devices[i] = cores[0]
		if len(cores) == 1 {
			continue
		}
		backend, err := kernels.Lookup(kind)
		if err != nil {
			return nil, fmt.Errorf("tpu: %w", err)
		}
		p, ok := backend.(kernels.Partitioner)
		if !ok {
			return nil, fmt.Errorf("tpu: SPMDPartitioning needs devices whose compiler divides programs, those of a PJRT plugin; %q are none", kind)
		}
		whole := func(p *ir.Program) ([][]int, error) { return make([][]int, len(p.Inputs)), nil }
		if devices[i], err = p.NewMesh(kernels.MeshOptions{Devices: cores, Shape: []int{len(cores)}, Layouts: whole}); err != nil {
			return nil, fmt.Errorf("tpu: %w", err)
		}
	}
	return devices, nil
}

// everyCore has one replica on each device, in the order of their numbers.
func everyCore(t *Topology) *DeviceAssignment {
	a := &DeviceAssignment{topology: t}
	for _, c := range t.devices[0] {
		a.cores = append(a.cores, []Coordinates{c})
	}
	return a
}

// ClusterResolver is the resolver that the strategy was made with; nil where there was none.
func (s *Strategy) ClusterResolver() cluster.Resolver { return s.resolver }

// DeviceAssignment says which core each replica is on.
func (s *Strategy) DeviceAssignment() *DeviceAssignment { return s.assignment }

// Topology has the places of the cores.
func (s *Strategy) Topology() *Topology { return s.assignment.topology }

// AssignToLogicalDevice is where TensorFlow places a tensor on one of the cores of a replica
// (experimental_assign_to_logical_device). The tensor stays where it is, which changes no number; a core that a replica
// does not have is an error.
func (s *Strategy) AssignToLogicalDevice(x *ops.Tensor, logicalCore int) *ops.Tensor {
	if n := s.assignment.NumCoresPerReplica(); logicalCore < 0 || logicalCore >= n {
		ops.Failf(x.Graph(), "AssignToLogicalDevice: logical core %d; a replica has %d, counted from 0", logicalCore, n)
	}
	return x
}

// SplitToLogicalDevices cuts a tensor over the cores of a replica (experimental_split_to_logical_devices): along axis i
// in partitions[i] parts. Their product must be the number of cores of a replica, and one axis may be cut.
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
