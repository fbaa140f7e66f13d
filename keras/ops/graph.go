package ops

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// Graph is a program under construction. It is used by one goroutine.
type Graph struct {
	program *ir.Program
	parent  *Graph // of a loop or branch body: the graph that its captured tensors come from
	scope   []string

	captured []capture           // of a body: outer tensors and the inputs that stand for them
	results  []ir.Value          // of a body: its outputs
	custom   map[int]*customRule // gradient rules of the nodes made by CustomGradient
	segments []Segment           // that gradients recompute, in order and not nested
	bodies   map[int]*Graph      // loop node -> graph its body was traced in
	branches map[int][2]*branch  // Cond node -> its branches
	branch   bool                // a branch of a Cond: only one of two runs
	active   []*Graph            // of the root: the bodies being traced, outermost first
	random   func() *Tensor
	owner    Owner
	streams  map[string]uint32
	open     bool   // of the root: an input has an open axis
	shapes   string // of the root: the path of what made it valid for its shapes alone
}

type capture struct {
	outer *Tensor
	inner ir.Value
}

// NewGraph starts an empty program.
func NewGraph(name string) *Graph { return &Graph{program: ir.New(name)} }

// Program returns the program traced so far.
func (g *Graph) Program() *ir.Program { return g.program }

// Graph returns g, so that a graph can be passed where something traced (a replica, a layer context) is expected.
func (g *Graph) Graph() *Graph { return g }

// Traced is anything that belongs to a graph under construction.
type Traced interface{ Graph() *Graph }

// graphFor returns the graph that t belongs to, and fails if there is none.
func graphFor(t Traced) *Graph {
	if t != nil {
		if g := t.Graph(); g != nil {
			return g
		}
	}
	Failf(nil, "the graph, or what stands for it (a tensor, a replica, a layer's context), is nil")
	return nil
}

// Input adds a parameter of the given type.
func (g *Graph) Input(name string, dtype ir.DType, shape ...int) *Tensor {
	if !dim.AllKnown(shape) {
		g.Root().open = true
	}
	return &Tensor{g: g, v: g.program.AddInput(name, ir.Type{DType: dtype, Shape: shape})}
}

// Root returns the outermost graph.
func (g *Graph) Root() *Graph {
	for g.parent != nil {
		g = g.parent
	}
	return g
}

// Owner manages a trace. It knows how many replicas take part.
type Owner interface {
	// NumReplicasInSync is the number of replicas that share a step.
	NumReplicasInSync() int
	// LocalBatchSize and GlobalBatchSize are the numbers of examples on this replica and on all replicas.
	LocalBatchSize() int
	GlobalBatchSize() int
}

// SetOwner ties the trace to the object that manages it. Code deeper down finds it with Owner.
func (g *Graph) SetOwner(owner Owner) { g.owner = owner }

// Owner returns what SetOwner was given, or nil.
func (g *Graph) Owner() Owner { return g.owner }

// checkNumber marks the graph if a number was made from the handle of an open length: a number as large as such
// handles, or the inverse of one.
func (g *Graph) checkNumber(v float64) {
	if !g.Root().open {
		return
	}
	if size := math.Abs(v); size >= 0x1p58 && size <= 0x1p63 || size >= 0x1p-62 && size <= 0x1p-61 {
		g.OnlyShapes()
	}
}

// OnlyShapes marks the graph as valid for its shapes alone: some number in it is a placeholder for one that depends on
// open axes.
func (g *Graph) OnlyShapes() {
	if root := g.Root(); root.shapes == "" {
		root.shapes = "layer " + strconv.Quote(g.Path())
	}
}

// ShapesOnly returns where the graph has placeholders for numbers that depend on open axes in a way that a program
// cannot express, or "" if the graph computes what it should.
func (g *Graph) ShapesOnly() string { return g.Root().shapes }

// InScope runs f with name added to the path that nodes and errors carry.
//
//go:noinline
func (g *Graph) InScope(name string, f func()) {
	g.Enter(name)
	f()
	g.Leave()
}

// Enter adds name to the path; Leave removes the last one. After a panic of Fail the path stays as it was at the error,
// and the graph must not be used any more.
func (g *Graph) Enter(name string) { g.scope = append(g.scope, name) }

// Leave undoes the last Enter.
func (g *Graph) Leave() { g.scope = g.scope[:len(g.scope)-1] }

// Path returns the current scope, "model/dense".
func (g *Graph) Path() string {
	path := strings.Join(g.scope, "/")
	if g.parent == nil {
		return path
	}
	outer := g.parent.Path()
	if outer == "" || path == "" {
		return outer + path
	}
	return outer + "/" + path
}

