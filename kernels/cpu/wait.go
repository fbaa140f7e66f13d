package cpu

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/cpu/internal/flush"
	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
)

// lowerWait is the step that waits for the oldest all-reduce under way.
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

// rest begins a call of the communicator. Those of other processes wait for long: the goroutine leaves its thread, and
// values are combined in Go's own mode, whichever thread does it. Communicators of this backend rest where they wait.
func (r *runtime) rest() flush.Pause {
	if r.outside {
		return flush.Rest()
	}
	return flush.Pause{}
}
