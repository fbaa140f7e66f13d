package fuse

import (
	"cmp"
	"math"
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/pass"
)

// maxGroup is the largest number of nodes in an elementwise group. A group with at most largeGroup operands may have
// largeGroup nodes. Every operand and every result takes at most two of a block's pointers.
const (
	maxGroup   = 24
	largeGroup = 48
)

// lookupGroup limits the nodes of a group that looks elements up, and lookupOperands its nodes and operands in memory.
// They are larger than for other groups, because more is gained by keeping what lies between indices and elements
// together.
const (
	lookupGroup    = 72
	lookupOperands = 88
)

// fits reports whether a group may have the given numbers of nodes and operands.
func fits(nodes, operands int) bool {
	return nodes <= maxGroup || nodes <= largeGroup && operands <= largeGroup
}

// maxConstant is the largest value, in bytes, that is computed once, at compile time.
const maxConstant = 1 << 20

// Unit is a set of nodes that become one step.
type Unit struct {
	Nodes       []int // in program order
	position    int   // in the program; units run in this order
	Elementwise bool
	Constant    bool
	Size        int   // index space of an elementwise unit
	Sinks       []int // reductions and concatenations of values that the unit computes
	Columns     int   // length of the rows of all sinks except total reductions; 0 without such sinks
	Rows        int   // number of rows, if the unit computes with the sums of its rows; else 0

	Accesses map[ir.Value]Access // of an elementwise unit's operands
	Reads    []ir.Value          // values read from memory
	Tables   []ir.Value          // values of which an elementwise unit reads arbitrary elements
	Writes   []ir.Value          // values written to memory
	Fused    *Epilogue           // of a contraction or convolution
	Awaits   *Unit               // the unit only waits for the all-reduce that this one starts
	Time     int                 // number of the step
}

// Graph is a normalized program, with what the passes find out about it.
type Graph struct {
	Program  *ir.Program
	overlap  bool    // all-reduces run while the replica computes
	predicts bool    // see Options
	Plain    bool    // every node is a unit of its own and nothing is overwritten; the reference for tests
	Def      []int   // by value: the node that defines it, or -1
	Users    [][]int // by value: the nodes that read it
	IsOutput []bool  // by value
	constant []bool  // by node: can be computed at compile time
	UnitOf   []*Unit // by node; nil for nodes that are never computed
	Units    []*Unit

	Needed []bool    // by value: is needed in memory
	before []int     // by value: position of the first unit that reads it from memory
	dense  [][]*Unit // by value: elementwise units that read it densely and might compute it
	sinks  [][]int   // by value: reductions that may join the unit that computes it
}

func NewGraph(p *ir.Program) *Graph {
	n := p.NumValues()
	g := &Graph{Program: p, Def: make([]int, n), Users: pass.Readers(p), IsOutput: make([]bool, n), UnitOf: make([]*Unit, len(p.Nodes)),
		constant: make([]bool, len(p.Nodes)), Needed: make([]bool, n), before: make([]int, n), dense: make([][]*Unit, n),
		sinks: make([][]int, n)}
	for i := range g.Def {
		g.Def[i], g.before[i] = -1, math.MaxInt
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		for _, v := range n.Outputs {
			g.Def[v] = i
		}
		g.constant[i] = g.isConstant(n)
	}
	for _, out := range p.Outputs {
		g.IsOutput[out.Value], g.Needed[out.Value] = true, true
	}
	return g
}

func (g *Graph) Node(v ir.Value) *ir.Node {
	if i := g.Def[v]; i >= 0 {
		return &g.Program.Nodes[i]
	}
	return nil
}

// isConstant reports whether the node's results are small and depend only on constants.
func (g *Graph) isConstant(n *ir.Node) bool {
	if n.Op.IsCollective() || n.Op == ir.ReplicaID || ir.SubPrograms(n.Attrs) != nil {
		return false
	}
	for _, v := range n.Inputs {
		if g.Def[v] < 0 || !g.constant[g.Def[v]] {
			return false
		}
	}
	for _, v := range n.Outputs {
		if n.Op != ir.Constant && g.Program.Type(v).Bytes() > maxConstant {
			return false
		}
	}
	return true
}

