package cpu

import (
	"cmp"
	"math"
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// maxGroup is the largest number of nodes in an elementwise group.
const maxGroup = 24

// maxConstant is the largest value, in bytes, that is computed once when the program is compiled.
const maxConstant = 1 << 20

// unit is a set of nodes that become one step.
type unit struct {
	nodes       []int // in program order
	position    int   // in the program: units run in this order
	elementwise bool
	constant    bool
	size        int   // index space of an elementwise unit
	sinks       []int // reductions of values that the unit computes
	columns     int   // row length that all sinks but total reductions have; 0 without such sinks

	accesses map[ir.Value]access // of an elementwise unit's operands
	reads    []ir.Value          // values read from memory
	writes   []ir.Value          // values written to memory
	fused    *epilogue           // of a contraction or convolution
	awaits   *unit               // waits for the all-reduce that this unit starts; nothing else
	time     int                 // number of the step
}

// graph is a normalised program with what the passes find out about it.
type graph struct {
	p        *ir.Program
	overlap  bool    // all-reduces go on while the replica computes
	plain    bool    // every node is a unit of its own and nothing is overwritten: the yardstick of tests
	def      []int   // by value: the node that defines it, or -1
	users    [][]int // by value: the nodes that read it
	isOutput []bool  // by value
	constant []bool  // by node: can be computed when the program is compiled
	unitOf   []*unit // by node; nil for nodes that are never computed
	units    []*unit

	needed []bool    // by value: is needed in memory
	before []int     // by value: position of the first unit that reads it from memory
	dense  [][]*unit // by value: elementwise units that read it densely and might compute it
	sinks  [][]int   // by value: reductions that may join the unit that computes it
}

func newGraph(p *ir.Program) *graph {
	n := p.NumValues()
	g := &graph{p: p, def: make([]int, n), users: make([][]int, n), isOutput: make([]bool, n), unitOf: make([]*unit, len(p.Nodes)),
		constant: make([]bool, len(p.Nodes)), needed: make([]bool, n), before: make([]int, n), dense: make([][]*unit, n),
		sinks: make([][]int, n)}
	for i := range g.def {
		g.def[i], g.before[i] = -1, math.MaxInt
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		for _, v := range n.Outputs {
			g.def[v] = i
		}
		for _, v := range n.Inputs {
			g.users[v] = append(g.users[v], i)
		}
		g.constant[i] = g.isConstant(n)
	}
	for _, out := range p.Outputs {
		g.isOutput[out.Value], g.needed[out.Value] = true, true
	}
	return g
}

func (g *graph) node(v ir.Value) *ir.Node {
	if i := g.def[v]; i >= 0 {
		return &g.p.Nodes[i]
	}
	return nil
}

// isConstant reports whether the node's results are small and depend on constants only.
func (g *graph) isConstant(n *ir.Node) bool {
	if n.Op.IsCollective() || n.Op == ir.ReplicaID || ir.SubPrograms(n.Attrs) != nil {
		return false
	}
	for _, v := range n.Inputs {
		if g.def[v] < 0 || !g.constant[g.def[v]] {
			return false
		}
	}
	for _, v := range n.Outputs {
		if n.Op != ir.Constant && g.p.Type(v).Bytes() > maxConstant {
			return false
		}
	}
	return true
}

// group decides which nodes become units. It goes through the program backwards, so that a node sees all readers of its
// result. An elementwise node joins the first (in running order) unit that reads its result, if that one reads it element
// by element over an index space of the same size; later readers find it in memory. So an operand is always computed by a
// unit that runs before, and units cannot wait for each other.
func (g *graph) group() {
	if !g.plain {
		g.findEpilogues()
	}
	for i := len(g.p.Nodes) - 1; i >= 0; i-- {
		n := &g.p.Nodes[i]
		switch {
		case g.unitOf[i] != nil:
			if u := g.unitOf[i]; u.position == i {
				g.readEpilogue(u)
			}
		case n.Op == ir.Constant:
		case g.isView(n):
			v := n.Outputs[0]
			g.fromMemory(v)
			if g.needed[v] {
				g.read(nil, n.Inputs[0], g.before[v])
			}
		case (n.Op == ir.Broadcast || n.Op == ir.Slice) && !g.needed[n.Outputs[0]] && g.dense[n.Outputs[0]] == nil:
		case n.Op.IsElementwise():
			g.groupElementwise(i, n)
		case g.mayBeSink(i, n):
			v := g.sinkOperand(i)
			g.sinks[v] = append(g.sinks[v], i)
		default:
			g.groupSingle(i, n)
		}
	}
	slices.SortFunc(g.units, func(a, b *unit) int { return cmp.Compare(a.position, b.position) })
	for _, u := range g.units {
		slices.Sort(u.nodes)
	}
	if !g.plain {
		g.mergeNeighbours()
	}
	g.collectMemory()
}

// groupSingle makes a unit of one node.
func (g *graph) groupSingle(i int, n *ir.Node) {
	u := g.newUnit(i)
	for _, v := range n.Outputs {
		g.fromMemory(v)
	}
	for _, v := range n.Inputs {
		g.read(u, v, i)
	}
}

// mayBeSink reports whether the node is a reduction of what an elementwise node computes.
func (g *graph) mayBeSink(i int, n *ir.Node) bool {
	if _, ok := g.sinkOf(n); !ok || g.plain {
		return false
	}
	a := resolve(g.p, g.def, n.Inputs[0])
	j := g.def[a.source]
	return a.dense && j >= 0 && g.unitOf[j] == nil && g.p.Nodes[j].Op.IsElementwise() && g.constant[i] == g.constant[j]
}

// deadline is the position before which the node's result must have been computed.
func (g *graph) deadline(n *ir.Node) int {
	v := n.Outputs[0]
	at := g.before[v]
	for _, u := range g.dense[v] {
		at = min(at, u.position)
	}
	for _, i := range g.sinks[v] {
		at = min(at, g.deadline(&g.p.Nodes[i]))
	}
	return at
}

// takesSinks reports whether all the reductions can join unit u.
func (g *graph) takesSinks(u *unit, sinks []int) bool {
	columns := u.columns
	for _, i := range sinks {
		s, _ := g.sinkOf(&g.p.Nodes[i])
		if s.columns > 0 && columns > 0 && s.columns != columns || g.deadline(&g.p.Nodes[i]) <= u.position {
			return false
		}
		columns = max(columns, s.columns)
	}
	return true
}

// addSinks lets the reductions of v join unit u, which computes v; those that cannot become units of their own.
func (g *graph) addSinks(u *unit, v ir.Value) {
	for _, i := range g.sinks[v] {
		n := &g.p.Nodes[i]
		if !g.takesSinks(u, []int{i}) || len(u.sinks) == maxSinks {
			g.groupSingle(i, n)
			for x := n.Inputs[0]; x != v; { // the views in between have been visited already
				x = g.node(x).Inputs[0]
				g.read(nil, x, i)
			}
			continue
		}
		s, _ := g.sinkOf(n)
		u.columns = max(u.columns, s.columns)
		u.sinks = append(u.sinks, i)
		g.unitOf[i] = u
		g.needed[n.Outputs[0]] = true
		g.fromMemory(n.Outputs[0])
	}
}

// maxSinks is the largest number of reductions in one unit.
const maxSinks = 8

func (g *graph) newUnit(i int) *unit {
	u := &unit{nodes: []int{i}, position: i, constant: g.constant[i]}
	g.unitOf[i] = u
	g.units = append(g.units, u)
	return u
}

// isView reports whether the node's result is its operand's memory, or a contiguous piece of it.
func (g *graph) isView(n *ir.Node) bool {
	switch a := n.Attrs.(type) {
	case ir.ReshapeAttrs:
		return true
	case ir.SliceAttrs:
		_, ok := contiguousSlice(a, g.p.Type(n.Inputs[0]).Shape)
		return ok
	}
	return false
}

// contiguousSlice returns the first element of a slice that cuts one contiguous piece.
func contiguousSlice(a ir.SliceAttrs, s ir.Shape) (first int, ok bool) {
	strides := s.Strides()
	cut := false // an axis further out is longer than 1 in the result
	for i := range s {
		n := a.Limit[i] - a.Start[i]
		first += a.Start[i] * strides[i]
		if n > 1 && a.Stride[i] != 1 || cut && n != s[i] {
			return 0, false
		}
		cut = cut || n > 1
	}
	return first, true
}

// read notes that the unit reads v from memory at the given position. Without a unit, some later reader does.
func (g *graph) read(u *unit, v ir.Value, position int) {
	g.needed[v] = true
	g.before[v] = min(g.before[v], position)
	if u != nil && !slices.Contains(u.reads, v) {
		u.reads = append(u.reads, v)
	}
}

// fromMemory makes all elementwise readers of v read it from memory.
func (g *graph) fromMemory(v ir.Value) {
	for _, u := range g.dense[v] {
		g.read(u, v, u.position)
	}
}

func (g *graph) groupElementwise(i int, n *ir.Node) {
	v := n.Outputs[0]
	var u *unit
	for _, reader := range g.dense[v] {
		if u == nil || reader.position < u.position {
			u = reader
		}
	}
	size := g.p.Type(v).Shape.Size()
	if u != nil && !g.plain && u.position < g.before[v] && u.size == size && u.constant == g.constant[i] && len(u.nodes) < maxGroup &&
		len(u.sinks)+len(g.sinks[v]) <= maxSinks && g.takesSinks(u, g.sinks[v]) {
		for _, reader := range g.dense[v] {
			if reader != u {
				g.read(reader, v, reader.position)
			}
		}
		u.nodes = append(u.nodes, i)
		g.unitOf[i] = u
	} else {
		g.fromMemory(v)
		u = g.newUnit(i)
		u.elementwise, u.size, u.accesses = true, size, map[ir.Value]access{}
	}
	g.addSinks(u, v)
	for _, x := range n.Inputs {
		g.readElementwise(u, x)
	}
}

// readElementwise notes how an elementwise unit reads an operand.
func (g *graph) readElementwise(u *unit, x ir.Value) {
	if _, known := u.accesses[x]; known {
		return
	}
	a := resolve(g.p, g.def, x)
	u.accesses[x] = a
	switch {
	case g.def[a.source] < 0 || g.node(a.source).Op == ir.Constant || !a.dense:
		g.read(u, a.source, u.position)
	case !slices.Contains(g.dense[a.source], u):
		g.dense[a.source] = append(g.dense[a.source], u)
	}
}

// collectMemory lists what every unit writes.
func (g *graph) collectMemory() {
	for _, u := range g.units {
		if u.fused != nil {
			u.writes = append(append(u.writes, u.fused.result), g.p.Nodes[u.fused.anchor].Outputs[1:]...)
		}
		for _, i := range u.nodes {
			for _, v := range g.p.Nodes[i].Outputs {
				if u.fused == nil && (g.needed[v] || !u.elementwise) {
					u.writes = append(u.writes, v)
				}
			}
		}
		for _, i := range u.sinks {
			u.writes = append(u.writes, g.p.Nodes[i].Outputs[0])
		}
	}
}
