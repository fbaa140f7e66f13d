package distribute

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels"
)

// CentralStorageOptions configure [NewCentralStorageStrategyWith].
type CentralStorageOptions struct {
	// ComputeDevices run one replica each; nil means every accelerator of an imported backend, or the CPU if there is
	// none.
	ComputeDevices []string
	// ParameterDevice holds the variables; "" means the compute device if there is exactly one, otherwise "cpu:0".
	ParameterDevice string
	// CrossDeviceOps combine values over the replicas; nil means the backend's own method.
	CrossDeviceOps CrossDeviceOps
}

// NewCentralStorageStrategy runs one replica on each of the given devices of this machine. It stores every variable,
// including optimizer slots, only once: on "cpu:0", or on the compute device if there is exactly one. Replicas fetch
// the values that they read at the start of each step. The first replica computes each update, from values combined
// over all replicas. Variables that replicas write need an aggregation; see [Replica.Assign].
//
// Compared with a Mirrored strategy on k devices, it saves the memory and time of k-1 updates, but copies the weights k
// times in each step. Clipping acts on the summed gradient, as under all strategies (TensorFlow refuses to clip here).
func NewCentralStorageStrategy(devices ...string) (Strategy, error) {
	return NewCentralStorageStrategyWith(CentralStorageOptions{ComputeDevices: devices})
}

// NewCentralStorageStrategyWith is NewCentralStorageStrategy with options.
func NewCentralStorageStrategyWith(o CentralStorageOptions) (Strategy, error) {
	const what = "CentralStorageStrategy"
	list, err := parseDevices(what, o.ComputeDevices)
	if err != nil {
		return nil, err
	}
	if o.ComputeDevices == nil {
		list = accelerators()
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("distribute: %s: the list of compute devices is empty; name at least one, or none at all to use every accelerator", what)
	}
	s, err := newLocal("CentralStorage", list)
	if err != nil {
		return nil, err
	}
	s.at.Central = true
	switch {
	case o.ParameterDevice != "":
		p, err := parseDevices(what, []string{o.ParameterDevice})
		if err != nil {
			return nil, err
		}
		s.at.Parameter = p[0]
	case len(list) == 1:
		s.at.Parameter = list[0]
	default:
		s.at.Parameter = kernels.Device{Kind: "cpu"}
	}
	backend, err := kernels.Lookup(s.at.Parameter.Kind)
	if err == nil {
		err = backend.Open(s.at.Parameter)
	}
	if err != nil {
		return nil, fmt.Errorf("distribute: %s: parameter device: %w", what, err)
	}
	if s.crossOps, err = checkedOps(o.CrossDeviceOps, list); err != nil {
		return nil, fmt.Errorf("distribute: %s: %w", what, err)
	}
	return s, nil
}
