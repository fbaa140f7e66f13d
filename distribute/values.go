package distribute

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/kernels"
)

// PerReplica is one value on each replica of this process, in replica order. Length 1 with several replicas stands for a value that
// is not distributed.
type PerReplica []kernels.Array

// ValueContext tells the function of DistributeValuesFromFunction which replica it makes a value for.
type ValueContext struct {
	ReplicaIDInSyncGroup int
	NumReplicasInSync    int
}

func (s *local) DistributeValuesFromFunction(f func(ValueContext) (kernels.Array, error)) (PerReplica, error) {
	out := make(PerReplica, len(s.devices))
	for i := range out {
		var err error
		if out[i], err = f(ValueContext{s.first + i, s.total}); err != nil {
			return nil, fmt.Errorf("distribute: the value of replica %d: %w", s.first+i, err)
		}
		if err := checkArray(out[i]); err != nil {
			return nil, fmt.Errorf("distribute: the value of replica %d: %w", s.first+i, err)
		}
	}
	return out, nil
}

func (s *local) LocalResults(value PerReplica) []kernels.Array { return slices.Clone(value) }

// checkArray reports an array whose memory does not fit its type.
func checkArray(a kernels.Array) error {
	if len(a.Data) != a.Type.Bytes() {
		return fmt.Errorf("an array of type %v needs %d bytes, received %d", a.Type, a.Type.Bytes(), len(a.Data))
	}
	return nil
}

// checkValue reports a value that does not belong to n replicas.
func checkValue(what string, value PerReplica, n int) error {
	if len(value) != n && len(value) != 1 {
		return fmt.Errorf("distribute: %s: received %d values; expected one for each of the %d replicas, as Run returns them", what, len(value), n)
	}
	for i, a := range value {
		if err := checkArray(a); err != nil {
			return fmt.Errorf("distribute: %s: replica %d: %w", what, i, err)
		}
	}
	return nil
}