// SetRandom sets the source of the graph's random state: a uint32[4] tensor (seed low, seed high, step, replica). The
// function is called at most once, when a random op is first traced.
func (g *Graph) SetRandom(state func() *Tensor) {
	var t *Tensor
	g.random = func() *Tensor {
		if t == nil {
			t = state()
		}
		return t
	}
}

// RandomState returns the random state of the trace.
func (g *Graph) RandomState() *Tensor {
	root := g.Root()
	if root.random == nil {
		Failf(g, "a random operation needs a random state, but this graph has none; call SetRandom on it first")
	}
	active := root.active
	root.active = nil // the state belongs to the root, not to the branch that asks for it first
	t := root.random()
	root.active = active
	return t
}

// Stream returns a number for a random op. It differs from that of all other random ops of the trace and is the same in
// every trace of the same model: it is derived from the path, the seed and a count.
func (g *Graph) Stream(seed uint64) uint32 {
	root := g.Root()
	if root.streams == nil {
		root.streams = map[string]uint32{}
	}
	path := g.Path()
	n := root.streams[path]
	root.streams[path] = n + 1
	h := uint64(14695981039346656037) // FNV-1a
	mix := func(b byte) { h = (h ^ uint64(b)) * 1099511628211 }
	for i := range len(path) {
		mix(path[i])
	}
	for i := range 8 {
		mix(byte(seed >> (8 * i)))
	}
	for i := range 4 {
		mix(byte(n >> (8 * i)))
	}
	return uint32(h ^ h>>32)
}

// add appends a node and wraps its results. Operands may come from outer graphs.
func (g *Graph) add(op ir.Op, attrs ir.Attrs, in ...*Tensor) []*Tensor {
	g = g.place()
	if g.parent != nil && !slices.Contains(g.Root().active, g) {
		Failf(g, "a tensor made inside the body %q of a loop or branch was used after the body had ended; return it from the body", g.program.Name)
	}
	values := make([]ir.Value, len(in))
	for i, t := range in {
		values[i] = g.use(t)
	}
	out, err := g.program.Add(g.Path(), op, attrs, values...)
	if err != nil {
		Fail(g, err)
	}
	return g.wrap(out)
}

func (g *Graph) wrap(values []ir.Value) []*Tensor {
	ts := make([]*Tensor, len(values))
	for i, v := range values {
		ts[i] = &Tensor{g: g, v: v}
	}
	return ts
}

// use returns the value that stands for t in g, capturing it from an outer graph where needed.
func (g *Graph) use(t *Tensor) ir.Value {
	if t == nil {
		Failf(g, "an operand is nil; every operation needs all of its tensors")
	}
	if t.g == g {
		return t.v
	}
	if !t.g.encloses(g) {
		Failf(g, "a tensor of graph %q was used in graph %q; a tensor lives only in the trace that made it", t.g.program.Name, g.program.Name)
	}
	outer := t
	if g.parent != t.g { // hand it down level by level
		outer = &Tensor{g: g.parent, v: g.parent.use(t)}
	}
	for _, c := range g.captured {
		if c.outer.v == outer.v {
			return c.inner
		}
	}
	v := g.program.AddInput("captured", outer.Type())
	g.captured = append(g.captured, capture{outer, v})
	return v
}

// In returns the value that stands for t in the program of g, for use as one of its outputs.
func In(g *Graph, t *Tensor) ir.Value {
	if g == nil {
		Failf(nil, "In: the graph is nil; expected that of the program")
	}
	return g.use(t)
}

// encloses reports whether g is an ancestor of inner, or inner itself.
func (g *Graph) encloses(inner *Graph) bool {
	for ; inner != nil; inner = inner.parent {
		if inner == g {
			return true
		}
	}
	return false
}

// graphOf returns the innermost graph among those of the operands.
func graphOf(in ...*Tensor) *Graph {
	var g *Graph
	for _, t := range in {
		if t == nil {
			Failf(g, "an operand is nil; every operation needs all of its tensors")
		}
		if g == nil || g.encloses(t.g) {
			g = t.g
		}
	}
	return g
}

func apply(op ir.Op, attrs ir.Attrs, in ...*Tensor) []*Tensor {
	return graphOf(in...).add(op, attrs, in...)
}

func apply1(op ir.Op, attrs ir.Attrs, in ...*Tensor) *Tensor {
	return graphOf(in...).add(op, attrs, in...)[0]
}
