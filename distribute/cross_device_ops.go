package distribute

import (
	"context"
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// CrossDeviceOps combine values over the replicas of one process. Pass one in [MirroredOptions]. To write your own, use
// [CrossDeviceFunc].
type CrossDeviceOps interface {
	// communicators connects one replica on each device. hosted says that other communicators call these on behalf of
	// running programs, with values that are in host memory or are read and written from there.
	communicators(devices []kernels.Device, hosted bool) ([]kernels.Communicator, error)
	// check reports why the ops cannot serve these devices.
	check(devices []kernels.Device) error
}

// checkedOps returns the ops to use on the devices: nil stays nil.
func checkedOps(o CrossDeviceOps, devices []kernels.Device) (CrossDeviceOps, error) {
	if o == nil {
		return nil, nil
	}
	if err := o.check(devices); err != nil {
		return nil, err
	}
	if n, ok := o.(NcclAllReduce); ok && n.Fallback {
		switch gpus, err := haveLibrary(devices, kernels.NCCL); {
		case !gpus:
			return ReductionToOneDevice{}, nil
		case err != nil && n.Wire != ir.Invalid:
			return ownWay{n.Wire}, nil
		case err != nil:
			return nil, nil // the backend's own way
		}
	}
	return o, nil
}

// arranger returns the backend of the devices if they combine values themselves, in an order that they are given; nil
// if the host combines them.
func arranger(devices []kernels.Device) kernels.Arranger {
	b, err := kernels.Lookup(devices[0].Kind)
	if err != nil || !sameKind(devices) {
		return nil
	}
	a, _ := b.(kernels.Arranger)
	return a
}

// ownWay is the backend's own method, with a type for the values on the wire.
type ownWay struct{ wire ir.DType }

func (o ownWay) check([]kernels.Device) error { return nil }

func (o ownWay) communicators(devices []kernels.Device, _ bool) ([]kernels.Communicator, error) {
	backend, err := kernels.Lookup(devices[0].Kind)
	if err != nil {
		return nil, err
	}
	return backend.NewCommunicators(context.Background(), kernels.CommunicatorOptions{Devices: devices, Narrow: o.wire})
}

// ReductionToOneDevice copies all values to one device, combines them there in replica order and copies the result
// back. GPUs do so in device memory; GPUs that cannot access each other's memory use pinned host memory.
type ReductionToOneDevice struct {
	// Device combines the values; "" means the first replica's device. It must be one of the replicas' devices, or any
	// device whose memory is host memory.
	Device string
}

func (o ReductionToOneDevice) check(devices []kernels.Device) error {
	_, err := o.root(devices)
	return err
}

// root returns the replica that combines.
func (o ReductionToOneDevice) root(devices []kernels.Device) (int, error) {
	if o.Device == "" {
		return 0, nil
	}
	d, err := kernels.ParseDevice(o.Device)
	if err != nil {
		return 0, fmt.Errorf("ReductionToOneDevice: %w", err)
	}
	for i, other := range devices {
		if d == other {
			return i, nil
		}
	}
	if d.Kind == "cpu" && devices[0].Kind == "cpu" {
		return 0, nil // host memory is one device
	}
	return 0, fmt.Errorf("ReductionToOneDevice: device %v runs no replica; use one of %v", d, devices)
}

func (o ReductionToOneDevice) communicators(devices []kernels.Device, hosted bool) ([]kernels.Communicator, error) {
	root, err := o.root(devices)
	if err != nil {
		return nil, err
	}
	group := []int{root}
	for i := range devices {
		if i != root {
			group = append(group, i)
		}
	}
	return arranged(devices, hosted, kernels.Arrangement{Groups: [][]int{group}}, func() ([]kernels.Communicator, error) {
		return newHostGroup(devices, 0, func(c *hostCommunicator, p *pack) { c.reduceAt(root, p) })
	})
}

// HierarchicalCopyAllReduce combines values in two levels: within groups of replicas, then over the groups. It suits
// machines whose devices are linked in groups, such as the eight GPUs of a DGX-1. GPUs are grouped as NVLink and PCIe
// connect them; if that is unknown, and on CPUs, each group is four consecutive replicas. GPUs combine in device
// memory: the first of each group adds up the values of its group, the first of all adds up the groups' sums, and the
// results go back the same way. Only GPUs that cannot access each other's memory use pinned host memory.
type HierarchicalCopyAllReduce struct {
	// NumPacks is the number of packs in which the values of one call are combined; 0 combines each value on its own.
	// GPUs combine one pack within groups while the previous one travels between groups.
	NumPacks int
}

const hierarchyGroup = 4

func (o HierarchicalCopyAllReduce) check([]kernels.Device) error {
	return checkPacks("HierarchicalCopyAllReduce", o.NumPacks)
}

func (o HierarchicalCopyAllReduce) communicators(devices []kernels.Device, hosted bool) ([]kernels.Communicator, error) {
	groups := groupsOf(devices)
	return arranged(devices, hosted, kernels.Arrangement{Groups: groups, Packs: o.NumPacks}, func() ([]kernels.Communicator, error) {
		all, err := newHostGroup(devices, o.NumPacks, (*hostCommunicator).reduceInGroups)
		if err != nil {
			return nil, err
		}
		for _, members := range groups {
			for _, i := range members {
				all[i].(*hostCommunicator).near = members
			}
		}
		return all, nil
	})
}

// groupsOf splits replicas into groups of nearby devices. The first of a group leads it.
func groupsOf(devices []kernels.Device) [][]int {
	if b, err := kernels.Lookup(devices[0].Kind); err == nil {
		if g, ok := b.(kernels.Grouper); ok && sameKind(devices) {
			if groups := g.Groups(devices); groups != nil {
				return groups
			}
		}
	}
	var groups [][]int
	for i := range devices {
		if i%hierarchyGroup == 0 {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], i)
	}
	return groups
}

