package tpu

import (
	"context"
	"errors"
	"fmt"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/kernels"
)

// Kind is the kind of device of TPUs, "tpu:0".
const Kind = "tpu"

// SystemOptions configure [InitializeSystem]. The zero value is the TPU of this machine.
type SystemOptions struct {
	// Resolver says where the TPU is; nil means the TPU of this machine.
	Resolver cluster.Resolver
	// DeviceKind is the kind of the devices; "" means "tpu". With "xla" the cores are the devices of another PJRT
	// plugin, with "cpu" logical devices of the CPU, for trying a program out.
	DeviceKind string
	// Cores is the number of logical devices if DeviceKind is "cpu"; 0 means 1. Other kinds report their own number.
	Cores int
	// Join connects the hosts of a TPU with several hosts, of which this process is the given task;
	// multiworker.JoinHosts returns such a function. It is not called for a TPU with one host.
	Join func(ctx context.Context, hosts *cluster.Spec, own cluster.Task) (distribute.WorkerGroup, error)
}

// ConnectToCluster finds out which hosts the TPU has and which of them this process is on:
// tf.config.experimental_connect_to_cluster. There is no server to connect to: the program runs on the TPU's hosts, and
// [InitializeSystem] connects them.
func ConnectToCluster(_ context.Context, resolver cluster.Resolver) error {
	_, _, err := hostsOf(resolver)
	return err
}

// hostsOf resolves the hosts of the TPU; there are none if it is the TPU of this machine.
func hostsOf(resolver cluster.Resolver) (*cluster.Spec, cluster.Task, error) {
	if resolver == nil {
		return nil, cluster.Unknown, errors.New("tpu: the resolver is nil; use &cluster.TPU{}")
	}
	spec, err := resolver.Spec()
	if err != nil || spec.Empty() {
		return nil, cluster.Unknown, err
	}
	return cluster.Resolve(resolver)
}

// InitializeSystem opens the TPU and returns the positions of its cores: tf.tpu.experimental.initialize_tpu_system. An
// open device belongs to this process alone. It can be called again; open devices stay open. The end of ctx ends the
// wait.
//
// If the TPU has several hosts, the program runs on all of them, and all call this: they join each other
// ([SystemOptions].Join) and open the devices together. If a host does not join, cannot open its devices, or is lost
// meanwhile, all hosts return an error that names it; then restart all processes.
func InitializeSystem(ctx context.Context, o SystemOptions) (*Topology, error) {
	if o.DeviceKind == "" {
		o.DeviceKind = Kind
	}
	var own *system
	if o.Resolver != nil {
		spec, task, err := hostsOf(o.Resolver)
		if err != nil {
			return nil, err
		}
		if own, err = join(ctx, o, spec, task); err != nil {
			return nil, err
		}
	}
	return within(ctx, func() (*Topology, error) { return survey(o, own) })
}

// within makes a call that may not return before ctx ends.
func within[T any](ctx context.Context, call func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		value, err := call()
		done <- answer{value, err}
	}()
	select {
	case a := <-done:
		return a.value, a.err
	case <-ctx.Done():
		var none T
		return none, fmt.Errorf("tpu: the TPU did not answer: %w", context.Cause(ctx))
	}
}

// survey opens the devices and determines their positions.
func survey(o SystemOptions, own *system) (*Topology, error) {
	kind := o.DeviceKind
	if o.Cores != 0 && kind != "cpu" || o.Cores < 0 {
		return nil, fmt.Errorf("tpu: Cores is %d with devices of kind %q; only logical devices of \"cpu\" can be counted", o.Cores, kind)
	}
	backend, err := kernels.Lookup(kind)
	if err != nil {
		return nil, fmt.Errorf("tpu: %w; import _ \"github.com/gokeras/gokeras/kernels/pjrt\"", err)
	}
	if err := backend.Open(kernels.Device{Kind: kind}); err != nil {
		return nil, fmt.Errorf("tpu: no TPU devices found: %w", err)
	}
	if s, ok := backend.(kernels.Surveyor); ok {
		cores, err := s.Cores()
		if err != nil {
			return nil, fmt.Errorf("tpu: %w", err)
		}
		return topologyOf(kind, cores, own)
	}
	cores := make([]kernels.Core, max(o.Cores, 1))
	if kind != "cpu" {
		cores = make([]kernels.Core, max(len(backend.Devices()), 1))
	}
	return topologyOf(kind, cores, own)
}
