package distribute

import (
	"errors"
	"fmt"

	"github.com/gokeras/gokeras/kernels"
)

// TPUOptions configure [NewTPUStrategyOver].
type TPUOptions struct {
	// Devices, one for each replica, in the order of the replicas.
	Devices []kernels.Device
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
	return s, nil
}
