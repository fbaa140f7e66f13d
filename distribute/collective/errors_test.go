package collective

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/collective/internal/membership"
)

// Where one of those that came does not hear another, the error has the addresses of both.
func TestApartText(t *testing.T) {
	worker := func(i int, address string) cluster.Member {
		return cluster.Member{Task: cluster.Task{Type: cluster.Worker, Index: i}, Address: address}
	}
	g := &Group{settings: &settings{members: []cluster.Member{worker(0, "a:1"), worker(1, "b:2"), worker(2, "c:3")}}}
	err := g.joinError(&membership.JoinError{Present: []int{0}, Apart: []membership.Accusation{{By: 1, Who: 2}}, Min: 3, After: time.Second})
	require.EqualError(t, err, "collective: no group of at least 3 workers within 1s: present [worker:0]; missing worker:2 (c:3): is there: but worker:1 (b:2) does not hear it")
}