// Group decides which nodes become units. It goes through the program backwards, so that it has seen all readers of a
// result before the node that computes it. An elementwise node joins the first unit, in running order, that reads its
// result, if that unit reads it element by element over an index space of the same size. Later readers find the result
// in memory. An operand is therefore always computed by an earlier unit, and units cannot wait for each other.
func (g *Graph) Group() {
	if !g.Plain {
		for i := range g.Program.Nodes {
			for _, find := range patterns {
				find(g, i)
			}
		}
	}
	for i := len(g.Program.Nodes) - 1; i >= 0; i-- {
		n := &g.Program.Nodes[i]
		switch {
		case g.UnitOf[i] != nil:
			if u := g.UnitOf[i]; u.position == i {
				g.readEpilogue(u)
			}
		case n.Op == ir.Constant:
		case g.IsView(n):
			v := n.Outputs[0]
			g.fromMemory(v)
			if g.Needed[v] {
				g.read(nil, n.Inputs[0], g.before[v])
			}
		case (n.Op == ir.Broadcast || n.Op == ir.Slice || n.Op == ir.Convert && g.sinks[n.Outputs[0]] == nil) && !g.Needed[n.Outputs[0]] && g.dense[n.Outputs[0]] == nil:
		case n.Op.IsElementwise() || g.joinsLookup(i, n):
			g.groupElementwise(i, n)
		case g.mayJoin(i, n):
			g.groupConcat(i, n)
		case g.mayBeSink(i, n):
			v := g.SinkOperand(i)
			g.sinks[v] = append(g.sinks[v], i)
		default:
			g.groupSingle(i, n)
		}
	}
	slices.SortFunc(g.Units, func(a, b *Unit) int { return cmp.Compare(a.position, b.position) })
	for _, u := range g.Units {
		slices.Sort(u.Nodes)
	}
	if !g.Plain {
		g.mergeNeighbours()
		g.joinRows()
		g.leaveConcats()
		g.joinSlices()
	}
	g.collectMemory()
}

// groupSingle makes a unit of one node.
func (g *Graph) groupSingle(i int, n *ir.Node) {
	u := g.newUnit(i)
	for _, v := range n.Outputs {
		g.fromMemory(v)
	}
	for k, v := range n.Inputs {
		if def := g.Node(v); n.Op == ir.EmbeddingGrad && k == 0 && def != nil && def.Op == ir.Convert {
			continue // it needs only the shape of the table, so the conversion need not be computed
		}
		if cut := g.Cut(n, v); cut != nil {
			v = cut.Inputs[0]
		}
		g.read(u, v, i)
	}
}

// mayBeSink reports whether the node reduces the result of an elementwise node.
func (g *Graph) mayBeSink(i int, n *ir.Node) bool {
	if _, ok := g.SinkOf(n); !ok || g.Plain {
		return false
	}
	a := resolve(g.Program, g.Def, n.Inputs[0])
	j := g.Def[a.Source]
	return a.Dense && j >= 0 && g.UnitOf[j] == nil && g.Program.Nodes[j].Op.IsElementwise() && g.constant[i] == g.constant[j]
}

// deadline returns the position before which the node's result must have been computed.
func (g *Graph) deadline(n *ir.Node) int {
	v := n.Outputs[0]
	at := g.before[v]
	for _, u := range g.dense[v] {
		at = min(at, u.position)
	}
	for _, i := range g.sinks[v] {
		at = min(at, g.deadline(&g.Program.Nodes[i]))
	}
	return at
}

// takesSinks reports whether all the reductions can join unit u.
func (g *Graph) takesSinks(u *Unit, sinks []int) bool {
	columns := u.Columns
	for _, i := range sinks {
		s, _ := g.SinkOf(&g.Program.Nodes[i])
		if s.Columns > 0 && columns > 0 && s.Columns != columns || g.deadline(&g.Program.Nodes[i]) <= u.position {
			return false
		}
		columns = max(columns, s.Columns)
	}
	return true
}

