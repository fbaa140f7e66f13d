package exec

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/ir"
)

// collectiveCall is one collective of a program, as far as its peers must agree on it.
type collectiveCall struct {
	text  string
	scope string
}

// collectiveCalls lists a program's collectives in order, with those of its loops and branches.
func collectiveCalls(p *ir.Program, into []collectiveCall) []collectiveCall {
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if n.Op.IsCollective() {
			a := n.Attrs.(ir.CollectiveAttrs)
			types := make([]ir.Type, len(n.Inputs))
			for j, v := range n.Inputs {
				types[j] = p.Type(v)
			}
			text := fmt.Sprint(n.Op, " ", types)
			switch n.Op {
			case ir.AllGather:
				text += fmt.Sprint(" along axis ", a.Axis)
			case ir.CollectiveBroadcast:
				text += fmt.Sprint(" from replica ", a.Root)
			default:
				text += fmt.Sprint(" by ", a.Kind)
			}
			if a.Groups != nil {
				text += fmt.Sprint(" in the groups ", a.Groups)
			}
			into = append(into, collectiveCall{text, n.Scope})
		}
		for _, sub := range ir.SubPrograms(n.Attrs) {
			if sub != nil {
				into = collectiveCalls(sub, into)
			}
		}
	}
	return into
}

// checkSamePrograms reports replicas that would wait for each other in vain: all must make the same MergeCalls and the
// same collectives in the same order.
func checkSamePrograms(programs []*tracedProgram, firstID int) error {
	want := programs[0]
	for i, p := range programs {
		if p == want {
			continue
		}
		if p.merges != want.merges {
			return fmt.Errorf("distribute: replicas run different programs: some replicas made a different number of MergeCalls: %d on replica %d, %d on replica %d", want.merges, firstID, p.merges, firstID+i)
		}
		for k := range max(len(p.calls), len(want.calls)) {
			switch {
			case k >= len(p.calls):
				return fmt.Errorf("distribute: replicas run different programs: replica %d makes %d collective calls and replica %d only %d; %s is missing (scope %q)", firstID, len(want.calls), firstID+i, len(p.calls), want.calls[k].text, want.calls[k].scope)
			case k >= len(want.calls):
				return fmt.Errorf("distribute: replicas run different programs: replica %d makes %d collective calls and replica %d only %d; %s is missing (scope %q)", firstID+i, len(p.calls), firstID, len(want.calls), p.calls[k].text, p.calls[k].scope)
			case p.calls[k].text != want.calls[k].text:
				return fmt.Errorf("distribute: replicas run different programs: collective call %d is %s on replica %d (scope %q) and %s on replica %d (scope %q); all replicas must make the same calls with the same types in the same order",
					k, want.calls[k].text, firstID, want.calls[k].scope, p.calls[k].text, firstID+i, p.calls[k].scope)
			}
		}
	}
	return nil
}
