package distribute_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/kernels/ir"
)

// The CPU's own communicators; a function would wrap them, or return others.
func ExampleCrossDeviceFunc() {
	withCrossDeviceOps(distribute.CrossDeviceFunc(func(devices []kernels.Device) ([]kernels.Communicator, error) {
		return cpu.Backend{}.NewCommunicators(context.Background(), kernels.CommunicatorOptions{Devices: devices})
	}))
	// Output: 3
}

// What a function returns is checked before replicas use it.
func TestCrossDeviceFuncIsChecked(t *testing.T) {
	connect := func(devices []kernels.Device) []kernels.Communicator {
		all, err := cpu.Backend{}.NewCommunicators(t.Context(), kernels.CommunicatorOptions{Devices: devices})
		require.NoError(t, err)
		return all
	}
	for want, f := range map[string]distribute.CrossDeviceFunc{
		"no wire":                              func([]kernels.Device) ([]kernels.Communicator, error) { return nil, errors.New("no wire") },
		"returned 1 communicators; expected 2": func(d []kernels.Device) ([]kernels.Communicator, error) { return connect(d)[:1], nil },
		"no communicator for replica 1": func(d []kernels.Device) ([]kernels.Communicator, error) {
			return []kernels.Communicator{connect(d)[0], nil}, nil
		},
		"is replica 1 of 2; expected 0 of 2": func(d []kernels.Device) ([]kernels.Communicator, error) {
			all := connect(d)
			return []kernels.Communicator{all[1], all[0]}, nil
		},
	} {
		s, err := distribute.NewMirroredStrategyWith(distribute.MirroredOptions{Devices: []string{"cpu:0", "cpu:1"}, CrossDeviceOps: f})
		require.NoError(t, err)
		sum := distribute.NewNestFunction(s, func(r *distribute.Replica, args ...any) any { return r.AllReduce(ir.Sum, args[0].(*ops.Tensor))[0] })
		_, err = sum.Run(t.Context(), distribute.PerReplica{scalar(1), scalar(2)})
		require.ErrorContains(t, err, want)
	}
	_, err := distribute.NewMirroredStrategyWith(distribute.MirroredOptions{CrossDeviceOps: distribute.CrossDeviceFunc(nil)})
	require.ErrorContains(t, err, "CrossDeviceFunc is nil")
}
