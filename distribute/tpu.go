package distribute

import (
	"context"
	"errors"
	"fmt"

	"github.com/gokeras/gokeras/kernels"
)

// TPUOptions configure [NewTPUStrategyOver].
type TPUOptions struct {
	// Devices, one for each replica of this process, in the order of the replicas.
	Devices []kernels.Device
	// Group connects the hosts of a TPU of several, whose devices were joined ([kernels.Joiner]); nil: there is one
	// host. All have equally many devices, and replica i of the host with rank r is number r·n + i of all. It is closed
	// with the strategy, which is a [MultiWorkerMirroredStrategy]. Lost hosts end the job: a TPU cannot go on without
	// them.
	Group WorkerGroup
	// SameRandomNumbers makes all replicas draw the same random numbers.
	SameRandomNumbers bool
}

// NewTPUStrategyOver makes the strategy of package distribute/tpu on devices of this process; most programs call
// tpu.NewStrategy, which finds them. All replicas run one program with static shapes: a short batch whose parts would
// differ in length is padded, and the padding counts nowhere (see [Replica].Rows).
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

// lasting is a group that cannot be formed again, though it could: the devices of its processes hang together.
type lasting struct{ EndingGroup }
