package lower

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// A node that is computed elementwise, and whose result must be in memory, needs a kernel only to store it. Such nodes
// wait until something reads their results, and share a launch. Nodes of the same shape that read each other's results
// at the same positions are computed by the same threads; independent nodes are computed by different blocks. So the
// update of a variable and its moments takes one pass over memory, and the updates of many variables take one launch.

// cluster is a list of nodes that the same threads compute, in order.
type cluster struct {
	shape     ir.Shape
	nodes     []int
	weight    int
	committed bool              // its results replace inputs
	reads     map[ir.Value]bool // reads at the element's own position
}

// together is a launch of clusters.
type together struct {
	clusters []*cluster
	nodes    []int
	of       map[ir.Value]*cluster // by result
	readers  map[ir.Value][]reader
	late     []ir.Value // to be freed once they have been read
	held     int        // bytes of what they read in the arena
	weight   int
	pointers int
}

// reader is a cluster that reads a value in memory.
type reader struct {
	by      *cluster
	inPlace bool
}

const (
	maxPointers      = 480  // kernel parameters are limited to 4096 bytes: leave some for flags
	maxJointWeight   = 2048 // maximum number of nodes of a joint kernel, which the driver compiles at the start
	maxClusterWeight = 192
	maxHeld          = 64 << 20 // maximum bytes that wait to be read while other kernels run
)

// waits adds node i to the nodes that wait for their launch, if it can wait. Otherwise it first launches those that
// node i's kernel depends on, or that read what the kernel overwrites.
func (s *scope) waits(f *fusion, i int, direct map[ir.Value]Place) bool {
	n := &s.p.Nodes[i]
	v := n.Outputs[0]
	pointwise := f.anchor[i] == nil && roots[n.Op] == nil && inlined[n.Op] != nil && s.p.Type(v).Shape.Size() > 0
	if !pointwise && s.pending == nil {
		return false
	}
	r := s.readsOf(f, n)
	if pointwise {
		if s.pending == nil || !s.join(f, s.pending, i, r) {
			s.flush(f, direct)
			s.pending = &together{of: map[ir.Value]*cluster{}, readers: map[ir.Value][]reader{}}
			s.join(f, s.pending, i, r)
		}
		return true
	}
	t := s.pending
	now := n.Op.IsCollective() || t.held > maxHeld || s.committed[v] && len(t.readers[s.replaced(v)]) > 0
	for u := range r.inPlace {
		now = now || t.of[u] != nil
	}
	if now {
		s.flush(f, direct)
	}
	return false
}

// reads are the values in memory that a node's kernel reads. For each: whether it is read only at the element's own
// index, without a change of shape.
type reads struct {
	inPlace map[ir.Value]bool
	tables  int // number of constants in memory and of other parameters
}

func (s *scope) readsOf(f *fusion, n *ir.Node) reads {
	r := reads{inPlace: map[ir.Value]bool{}}
	type visit struct {
		v       ir.Value
		inPlace bool
	}
	seen := map[visit]bool{}
	var walk func(n *ir.Node, inPlace bool)
	walk = func(n *ir.Node, inPlace bool) {
		r.tables += map[ir.Op]int{ir.Constant: 1, ir.Resample: 2, ir.ReplicaID: 1}[n.Op]
		inPlace = inPlace && n.Op.IsElementwise()
		for _, v := range n.Inputs {
			if seen[visit{v, inPlace}] {
				continue
			}
			seen[visit{v, inPlace}] = true
			if m := s.makers[v]; m != nil && !f.kernel[s.position[v]] {
				walk(m, inPlace)
				continue
			}
			if before, known := r.inPlace[v]; !known || before {
				r.inPlace[v] = inPlace
			}
		}
	}
	walk(n, true)
	return r
}

