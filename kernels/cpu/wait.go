package cpu

import (
	"fmt"
	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
)

// lowerWait is the step that waits for the oldest all-reduce under way.
func (c *compiler) lowerWait(p *placement, u *fuse.Unit) step {
	n := &p.Program.Nodes[u.Nodes[0]]
	rt, where := c.rt, fmt.Sprintf("cpu: %v (scope %q)", n.Op, n.Scope)
	return step{name: n.Op.String() + " wait", scope: n.Scope, role: waits, run: func() {
		if err := rt.overlapper.WaitAllReduce(rt.ctx); err != nil {
			rt.fail(fmt.Errorf("%s: %w", where, err))
		}
	}}
}
