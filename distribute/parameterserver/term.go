package parameterserver

import (
	"context"
	"fmt"
	"math/rand/v2"
)

func overtaken(err error) error {
	return fmt.Errorf("parameterserver: another coordinator has taken over; run one only: %w", err)
}

// nextTerm returns a term after the given one. Coordinators that take over at the same time get different terms, so the
// servers follow only one of them.
func nextTerm(term uint64) uint64 { return (term>>termBits+1)<<termBits | rand.Uint64N(1<<termBits) }

const termBits = 24

// tookOver reports whether all servers have this term. Then the answer was lost, and the repeated request found its own
// term.
func (c *client) tookOver(ctx context.Context, term uint64) bool {
	for server := range c.links {
		if got, err := c.list(ctx, server, c.s.ServerTimeout); err != nil || got.term != term {
			return false
		}
	}
	return true
}
