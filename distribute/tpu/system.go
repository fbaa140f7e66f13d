package tpu

import (
	"context"
	"errors"
	"fmt"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/kernels"
)

// Kind is the kind of device of TPUs, "tpu:0".
const Kind = "tpu"

// SystemOptions configure [InitializeSystem]. The zero value is the TPU of this machine.
type SystemOptions struct {
	// Resolver says where the TPU is; nil is the TPU of this machine.
	Resolver cluster.Resolver
	// DeviceKind is the kind of the devices; "" is "tpu". With "xla" the cores are the devices of another PJRT plugin,
	// with "cpu" logical ones of the CPU, for trying a program out.
	DeviceKind string
	// Cores is how many logical devices of "cpu" there are; 0 is 1. Other kinds count their own.
	Cores int
}

// ConnectToCluster finds out where the TPU is and whether this process can use it:
// tf.config.experimental_connect_to_cluster. There is no server to connect to; the program runs on the TPU's host.
func ConnectToCluster(_ context.Context, resolver cluster.Resolver) error {
	if resolver == nil {
		return errors.New("tpu: the resolver is nil; use &cluster.TPU{}")
	}
	spec, err := resolver.Spec()
	if err != nil {
		return err
	}
	if spec.Empty() {
		return nil // the TPU of this machine
	}
	job, err := resolver.TaskType()
	if err != nil {
		return err
	}
	addresses, err := spec.JobTasks(job)
	if err != nil {
		return err
	}
	if n := len(addresses); n > 1 {
		return fmt.Errorf("tpu: the TPU has %d hosts (%v); several hosts are not supported yet: use a TPU of one host, or TPU name \"local\" for the chips of this one", n, spec)
	}
	return nil
}

// InitializeSystem opens the TPU and returns the places of its cores: tf.tpu.experimental.initialize_tpu_system.
// Opening a device takes hold of it for this process. It can be called again; what is open stays open. The end of ctx
// ends the waiting.
func InitializeSystem(ctx context.Context, o SystemOptions) (*Topology, error) {
	if o.Resolver != nil {
		if err := ConnectToCluster(ctx, o.Resolver); err != nil {
			return nil, err
		}
	}
	type answer struct {
		t   *Topology
		err error
	}
	done := make(chan answer, 1)
	go func() {
		t, err := survey(o)
		done <- answer{t, err}
	}()
	select {
	case a := <-done:
		return a.t, a.err
	case <-ctx.Done():
		return nil, fmt.Errorf("tpu: the TPU did not answer: %w", context.Cause(ctx))
	}
}

// survey opens the devices and finds out where they are.
func survey(o SystemOptions) (*Topology, error) {
	kind := o.DeviceKind
	if kind == "" {
		kind = Kind
	}
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
		return topologyOf(kind, cores)
	}
	cores := make([]kernels.Core, max(o.Cores, 1))
	if kind != "cpu" {
		cores = make([]kernels.Core, max(len(backend.Devices()), 1))
	}
	return topologyOf(kind, cores)
}
