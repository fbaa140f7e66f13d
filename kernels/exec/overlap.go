package exec

import (
	"sort"

	"github.com/gokeras/gokeras/kernels/ir"
)

// advanceAllReduces moves the all-reduces of all programs to the earliest position in each, so that a bucket of
// gradients is summed while the rest of the backward pass is computed. Replicas must make the same calls in the same
// order: if programs of different shapes would get different orders, all stay unchanged.
func advanceAllReduces(programs []*tracedProgram) {
	old := map[*tracedProgram][]ir.Node{}
	for _, p := range programs {
		if old[p] == nil {
			old[p] = p.program.Nodes
			p.program.Nodes = advanced(p.program)
			p.calls = collectiveCalls(p.program, nil)
		}
	}
	if checkSamePrograms(programs, 0) == nil {
		return
	}
	for p, nodes := range old {
		p.program.Nodes = nodes
		p.calls = collectiveCalls(p.program, nil)
	}
}

// advanced returns the nodes of a program with every all-reduce right after the last node that it depends on. Nodes
// between that node and the all-reduce that cost next to nothing, such as conversions of gradients to the type of the
// weights, move along.
func advanced(p *ir.Program) []ir.Node {
	after := make([]int, p.NumValues()) // by value: the node, of those that do not move, after which it exists
	for i := range after {
		after[i] = -1
	}
	moves := movable(p)
	order := make([]placedNode, len(p.Nodes))
	for i := range p.Nodes {
		n := &p.Nodes[i]
		at := placedNode{i, i, moves[i]}
		if at.moved {
			at.behind = -1
			for _, v := range n.Inputs {
				at.behind = max(at.behind, after[v])
			}
		}
		for _, v := range n.Outputs {
			after[v] = at.behind
		}
		order[i] = at
	}
	sort.SliceStable(order, func(i, j int) bool {
		a, b := order[i], order[j]
		return a.behind < b.behind || a.behind == b.behind && b.moved && !a.moved
	})
	nodes := make([]ir.Node, len(order))
	for i, at := range order {
		nodes[i] = p.Nodes[at.node]
	}
	return nodes
}

// movable marks the all-reduces, and the conversions and reshapes that only they need.
func movable(p *ir.Program) []bool {
	users := make([]int, p.NumValues()) // by value: nodes and outputs that read it and do not move
	for i := range p.Nodes {
		for _, v := range p.Nodes[i].Inputs {
			users[v]++
		}
	}
	for _, out := range p.Outputs {
		users[out.Value]++
	}
	moves := make([]bool, len(p.Nodes))
	for i := len(p.Nodes) - 1; i >= 0; i-- {
		n := &p.Nodes[i]
		cheap := n.Op == ir.Convert || n.Op == ir.Reshape
		if n.Op != ir.AllReduce && !(cheap && users[n.Outputs[0]] == 0) {
			continue
		}
		moves[i] = true
		for _, v := range n.Inputs {
			users[v]--
		}
	}
	return moves
}

// placedNode says after which fixed node a node is placed; a fixed node is placed after itself.
type placedNode struct {
	node, behind int
	moved        bool
}