// addSinks lets the reductions of v join unit u, which computes v. Those that cannot become units of their own.
func (g *Graph) addSinks(u *Unit, v ir.Value) {
	for _, i := range g.sinks[v] {
		n := &g.Program.Nodes[i]
		if !g.takesSinks(u, []int{i}) || len(u.Sinks) == maxSinks {
			g.groupSingle(i, n)
			for x := n.Inputs[0]; x != v; { // the views in between have been visited already
				x = g.Node(x).Inputs[0]
				g.read(nil, x, i)
			}
			continue
		}
		s, _ := g.SinkOf(n)
		u.Columns = max(u.Columns, s.Columns)
		u.Sinks = append(u.Sinks, i)
		g.UnitOf[i] = u
		g.Needed[n.Outputs[0]] = true
		g.fromMemory(n.Outputs[0])
	}
}

// maxSinks is the largest number of reductions in one unit.
const maxSinks = 8

func (g *Graph) newUnit(i int) *Unit {
	u := &Unit{Nodes: []int{i}, position: i, Constant: g.constant[i]}
	g.UnitOf[i] = u
	g.Units = append(g.Units, u)
	return u
}

// read records that the unit reads v from memory at the given position. If the unit is nil, some later reader does.
//
//go:noinline
func (g *Graph) read(u *Unit, v ir.Value, position int) {
	g.Needed[v] = true
	g.before[v] = min(g.before[v], position)
	if u != nil && !slices.Contains(u.Reads, v) {
		u.Reads = append(u.Reads, v)
	}
}

// fromMemory makes all elementwise readers of v read it from memory.
//
//go:noinline
func (g *Graph) fromMemory(v ir.Value) {
	for _, u := range g.dense[v] {
		g.read(u, v, u.position)
	}
}

func (g *Graph) groupElementwise(i int, n *ir.Node) {
	v := n.Outputs[0]
	var u *Unit
	for _, reader := range g.dense[v] {
		if u == nil || reader.position < u.position {
			u = reader
		}
	}
	size := g.Program.Type(v).Shape.Size()
	if u != nil && !g.Plain && u.position < g.before[v] && u.Size == size && u.Constant == g.constant[i] &&
		(fits(len(u.Nodes)+g.joined(u)+1, len(u.Accesses)+len(n.Inputs)) || g.fitsLookups(u, i)) &&
		len(u.Sinks)+len(g.sinks[v]) <= maxSinks && g.takesSinks(u, g.sinks[v]) {
		for _, reader := range g.dense[v] {
			if reader != u {
				g.read(reader, v, reader.position)
			}
		}
		u.Nodes = append(u.Nodes, i)
		g.UnitOf[i] = u
	} else {
		g.fromMemory(v)
		u = g.newUnit(i)
		u.Elementwise, u.Size, u.Accesses = true, size, map[ir.Value]Access{}
	}
	g.addSinks(u, v)
	for j, x := range n.Inputs {
		if n.Op == ir.Gather && j == 0 {
			g.readTable(u, x)
			continue
		}
		g.readElementwise(u, x)
	}
}

// readElementwise records how an elementwise unit reads an operand.
func (g *Graph) readElementwise(u *Unit, x ir.Value) {
	if _, known := u.Accesses[x]; known {
		return
	}
	a := resolve(g.Program, g.Def, x)
	u.Accesses[x] = a
	switch {
	case g.Def[a.Source] < 0 || g.Node(a.Source).Op == ir.Constant || !a.Dense:
		g.read(u, a.Source, u.position)
	case !slices.Contains(g.dense[a.Source], u):
		g.dense[a.Source] = append(g.dense[a.Source], u)
	}
}

// collectMemory lists what every unit writes.
func (g *Graph) collectMemory() {
	for _, u := range g.Units {
		if u.Fused != nil {
			u.Writes = append(append(u.Writes, u.Fused.Result), g.Program.Nodes[u.Fused.Anchor].Outputs[1:]...)
			if u.Fused.Coding != nil {
				u.Writes = append(u.Writes, u.Fused.Coding.Scale)
			}
		}
		for _, i := range u.Nodes {
			for _, v := range g.Program.Nodes[i].Outputs {
				if u.Fused == nil && (g.Needed[v] || !u.Elementwise) {
					u.Writes = append(u.Writes, v)
				}
			}
		}
		for _, i := range u.Sinks {
			u.Writes = append(u.Writes, g.Program.Nodes[i].Outputs[0])
		}
	}
}
