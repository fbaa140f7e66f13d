package distribute

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels"
)

// CrossDeviceFunc implements custom [CrossDeviceOps]: a function that connects one replica on each of the devices and
// returns their communicators, in the order of the devices. It can wrap the communicators of the devices' backend
// ([kernels.Lookup], NewCommunicators). The strategy calls it for each step that runs concurrently with others, and
// again after a set of communicators was aborted, so it must be safe for concurrent use.
//
// A [kernels.Communicator] combines values in replica order, or in another order that is the same on all replicas, so
// that all get the same bits. If it is also a [kernels.Overlapper], it sums gradients while the replica computes.
// Devices that combine values themselves, such as GPUs, accept only communicators of their own backend; devices whose
// buffers are in host memory accept any.
//
// A custom strategy is a type that embeds a [Strategy] with such ops:
//
//	inner, err := distribute.NewMirroredStrategyWith(distribute.MirroredOptions{Devices: devices, CrossDeviceOps: distribute.CrossDeviceFunc(connect)})
//	return &MyStrategy{Strategy: inner}, err
type CrossDeviceFunc func(devices []kernels.Device) ([]kernels.Communicator, error)

func (f CrossDeviceFunc) check([]kernels.Device) error {
	if f == nil {
		return fmt.Errorf("CrossDeviceFunc is nil; leave CrossDeviceOps out for the backend's own way")
	}
	return nil
}

func (f CrossDeviceFunc) communicators(devices []kernels.Device, _ bool) ([]kernels.Communicator, error) {
	all, err := f(devices)
	if err != nil {
		return nil, fmt.Errorf("distribute: CrossDeviceFunc: %w", err)
	}
	if len(all) != len(devices) {
		return nil, fmt.Errorf("distribute: CrossDeviceFunc returned %d communicators; expected %d, one for each of %v", len(all), len(devices), devices)
	}
	for i, c := range all {
		switch {
		case c == nil:
			return nil, fmt.Errorf("distribute: CrossDeviceFunc returned no communicator for replica %d", i)
		case c.Replica() != i || c.Replicas() != len(devices):
			return nil, fmt.Errorf("distribute: CrossDeviceFunc: communicator %d says that it is replica %d of %d; expected %d of %d", i, c.Replica(), c.Replicas(), i, len(devices))
		}
	}
	return all, nil
}
