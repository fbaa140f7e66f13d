package collective

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/collective/internal/membership"
)

// Workers that give one up replace their connections to it. Until it knows why, the end of one must not look to it like
// the end of a worker: it would accuse that one, and others would believe it.
func TestStalledWorkerAccusesNobody(t *testing.T) {
	groups := join(t, 3, func(_ int, o *Options) { o.Timeout = 250 * time.Millisecond })
	for range 4 {
		noErrors(t, together(groups, func(rank int, g *Group) error {
			if rank == 1 { // it takes its time over something else
				over, why := g.Ended()
				<-over
				var own *ExpelledError
				require.ErrorAs(t, why(), &own)
				g.mu.Lock()
				known := g.machine.String()
				g.mu.Unlock()
				require.NotContains(t, known, membership.Lost.String())
			} else {
				var lost *MemberError
				require.ErrorAs(t, g.Barrier(context.Background()), &lost)
				require.Len(t, lost.Lost, 1)
				require.ErrorContains(t, lost, "worker:1")
			}
			return g.Regroup(context.Background(), Terms{Min: 3})
		}))
	}
}