func sameKind(devices []kernels.Device) bool {
	return !slices.ContainsFunc(devices, func(d kernels.Device) bool { return d.Kind != devices[0].Kind })
}

// RingAllReduce passes parts of the values around a ring of replicas: n-1 steps to combine, n-1 to distribute the
// results. Each replica sends and receives 2·(n-1)/n of the data. The order of summation follows the ring, so it is the
// same on every run. GPUs do so in device memory.
type RingAllReduce struct {
	// NumPacks is the number of packs in which the values of one call are combined; 0 combines each value on its own.
	NumPacks int
}

func (o RingAllReduce) check([]kernels.Device) error { return checkPacks("RingAllReduce", o.NumPacks) }

func (o RingAllReduce) communicators(devices []kernels.Device, hosted bool) ([]kernels.Communicator, error) {
	return arranged(devices, hosted, kernels.Arrangement{Ring: true, Packs: o.NumPacks}, func() ([]kernels.Communicator, error) {
		return newHostGroup(devices, o.NumPacks, (*hostCommunicator).reduceInRing)
	})
}

// haveLibrary reports whether the devices can combine values with libraries at all, and why not with this one.
func haveLibrary(devices []kernels.Device, name string) (able bool, err error) {
	backend, err := kernels.Lookup(devices[0].Kind)
	if err != nil {
		return false, err
	}
	checker, able := backend.(kernels.LibraryChecker)
	if !able {
		return false, fmt.Errorf("devices of kind %q do not use %s", devices[0].Kind, name)
	}
	return true, checker.CheckLibrary(name)
}

// NcclAllReduce combines values with NVIDIA's NCCL. It needs GPUs and the library libnccl.so.2; without them it is an
// error, unless Fallback is set. Tested with a fake library; not run on hardware.
type NcclAllReduce struct {
	// NumPacks is the number of packs in which NCCL combines the values of one call, laid end to end; 0 combines each
	// value on its own, in one NCCL group. (TensorFlow's default is 1.) It does not affect 16-bit floats.
	NumPacks int
	// Wire is the type in which float32 values of more than 16 KiB travel between the GPUs when they are summed:
	// [ir.BFloat16] or [ir.Float16]; 0 means float32. The sums are computed in float32, in the order of the replicas,
	// even if Fallback replaces NCCL.
	Wire ir.DType
	// Fallback uses the GPU backend's own method if there is no NCCL, and ReductionToOneDevice if there are no GPUs, as
	// TensorFlow does.
	Fallback bool
	// Captured captures a repeated step as one graph over all GPUs of the process, including NCCL's calls. It then
	// takes one launch instead of one per kernel, which helps if steps are short. By default such steps are launched
	// kernel by kernel, because NVIDIA's guide warns that captures with several GPUs in one process may deadlock: a
	// launch may wait until other GPUs have launched too. The guide recommends one process per GPU ("keras launch
	// --devices-per-worker 1"), where steps are always captured. Try Captured if one process per GPU is not an option,
	// with a time limit around the first steps. If the version of the library refuses capture, steps are not captured.
	// Tested with a fake library; not run on hardware.
	Captured bool
}

func (o NcclAllReduce) check(devices []kernels.Device) error {
	if err := checkPacks("NcclAllReduce", o.NumPacks); err != nil {
		return err
	}
	if o.Wire != ir.Invalid && !o.Wire.IsHalf() {
		return fmt.Errorf("NcclAllReduce: sums cannot travel between GPUs as %v; Wire is bfloat16, float16, or left out", o.Wire)
	}
	if o.Fallback {
		return nil
	}
	switch gpus, err := haveLibrary(devices, kernels.NCCL); {
	case !gpus:
		return fmt.Errorf("NcclAllReduce needs GPUs, the devices are %v; leave CrossDeviceOps out, use ReductionToOneDevice, or set Fallback", devices)
	case err != nil:
		return fmt.Errorf("NcclAllReduce: %w; or leave CrossDeviceOps out, or set Fallback, and the GPUs combine values by kernels of their own", err)
	}
	return nil
}

func (o NcclAllReduce) communicators(devices []kernels.Device, _ bool) ([]kernels.Communicator, error) {
	backend, err := kernels.Lookup(devices[0].Kind)
	if err != nil {
		return nil, err
	}
	return backend.NewCommunicators(context.Background(), kernels.CommunicatorOptions{Devices: devices, Library: kernels.NCCL, Packs: o.NumPacks, Narrow: o.Wire, Captured: o.Captured})
}

func checkPacks(what string, n int) error {
	if n < 0 {
		return fmt.Errorf("%s: NumPacks is %d; expected 0 or more", what, n)
	}
	return nil
}

// CommunicationOptions set the size of the pieces in which replicas exchange gradients.
type CommunicationOptions struct {
	// BytesPerPack is the size of the buckets in which gradients are summed, in bytes; 0 means 4 MiB. A bucket holds
	// whole gradients, at least one.
	BytesPerPack int
}

func (o CommunicationOptions) check() error {
	if o.BytesPerPack < 0 {
		return fmt.Errorf("BytesPerPack is %d; expected 0 (the default) or more", o.BytesPerPack)
	}
	return nil
}
