package cpu

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/cpu/internal/flush"
	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// lowerWait returns the step that waits for the oldest all-reduce in flight.
func (c *compiler) lowerWait(p *placement, u *fuse.Unit) step {
	n := &p.Program.Nodes[u.Nodes[0]]
	rt, where := c.rt, fmt.Sprintf("cpu: %v (scope %q)", n.Op, n.Scope)
	return step{name: n.Op.String() + " wait", scope: n.Scope, role: waits, run: func() {
		defer rt.rest().End()
		if err := rt.overlapper.WaitAllReduce(rt.ctx); err != nil {
			rt.fail(fmt.Errorf("%s: %w", where, err))
		}
	}}
}

// rest prepares a call of the communicator. A communicator between processes may wait long, so the goroutine unlocks
// its thread, and values are combined in Go's default floating-point mode on whichever thread does it. This backend's
// own communicators do so only while they wait.
func (r *runtime) rest() rest {
	r.pool.Leave()
	if r.outside {
		return rest{flush.Rest(), r.pool}
	}
	return rest{flush.Pause{}, r.pool}
}

// rest is a time in which a program waits for others, and needs no processor.
type rest struct {
	mode flush.Pause
	pool *pool.Pool
}

// End goes on with the program.
func (r rest) End() {
	r.mode.End()
	r.pool.Enter()
}
