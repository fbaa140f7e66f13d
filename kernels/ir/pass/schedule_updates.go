package pass

import (
	"slices"

	"github.com/gokeras/gokeras/internal/ints"
	"github.com/gokeras/gokeras/kernels/ir"
)

// ScheduleUpdates returns the pass that computes new values of variables as early as they may overwrite the old ones. A
// traced program has its updates at the end, where all gradients are alive. After the pass, a gradient is consumed soon
// after it was computed, and its memory can be reused.
//
// A new value may overwrite the old one after the last node that may fail, because a step that fails changes nothing,
// and after the last node that reads the old one, directly or through nodes that only move elements. It must also come
// after the nodes that a backend may compute together with that reader: elementwise nodes that are the only readers of
// its result. A new value that the program computes earlier is moved to that point. Nodes that wait for a collective
// are not moved forward, because other work overlaps with the communication until then. Nodes that may fail, among them
// collectives, keep their order.
//
// Backends that overwrite variables, or whose memory is planned in the order of the program, run it last.
func ScheduleUpdates() Pass { return New("schedule updates", scheduleUpdates) }

// updates is the pass over one program. Slot t of the new order follows node t-1 of the old order.
type updates struct {
	p      *ir.Program
	part   []bool  // by node: it computes only new values
	def    []int   // by value: the node that defines it, or -1
	old    []int   // by value: the input that it replaces, or -1
	read   [][]int // by value: the nodes that read it, themselves or through nodes that move its elements
	direct [][]int // by value: the nodes that read it themselves
	slot   []int   // by node
}

func scheduleUpdates(p *ir.Program) (*ir.Program, error) {
	if !slices.ContainsFunc(p.Outputs, func(out ir.Output) bool { return out.Alias >= 0 }) {
		return p, nil
	}
	u := newUpdates(p)
	order := u.order()
	if slices.IsSorted(order) {
		return p, nil
	}
	r := NewRewriter(p)
	for _, i := range order {
		if err := r.Keep(&p.Nodes[i]); err != nil {
			return nil, err
		}
	}
	return r.Finish(), nil
}

func newUpdates(p *ir.Program) *updates {
	n := p.NumValues()
	_, def := Uses(p)
	u := &updates{p: p, def: def, part: make([]bool, len(p.Nodes)), old: ints.Repeat(-1, n), read: make([][]int, n), direct: make([][]int, n), slot: make([]int, len(p.Nodes))}
	other := make([]bool, n) // values that also serve something other than updates
	for _, out := range p.Outputs {
		if out.Alias >= 0 {
			u.old[out.Value] = out.Alias
		} else {
			other[out.Value] = true
		}
	}
	for i := len(p.Nodes) - 1; i >= 0; i-- {
		node := &p.Nodes[i]
		u.part[i] = belongsToUpdate(node.Op)
		reached := false // reaches an update, rather than nothing
		for _, v := range node.Outputs {
			u.part[i] = u.part[i] && !other[v]
			reached = reached || u.old[v] >= 0 || len(u.read[v]) > 0
		}
		u.part[i] = u.part[i] && reached
		moves := node.Op.Traits()
		for _, v := range node.Inputs {
			other[v] = other[v] || !u.part[i]
			u.read[v] = append(u.read[v], i)
			u.direct[v] = append(u.direct[v], i)
			if moves.Moves && !moves.MayFail {
				for _, result := range node.Outputs {
					u.read[v] = append(u.read[v], u.read[result]...)
				}
			}
		}
	}
	return u
}

// belongsToUpdate reports whether updates consist of such ops: ops that compute an element from elements at the same
// position, and from scalars. Products and sums, which compute gradients, stay where they are.
func belongsToUpdate(op ir.Op) bool {
	switch op {
	case ir.Constant, ir.Broadcast, ir.Reshape, ir.OptimizerUpdate:
		return true
	}
	return op.IsElementwise() && !op.Traits().MayFail
}

// order returns the nodes in their new order.
func (u *updates) order() []int {
	safe := 0
	for i := range u.p.Nodes {
		if u.p.Nodes[i].Op.Traits().MayFail {
			safe = i + 1
		}
	}
	moved := make([][]int, len(u.p.Nodes)+1) // by slot
	for i := range u.p.Nodes {
		u.slot[i] = i + 1
		if u.part[i] {
			u.slot[i] = u.earliest(i, safe)
			moved[u.slot[i]] = append(moved[u.slot[i]], i)
		}
	}
	order := moved[0]
	for i := range u.p.Nodes {
		if !u.part[i] {
			order = append(order, i)
		}
		order = append(order, moved[i+1]...)
	}
	return order
}

// earliest returns the first slot for node i, which is part of an update. The slots of earlier nodes are known.
func (u *updates) earliest(i, safe int) int {
	n, slot := &u.p.Nodes[i], safe
	for _, v := range n.Inputs {
		if by := u.def[v]; by >= 0 {
			slot = max(slot, u.slot[by])
			if u.p.Nodes[by].Op.IsCollective() {
				slot = max(slot, i)
			}
		}
	}
	for _, v := range n.Outputs {
		if u.old[v] < 0 {
			continue
		}
		for _, reader := range u.read[u.p.Inputs[u.old[v]].Value] {
			switch {
			case !u.part[reader]:
				slot = max(slot, u.epilogue(reader)+1)
			case reader < i:
				slot = max(slot, u.slot[reader])
			}
		}
	}
	return slot
}

// epilogue returns the end of the chain of elementwise nodes that begins with the only reader of node i.
func (u *updates) epilogue(i int) int {
	for {
		n := &u.p.Nodes[i]
		if len(n.Outputs) != 1 || len(u.direct[n.Outputs[0]]) != 1 {
			return i
		}
		next := u.direct[n.Outputs[0]][0]
		if u.part[next] || !u.p.Nodes[next].Op.IsElementwise() {
			return i
		}
		i = next
	}
}
