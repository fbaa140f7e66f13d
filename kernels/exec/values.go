package exec

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels"
)

// PerReplica is one value on each replica of this process, in replica order. Length 1 with several replicas stands for
// a value that is not distributed.
type PerReplica []kernels.Array

// CheckArray returns an error for an array whose memory does not fit its type.
func CheckArray(a kernels.Array) error {
	if len(a.Data) != a.Type.Bytes() {
		return fmt.Errorf("an array of type %v needs %d bytes, received %d", a.Type, a.Type.Bytes(), len(a.Data))
	}
	return nil
}

// CheckValue returns an error for a value that does not belong to n replicas.
func CheckValue(what string, value PerReplica, n int) error {
	if len(value) != n && len(value) != 1 {
		return fmt.Errorf("distribute: %s: received %d values; expected one for each of the %d replicas, as Run returns them", what, len(value), n)
	}
	for i, a := range value {
		if err := CheckArray(a); err != nil {
			return fmt.Errorf("distribute: %s: replica %d: %w", what, i, err)
		}
	}
	return nil
}
