package distribute

import (
	"fmt"
)

// MirroredOptions configure [NewMirroredStrategyWith]. The zero value is what NewMirroredStrategy uses.
type MirroredOptions struct {
	// Devices lists one device per replica; nil means every accelerator of an imported backend, or the CPU if there is
	// none.
	Devices []string
	// CrossDeviceOps combine values over the replicas; nil means the backend's own method. On CPUs every replica
	// combines an equal share of each value, in replica order.
	CrossDeviceOps CrossDeviceOps
	// Communication sets the size of the pieces in which gradients are summed.
	Communication CommunicationOptions
	// SameRandomNumbers makes all replicas draw the same random numbers, so that their dropout masks coincide, as in
	// Keras 3. By default each replica has its own stream.
	SameRandomNumbers bool
	// ShardOptimizerState keeps only one piece of each optimizer variable (momenta, moving averages, accumulated
	// gradients) on each replica, so that with N replicas they take 1/N of the memory (stage 1 of ZeRO: Rajbhandari et
	// al., 2020). Each replica updates its piece of the weights, and all gather the results. Every optimizer and option
	// works, with the same results; rules that do not work element by element (Lamb, Adafactor, Muon, custom rules
	// without an Elementwise method) gather their state for the update of each weight. Files hold the complete state,
	// so they fit any number of replicas.
	ShardOptimizerState bool
}

// NewMirroredStrategy runs one replica on each of the given devices of this machine. All hold the same weights, and
// every step sums their gradients. Without devices it uses every accelerator of an imported backend, or the CPU if
// there is none. Logical CPU devices "cpu:0", "cpu:1", ... are real replicas. See [NewMirroredStrategyWith] for further
// options.
func NewMirroredStrategy(devices ...string) (Strategy, error) {
	return NewMirroredStrategyWith(MirroredOptions{Devices: devices})
}

// NewMirroredStrategyWith is NewMirroredStrategy with options. A list of devices that is empty but not nil is an error
// (TensorFlow then takes every device).
func NewMirroredStrategyWith(o MirroredOptions) (Strategy, error) {
	list, err := parseDevices("MirroredStrategy", o.Devices)
	if err != nil {
		return nil, err
	}
	if o.Devices == nil {
		list = accelerators()
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("distribute: MirroredStrategy: the list of devices is empty; name at least one, or none at all to use every accelerator")
	}
	s, err := newLocal("Mirrored", list)
	if err != nil {
		return nil, err
	}
	if s.crossOps, err = checkedOps(o.CrossDeviceOps, list); err != nil {
		return nil, fmt.Errorf("distribute: MirroredStrategy: %w", err)
	}
	if err := o.Communication.check(); err != nil {
		return nil, fmt.Errorf("distribute: MirroredStrategy: %w", err)
	}
	s.at.BytesPerPack, s.at.SameDraws, s.at.ShardOptimizerState = o.Communication.BytesPerPack, o.SameRandomNumbers, o.ShardOptimizerState
	return s, nil
}
