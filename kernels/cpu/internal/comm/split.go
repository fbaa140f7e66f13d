package comm

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels"
)

// Splitter is implemented by communicators whose replicas can also meet in groups.
type Splitter interface {
	kernels.Communicator
	// Split returns this replica's end of its group. Each replica is in one group. The ends belong to the communicator:
	// one that fails fails with all others of it, and nobody closes it.
	Split(groups [][]int) (kernels.Communicator, error)
}

var _ Splitter = (*communicator)(nil)

// Split connects the replicas of each group, at the first call for all of them.
func (c *communicator) Split(groups [][]int) (kernels.Communicator, error) {
	g := c.group
	key := fmt.Sprint(groups)
	g.mu.Lock()
	defer g.mu.Unlock()
	if ends := g.subs[key]; ends != nil {
		return ends[c.replica], nil
	}
	ends := make([]*communicator, len(g.members))
	for _, members := range groups {
		sub := &group{}
		for i, m := range members {
			if m < 0 || m >= len(ends) || ends[m] != nil {
				return nil, fmt.Errorf("cpu: groups of replicas %v; expected each of %d once", groups, len(ends))
			}
			ends[m] = &communicator{group: sub, replica: i, wake: make(chan struct{}, 1)}
			sub.members = append(sub.members, ends[m])
		}
		sub.round = newRound(sub)
		sub.round.parent = g.round
	}
	for i, end := range ends {
		if end == nil {
			return nil, fmt.Errorf("cpu: groups of replicas %v; replica %d is in none", groups, i)
		}
	}
	if g.subs == nil {
		g.subs = map[string][]*communicator{}
	}
	g.subs[key] = ends
	g.round.watch(func(err error) {
		for _, end := range ends {
			end.group.round.fail(err)
		}
	})
	return ends[c.replica], nil
}
