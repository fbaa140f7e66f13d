package kernels

import (
	"context"
	"errors"
	"fmt"
)

// Arranger is implemented by backends whose devices can combine values in an order that the caller chooses.
type Arranger interface {
	Backend
	// Arrange connects the replicas, one on each of the devices, all in this process. It returns their communicators,
	// in the order of the devices.
	Arrange(ctx context.Context, devices []Device, a Arrangement) ([]Communicator, error)
}

// Arrangement says where and in which order replicas combine the values of all-reduces.
type Arrangement struct {
	// Groups are combined first, each on the device of its first replica, in the order of the replicas' numbers. Then
	// the results of the groups are combined, on the device of the first replica of the first group, in the order of
	// the groups. The results go back the same way. Every replica is in one group.
	Groups [][]int
	// Ring passes parts of the values around the ring of all replicas instead: one pass adds up, the next distributes
	// the sums.
	Ring bool
	// Packs is the number of equally long packs in which the values of one call, laid end to end, are combined, one
	// pack after the other; 0 combines each value on its own.
	Packs int
	// Inner says that other communicators call these; see [CommunicatorOptions.Inner].
	Inner bool
}

// Check reports why the arrangement does not fit the number of replicas.
func (a Arrangement) Check(replicas int) error {
	if a.Packs < 0 {
		return fmt.Errorf("values cannot be combined in %d packs; expected 0 or more", a.Packs)
	}
	if a.Ring {
		if a.Groups != nil {
			return errors.New("values are combined in groups or round a ring; received both")
		}
		return nil
	}
	seen := make([]bool, replicas)
	count := 0
	for _, members := range a.Groups {
		for _, r := range members {
			if r < 0 || r >= replicas || seen[r] {
				return fmt.Errorf("groups %v are not those of %d replicas; expected each of the numbers from 0 to %d once", a.Groups, replicas, replicas-1)
			}
			seen[r] = true
			count++
		}
		if len(members) == 0 {
			return fmt.Errorf("groups %v: one is empty", a.Groups)
		}
	}
	if count != replicas {
		return fmt.Errorf("groups %v are not those of %d replicas; expected each of the numbers from 0 to %d once", a.Groups, replicas, replicas-1)
	}
	return nil
}
