package plot

// node is a box, a port, or the position where a long edge passes through a rank, in the plane of the layout. Ranks
// follow one another along v, and u runs along a rank. u and v are the centre.
type node struct {
	w, h  float64 // along u and along v
	u, v  float64
	rank  int
	lane  bool // part of a long edge
	port  int  // portIn, portOut or 0
	used  bool // of a port: an edge from the outside ends at it
	fixed bool // edges have their own positions on it

	up, down []*link // to neighbouring ranks
	index    int     // position within its rank
	met      int     // when a walk first met it; the ordering starts from this
}

const (
	portIn  = -1 // is on the first rank
	portOut = 1  // is on the last rank
)

// wire is an edge from node a to node b. If a node is fixed, start or end is the position on it, measured from its
// centre.
type wire struct {
	a, b       *node
	start, end float64
	outOf      *node   // the port of an expanded model that it comes from
	into       *node   // the port that it goes to
	reversed   bool    // it closes a cycle, so it is laid out backwards
	links      []*link // its parts from rank to rank, in the direction of the ranks
}

// link is the part of an edge between two neighbouring ranks. start and end are its positions on a and b, measured from
// their centres.
type link struct {
	a, b       *node
	start, end float64
}

// graph is the graph to lay out.
type graph struct {
	nodes []*node
	wires []*wire
	ranks [][]*node
	tops  []float64 // of each rank
	sizes []float64
}

// breakCycles marks edges that lead back to an ancestor in a depth-first walk. Nodes are in the order of the calls, so
// for a layer that is called again later it marks the edge to that later call.
func (g *graph) breakCycles() {
	out := map[*node][]*wire{}
	for _, w := range g.wires {
		out[w.a] = append(out[w.a], w)
	}
	const open, done = 1, 2
	state := map[*node]int{}
	type step struct {
		n    *node
		next int
	}
	for _, root := range g.nodes {
		if state[root] != 0 {
			continue
		}
		stack := []step{{root, 0}}
		state[root] = open
		for len(stack) > 0 {
			s := &stack[len(stack)-1]
			if s.next == len(out[s.n]) {
				state[s.n] = done
				stack = stack[:len(stack)-1]
				continue
			}
			w := out[s.n][s.next]
			s.next++
			switch state[w.b] {
			case open:
				w.reversed = true
			case 0:
				state[w.b] = open
				stack = append(stack, step{w.b, 0})
			}
		}
	}
}

// ends returns the nodes of an edge in the direction of the ranks.
func (w *wire) ends() (from, to *node) {
	if w.reversed {
		return w.b, w.a
	}
	return w.a, w.b
}

// rankNodes puts every node below its predecessors (the longest path). Then it moves nodes with more edges downwards
// than upwards down, as far as their successors allow. That shortens edges, and is repeated until no such move is left.
func (g *graph) rankNodes() {
	before, after := map[*node][]*node{}, map[*node][]*node{}
	for _, w := range g.wires {
		a, b := w.ends()
		before[b] = append(before[b], a)
		after[a] = append(after[a], b)
	}
	order := topological(g.nodes, before, after)
	for _, n := range order {
		n.rank = 0
		for _, p := range before[n] {
			n.rank = max(n.rank, p.rank+1)
		}
	}
	for moved := true; moved; {
		moved = false
		for i := len(order) - 1; i >= 0; i-- {
			n := order[i]
			if len(after[n]) <= len(before[n]) || n.port == portIn {
				continue
			}
			lowest := after[n][0].rank
			for _, s := range after[n] {
				lowest = min(lowest, s.rank)
			}
			if lowest-1 > n.rank {
				n.rank, moved = lowest-1, true
			}
		}
	}
	last := 0
	for _, n := range g.nodes {
		last = max(last, n.rank)
	}
	for _, n := range g.nodes {
		if n.port == portOut {
			n.rank = last
		}
	}
}

// topological sorts nodes so that edges point forward, and otherwise keeps the given order.
func topological(nodes []*node, before, after map[*node][]*node) []*node {
	waiting := map[*node]int{}
	var order, ready []*node
	for _, n := range nodes {
		if waiting[n] = len(before[n]); waiting[n] == 0 {
			ready = append(ready, n)
		}
	}
	for len(ready) > 0 {
		n := ready[0]
		ready = ready[1:]
		order = append(order, n)
		for _, s := range after[n] {
			if waiting[s]--; waiting[s] == 0 {
				ready = append(ready, s)
			}
		}
	}
	return order
}

// split cuts edges into links between neighbouring ranks, with lanes on the ranks between.
func (g *graph) split() {
	last := 0
	for _, n := range g.nodes {
		last = max(last, n.rank)
	}
	g.ranks = make([][]*node, last+1)
	for _, w := range g.wires {
		from, to := w.ends()
		for at := from; at != to; {
			next := to
			if at.rank+1 < to.rank {
				next = &node{w: laneWidth, rank: at.rank + 1, lane: true}
				g.nodes = append(g.nodes, next)
			}
			l := &link{a: at, b: next}
			at.down, next.up = append(at.down, l), append(next.up, l)
			w.links = append(w.links, l)
			at = next
		}
		switch n := len(w.links); {
		case !w.reversed:
			w.links[0].start, w.links[n-1].end = w.start, w.end
		case !from.fixed: // a returning arrow goes beside the outgoing ones
			w.links[0].start = min(portStep, from.w/4)
		}
	}
}