// join adds node i to a launch, if possible.
func (s *scope) join(f *fusion, t *together, i int, r reads) bool {
	n := &s.p.Nodes[i]
	v := n.Outputs[0]
	shape, weight := s.p.Type(v).Shape, f.weight[v]+1
	pointers := 1 + r.tables // plus what no other node of the launch reads
	for u := range r.inPlace {
		if len(t.readers[u]) == 0 && t.of[u] == nil {
			pointers++
		}
	}
	if len(t.of) > 0 && (t.weight+weight > maxJointWeight || t.pointers+pointers > maxPointers || len(t.clusters) >= maxParts) {
		return false
	}
	// The threads of the cluster whose results it reads must compute it.
	var c *cluster
	for u, inPlace := range r.inPlace {
		if made := t.of[u]; made != nil {
			if c != nil && made != c || !inPlace {
				return false
			}
			c = made
		}
	}
	if s.committed[v] {
		// Nodes of the launch that read what it replaces must do so earlier in the same threads.
		for _, r := range t.readers[s.replaced(v)] {
			if !r.inPlace || c != nil && r.by != c {
				return false
			}
			c = r.by
		}
	}
	if c != nil && (!c.shape.Equal(shape) || c.committed != s.committed[v] || c.weight+weight > maxClusterWeight) {
		return false
	}
	if c == nil {
		c = t.sharing(shape, s.committed[v], weight, r)
	}
	for u := range r.inPlace {
		if s.taken[u] && len(t.readers[u]) == 0 {
			t.held += s.p.Type(u).Bytes()
		}
	}
	t.add(c, i, v, weight, r)
	t.pointers += pointers
	return true
}

func (t *together) add(c *cluster, i int, v ir.Value, weight int, r reads) {
	c.nodes, t.nodes = append(c.nodes, i), append(t.nodes, i)
	c.weight, t.weight = c.weight+weight, t.weight+weight
	t.of[v] = c
	for u, inPlace := range r.inPlace {
		if inPlace {
			c.reads[u] = true
		}
		t.readers[u] = append(t.readers[u], reader{c, inPlace})
	}
}

// sharing returns the last cluster, if it reads some of the same values in place, else a new one.
func (t *together) sharing(shape ir.Shape, committed bool, weight int, r reads) *cluster {
	if last := len(t.clusters) - 1; last >= 0 {
		c := t.clusters[last]
		if c.shape.Equal(shape) && c.committed == committed && c.weight+weight <= maxClusterWeight {
			for v, inPlace := range r.inPlace {
				if inPlace && c.reads[v] {
					return c
				}
			}
		}
	}
	c := &cluster{shape: shape, committed: committed, reads: map[ir.Value]bool{}}
	t.clusters = append(t.clusters, c)
	return c
}

// replaced is the value of the input that a value replaces; -1 for none.
func (s *scope) replaced(v ir.Value) ir.Value {
	for _, out := range s.p.Outputs {
		if out.Value == v && out.Alias >= 0 {
			return s.p.Inputs[out.Alias].Value
		}
	}
	return -1
}

// flush writes the kernel of the nodes that wait.
func (s *scope) flush(f *fusion, direct map[ir.Value]Place) {
	t := s.pending
	if t == nil {
		return
	}
	s.pending = nil
	head := &s.p.Nodes[t.nodes[0]]
	if len(t.nodes) == 1 {
		s.node(head, t.nodes[0], f, direct)
		s.release(t.late)
		return
	}
	before := s.arena.max
	for _, i := range t.nodes {
		s.settle(&s.p.Nodes[i], direct)
	}
	if s.arena.max > before {
		s.plan.Peak = head.Scope
	}
	g := s.kernel(head)
	for _, i := range t.nodes {
		v := s.p.Nodes[i].Outputs[0]
		g.roots = append(g.roots, v)
		s.inMemory[v] = false
	}
	var flag ptx.Operand
	if slices.ContainsFunc(t.clusters, func(c *cluster) bool { return c.committed }) {
		flag = g.flag()
	}
	parts := make([]part, len(t.clusters))
	for i, c := range t.clusters {
		parts[i] = part{n: c.shape.Size(), write: func(thread ptx.Operand) { g.cluster(c, thread) }}
		if c.committed {
			parts[i].before = func() { g.stopIf(flag) }
		}
	}
	g.joint(parts)
	for _, v := range g.roots {
		s.inMemory[v] = true
	}
	for _, i := range t.nodes {
		s.release(f.last[i])
	}
	s.release(t.late)
}

// cluster computes an element of each of a cluster's nodes. Their intermediate results stay in registers, rounded as
// they would be in memory.
func (g *gen) cluster(c *cluster, thread ptx.Operand) {
	x := at(c.shape, thread)
	for _, i := range c.nodes {
		n := &g.p.Nodes[i]
		v := n.Outputs[0]
		d := g.p.Type(v).DType
		r := g.register(d, inlined[n.Op](g, n, x))
		g.store(d, g.element(g.place(g.places[v]), thread, d.Size()), r)
		g.memo[read{v, x}] = g.asStored(d, r)
	}
}
