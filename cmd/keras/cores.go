package main

import (
	"context"
	"fmt"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/multiworker"
	"github.com/gokeras/gokeras/distribute/tpu"
	"github.com/gokeras/gokeras/kernels"
)

// onCores creates the strategy tpu. It runs on the given devices, on all cores of the TPU that the environment names,
// each of whose hosts runs the same command, or on the TPU of this machine.
func (f *modelFlags) onCores(ctx context.Context, security securityFlags) (*tpu.Strategy, error) {
	if len(f.devices) == 0 {
		if _, err := kernels.Lookup(tpu.Kind); err != nil {
			return nil, fmt.Errorf("--strategy tpu: this program was built without PJRT plugins; build it with: go build -tags pjrt ./cmd/keras: %w", err)
		}
		proof, err := security.security()
		if err != nil {
			return nil, err
		}
		resolver := &cluster.TPU{}
		topology, err := tpu.InitializeSystem(ctx, tpu.SystemOptions{Resolver: resolver, Join: multiworker.JoinHosts(multiworker.Options{Security: proof})})
		if err != nil {
			return nil, err
		}
		return tpu.NewStrategy(ctx, tpu.Options{Resolver: resolver, Topology: topology})
	}
	o, indices := tpu.SystemOptions{}, []int{}
	for _, name := range f.devices {
		d, err := kernels.ParseDevice(name)
		if err != nil {
			return nil, usagef("--devices: %w", err)
		}
		if o.DeviceKind != "" && d.Kind != o.DeviceKind {
			return nil, usagef("--devices %s: devices of the kinds %q and %q; the replicas of --strategy tpu run on one kind", name, o.DeviceKind, d.Kind)
		}
		o.DeviceKind = d.Kind
		if indices = append(indices, d.Index); d.Kind == "cpu" {
			o.Cores = max(o.Cores, d.Index+1)
		}
	}
	topology, err := tpu.InitializeSystem(ctx, o)
	if err != nil {
		return nil, err
	}
	var cores [][]tpu.Coordinates
	for _, i := range indices {
		at, err := topology.DeviceCoordinates(0, i)
		if err != nil {
			return nil, fmt.Errorf("--devices: %w", err)
		}
		cores = append(cores, []tpu.Coordinates{at})
	}
	assignment, err := tpu.NewDeviceAssignment(topology, cores)
	if err != nil {
		return nil, err
	}
	return tpu.NewStrategy(ctx, tpu.Options{DeviceAssignment: assignment})
}
