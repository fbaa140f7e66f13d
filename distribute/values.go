package distribute

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/exec"
)

// ValueContext tells the function of DistributeValuesFromFunction which replica it makes a value for.
type ValueContext struct {
	ReplicaIDInSyncGroup int
	NumReplicasInSync    int
}

func (s *local) DistributeValuesFromFunction(f func(ValueContext) (kernels.Array, error)) (PerReplica, error) {
	out := make(PerReplica, len(s.at.Devices))
	for i := range out {
		var err error
		if out[i], err = f(ValueContext{s.at.First + i, s.at.Total}); err != nil {
			return nil, fmt.Errorf("distribute: the value of replica %d: %w", s.at.First+i, err)
		}
		if err := exec.CheckArray(out[i]); err != nil {
			return nil, fmt.Errorf("distribute: the value of replica %d: %w", s.at.First+i, err)
		}
	}
	return out, nil
}

func (s *local) LocalResults(value PerReplica) []kernels.Array { return slices.Clone(value) }
