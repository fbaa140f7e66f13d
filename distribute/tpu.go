package distribute

import (
	"context"
	"errors"
	"fmt"

	"github.com/gokeras/gokeras/kernels"
)

// TPUOptions configure [NewTPUStrategyOver].
type TPUOptions struct {
	// Devices lists one device per replica of this process, in the order of the replicas.
	Devices []kernels.Device
	// Group connects the hosts of a TPU with several hosts, whose devices were joined ([kernels.Joiner]); nil means one
	// host. All hosts have the same number n of devices, and replica i of the host with rank r has number r·n + i.
	// Closing the strategy, which is a [MultiWorkerMirroredStrategy], closes the group. Losing a host ends the job: a
	// TPU cannot continue without it.
	Group WorkerGroup
	// SameRandomNumbers makes all replicas draw the same random numbers.
	SameRandomNumbers bool
}

// NewTPUStrategyOver creates the strategy of package distribute/tpu on devices of this process. Most programs call
// tpu.NewStrategy, which finds the devices. All replicas run one program with static shapes: a short batch whose parts
// would differ in length is padded, and the padding does not affect any result (see [Replica].Rows).
func NewTPUStrategyOver(o TPUOptions) (Strategy, error) {
	if len(o.Devices) == 0 {
		return nil, errors.New("distribute: TPUStrategy: the list of devices is empty; name one for each replica")
	}
	s, err := newLocal("TPU", o.Devices)
	if err != nil {
		return nil, fmt.Errorf("distribute: TPUStrategy: %w", err)
	}
	s.at.Lockstep, s.at.SameDraws = true, o.SameRandomNumbers
	if o.Group == nil || o.Group.Size() == 1 {
		return s, nil
	}
	m := &MultiWorkerMirroredStrategy{local: s}
	s.is(m)
	s.at.Group = o.Group
	if g, ok := o.Group.(EndingGroup); ok {
		s.at.Group = lasting{g}
	}
	m.place(o.Group)
	if err := m.meet(context.Background()); err != nil {
		return nil, err
	}
	return m, nil
}

// lasting hides that a group could be formed again: the devices of its processes depend on each other.
type lasting struct{ EndingGroup }
