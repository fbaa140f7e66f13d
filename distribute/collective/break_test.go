package collective

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A worker that has lost the others by a way of its own gets the name of the one that is gone. Where nobody is, it
// withdraws, all learn why, and the next group has it again.
func TestBreak(t *testing.T) {
	groups := join(t, 3, func(_ int, o *Options) { o.Deadline = 2 * time.Second })
	noErrors(t, together(groups, func(rank int, g *Group) error {
		if rank == 1 {
			var own *ExpelledError
			require.ErrorAs(t, g.Break("the library says: remote error"), &own)
			require.Equal(t, "the library says: remote error", own.Own.Detail)
		} else {
			over, why := g.Ended()
			<-over
			var lost *MemberError
			require.ErrorAs(t, why(), &lost)
			require.ErrorContains(t, lost, "worker:1")
			require.ErrorContains(t, lost, "the library says: remote error")
		}
		return g.Regroup(context.Background(), Terms{Min: 3})
	}))
	groups[0].Withdraw("it has had enough")
	noErrors(t, together(groups, func(rank int, g *Group) error {
		over, why := g.Ended()
		<-over
		require.ErrorContains(t, why(), "it has had enough")
		return g.Regroup(context.Background(), Terms{Min: 3})
	}))
	require.NoError(t, groups[2].Close())
	for _, g := range groups[:2] {
		require.ErrorContains(t, g.Break("remote error"), "worker:2")
	}
	require.ErrorIs(t, groups[2].Break("remote error"), ErrClosed)
}

// A worker whose group ends while it looks for the missing one gets the reason of that end, and leaves the next group,
// which may have formed meanwhile, as it is.
func TestMissingLeavesTheNextGroup(t *testing.T) {
	groups := join(t, 3, func(_ int, o *Options) { o.Deadline = 500 * time.Millisecond })
	first := groups[0].session
	groups[1].Withdraw("it has had enough")
	noErrors(t, together(groups, func(_ int, g *Group) error {
		over, _ := g.Ended()
		<-over
		return g.Regroup(context.Background(), Terms{Min: 3})
	}))
	require.ErrorContains(t, groups[0].breakOff(first, "devices wait"), "it has had enough")
	noErrors(t, together(groups, func(_ int, g *Group) error { return g.Barrier(context.Background(), Name("the next group")) }))
}

// Workers that wait elsewhere for one that does not come name it, though it is alive. Where all of them wait, each says
// why; where one waits in a collective of the group, the difference between the two is the reason.
func TestMissing(t *testing.T) {
	groups := join(t, 3, func(_ int, o *Options) { o.Deadline = 500 * time.Millisecond })
	noErrors(t, together(groups, func(rank int, g *Group) error {
		if rank == 1 { // it takes its time over something else
			over, why := g.Ended()
			<-over
			var own *ExpelledError
			require.ErrorAs(t, why(), &own)
		} else {
			var lost *MemberError
			require.ErrorAs(t, g.Missing("devices wait"), &lost)
			require.Len(t, lost.Lost, 1)
			require.ErrorContains(t, lost, "worker:1")
			require.ErrorContains(t, lost, "roll call")
		}
		return g.Regroup(context.Background(), Terms{Min: 3})
	}))
	for _, err := range together(groups, func(_ int, g *Group) error { return g.Missing("devices wait") }) {
		require.ErrorContains(t, err, "devices wait")
	}
	noErrors(t, together(groups, func(_ int, g *Group) error { return g.Regroup(context.Background(), Terms{Min: 3}) }))
	for rank, err := range together(groups, func(rank int, g *Group) error {
		if rank == 0 {
			return g.Barrier(context.Background(), Name("another call"))
		}
		return g.Missing("devices wait")
	}) {
		require.ErrorContains(t, err, "another call", "rank %d", rank)
		require.ErrorContains(t, err, "roll call", "rank %d", rank)
	}
}

// Workers whose devices wait while they are in a collective of the group name the one that does not come to either,
// long before the collective's own timeout.
func TestMissingInCollective(t *testing.T) {
	groups := join(t, 3, func(_ int, o *Options) { o.Deadline, o.Timeout = 500*time.Millisecond, time.Hour })
	noErrors(t, together(groups, func(rank int, g *Group) error {
		if rank == 1 {
			over, why := g.Ended()
			<-over
			var own *ExpelledError
			require.ErrorAs(t, why(), &own)
			return nil
		}
		hosts := make(chan error, 1)
		go func() { hosts <- g.Barrier(context.Background(), Name("end of step")) }()
		require.Eventually(t, func() bool { return !g.opMu.TryLock() || unlocked(g) }, time.Second, time.Millisecond)
		for _, err := range []error{g.Missing("devices wait"), <-hosts} {
			var lost *MemberError
			require.ErrorAs(t, err, &lost)
			require.Len(t, lost.Lost, 1)
			require.ErrorContains(t, lost, "worker:1")
			require.ErrorContains(t, lost, "end of step")
		}
		return nil
	}))
}

func unlocked(g *Group) bool {
	g.opMu.Unlock()
	return false
}
