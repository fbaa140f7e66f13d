package lower

import (
	"fmt"
	"math"
	"slices"

	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/pass"
)

// Options say how a program will be run.
type Options struct {
	Replicas int // number that run the program together; 0 means 1
	// Capability is the lowest compute capability of the devices, as major·10+minor; 0 means 75. From 80 on, tensor
	// cores multiply matrices of 16-bit floats.
	Capability int
	// TF32 allows tensor cores for products of float32 too, of which they use 10 bits of each mantissa.
	TF32 bool
	// Hopper says that all devices have compute capability 9.0: their warp groups multiply 16-bit floats.
	Hopper bool
	// Bulk says that the driver can encode tensor maps for bulk copies, which devices of 9.0 support.
	Bulk bool
	// Stages, if not 0, limits the stages of operands in kernels for warp groups. Tests use few, so that stages are
	// reused.
	Stages int
	// Several, if not 0, is the number of elements from which on a thread computes several. Tests use small numbers.
	Several int
	// Cut chooses how a float32 product without tensor cores is divided; nil means the usual way.
	Cut func(usual Cut) Cut
	// Pick returns the fastest of several kernels for a product or a convolution; nil means the usual one.
	Pick func(q Question) int
	// Library names the library that is faster than the kernel of the question, "" for none; nil means there are no
	// libraries.
	Library func(q Question) string
}

// Question asks which way of computing a node is fastest.
type Question struct {
	Node  *ir.Node
	In    []ir.Type
	Ways  []string // stable names of the alternatives
	Usual int      // the default, used if nothing was measured
	FLOPs int64    // of the node
	// Libraries are those that could compute it instead. After is the number of bytes that other kernels then read and
	// write.
	Libraries []string
	After     []int64
}

// lowering is shared by all scopes of a program.
type lowering struct {
	options     Options
	plan        *Plan
	module      ptx.Module
	arena       arena
	tables      map[string]Place // of constants, by contents
	conditional int              // number of enclosing loops and branches that may not run
	carries     bool             // the payload of float16 NaN must survive
}

// scope is a program being lowered, or a subprogram of one.
type scope struct {
	*lowering
	p         *ir.Program
	steps     *[]Step
	guard     Place // of the enclosing branch; Nowhere if there is none
	makers    []*ir.Node
	position  []int // of each value's node
	places    []Place
	inMemory  []bool // inputs, and values that have kernels
	committed map[ir.Value]bool
	taken     map[ir.Value]bool // values in the arena
	pending   *together         // nodes that wait, to share a launch
	early     []bool            // by node: it was computed before its turn
	beside    []*total          // other reductions that the current kernel computes
	moments   bool              // beside is the sum of squared differences from the mean that the kernel computes
	followers []ir.Value        // what the current kernel computes from its results
	spread    []ir.Value        // what it computes from its results at each element that they are reduced from
	sums      []sideSum         // sums that a product's kernel also computes
	// statistics is the mean of a product's results that its kernel computes, along with beside and followers; nil for
	// none.
	statistics *total
	underWay   *underWay // of the outermost program; nil in subprograms
}

// Program lowers a program. If the program is invalid, or needs a kernel that does not exist, the error names the op
// and the layer.
func Program(p *ir.Program, o Options) (plan *Plan, err error) {
	if err := p.Verify(); err != nil {
		return nil, err
	}
	nodes := len(p.Nodes)
	if p, err = ir.Expand(p, o.keeps); err != nil {
		return nil, err
	}
	if p, err = pass.Run(p, nil, passes(o)...); err != nil {
		return nil, err
	}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case lowerError:
			plan, err = nil, r.error
		default:
			panic(r)
		}
	}()
	l := &lowering{options: o, plan: &Plan{Nodes: nodes, Fixed: true}, tables: map[string]Place{}, carries: carries(p)}
	inputs := make([]Place, len(p.Inputs))
	for i := range inputs {
		inputs[i] = Place{Space: Input, Index: i}
	}
	s := l.open(p, inputs, &l.plan.Steps, Place{})
	s.outermost()
	l.plan.Text = l.module.String()
	l.plan.ArenaBytes = l.arena.max
	return l.plan, nil
}

// passes are applied to the expanded program.
func passes(o Options) []pass.Pass {
	simplify := pass.Inside(pass.Simplify(pass.SimplifyOptions{Replicas: o.Replicas}))
	list := []pass.Pass{pass.Ungroup(), simplify, simplify} // the second run handles what the first exposed
	if o.Replicas > 1 {
		list = append(list, pass.MergeAllReduces())
	}
	return append(list, narrow(), hoist(), sumsByProducts(), pass.Inside(pass.DropBarriers()), pass.ScheduleUpdates())
}

// keeps says which composites have a kernel.
func (o Options) keeps(p *ir.Program, n *ir.Node) bool {
	switch {
	case rowOps[n.Op]:
		return keepsRows(p, n)
	case n.Op == ir.Attention || n.Op == ir.AttentionGrad:
		return o.hasFlash(p, n)
	}
	return roots[n.Op] != nil || inlined[n.Op] != nil || n.Op == ir.Barrier // passes drop barriers
}

// roots are the ops that have kernels.
var roots map[ir.Op]func(s *scope, n *ir.Node, root ir.Value)

func init() {
	contraction := func(describe func(g *gen, n *ir.Node) contraction) func(s *scope, n *ir.Node, root ir.Value) {
		return func(s *scope, n *ir.Node, root ir.Value) { s.contract(n, root, describe) }
	}
	roots = map[ir.Op]func(s *scope, n *ir.Node, root ir.Value){
		ir.Reduce:         (*scope).reduce,
		ir.ArgMax:         (*scope).arg,
		ir.ArgMin:         (*scope).arg,
		ir.Cumulative:     (*scope).cumulative,
		ir.Sort:           func(s *scope, n *ir.Node, _ ir.Value) { s.sort(n) },
		ir.TopK:           func(s *scope, n *ir.Node, _ ir.Value) { s.sort(n) },
		ir.Scatter:        (*scope).scatter,
		ir.Dot:            contraction((*gen).dot),
		ir.Conv:           contraction((*gen).conv),
		ir.ConvInputGrad:  contraction((*gen).convInputGrad),
		ir.ConvKernelGrad: contraction((*gen).convKernelGrad),
		ir.Scan:           func(s *scope, n *ir.Node, _ ir.Value) { s.scan(n) },
		ir.While:          func(s *scope, n *ir.Node, _ ir.Value) { s.while(n) },
		ir.Cond:           func(s *scope, n *ir.Node, _ ir.Value) { s.cond(n) },

		ir.Attention:                 func(s *scope, n *ir.Node, _ ir.Value) { s.attention(n) },
		ir.AttentionGrad:             func(s *scope, n *ir.Node, _ ir.Value) { s.attentionGrad(n) },
		ir.Softmax:                   func(s *scope, n *ir.Node, _ ir.Value) { s.softmax(n) },
		ir.LogSoftmax:                func(s *scope, n *ir.Node, _ ir.Value) { s.softmax(n) },
		ir.SoftmaxGrad:               func(s *scope, n *ir.Node, _ ir.Value) { s.softmaxGrad(n) },
		ir.LogSoftmaxGrad:            func(s *scope, n *ir.Node, _ ir.Value) { s.softmaxGrad(n) },
		ir.SparseSoftmaxCrossEntropy: func(s *scope, n *ir.Node, _ ir.Value) { s.crossEntropy(n) },
		ir.LayerNorm:                 func(s *scope, n *ir.Node, _ ir.Value) { s.layerNorm(n) },
		ir.LayerNormGrad:             func(s *scope, n *ir.Node, _ ir.Value) { s.layerNormGrad(n) },

		ir.AllReduce:           func(s *scope, n *ir.Node, _ ir.Value) { s.collective(n) },
		ir.AllGather:           func(s *scope, n *ir.Node, _ ir.Value) { s.collective(n) },
		ir.ReduceScatter:       func(s *scope, n *ir.Node, _ ir.Value) { s.collective(n) },
		ir.CollectiveBroadcast: func(s *scope, n *ir.Node, _ ir.Value) { s.collective(n) },
	}
}

// How says how an op is computed on the device: "kernel", "chain" (part of the kernel that reads it), "decomposition",
// "kernel or decomposition" depending on types and shapes, "launches" of the kernels of its sub-programs, or
// "collective".
func How(op ir.Op) string {
	switch {
	case op == ir.Scan || op == ir.While || op == ir.Cond:
		return "launches"
	case op == ir.AllReduce || op == ir.AllGather || op == ir.ReduceScatter || op == ir.CollectiveBroadcast:
		return "collective"
	case rowOps[op] || op == ir.Attention || op == ir.AttentionGrad: // see keeps
		return "kernel or decomposition"
	case roots[op] != nil:
		return "kernel"
	case inlined[op] != nil:
		return "chain"
	case op.IsComposite():
		return "decomposition"
	}
	return ""
}

// open prepares a program with inputs at the given places.
func (l *lowering) open(p *ir.Program, inputs []Place, steps *[]Step, guard Place) *scope {
	n := p.NumValues()
	s := &scope{lowering: l, p: p, steps: steps, guard: guard, makers: make([]*ir.Node, n), position: make([]int, n), places: make([]Place, n), inMemory: make([]bool, n), early: make([]bool, len(p.Nodes)), committed: map[ir.Value]bool{}, taken: map[ir.Value]bool{}}
	for i, in := range p.Inputs {
		s.places[in.Value], s.inMemory[in.Value] = inputs[i], true
		s.position[in.Value] = -1
	}
	for i := range p.Nodes {
		for _, v := range p.Nodes[i].Outputs {
			s.makers[v], s.position[v] = &p.Nodes[i], i
			if size := p.Type(v).Shape.Size(); size > math.MaxInt32 {
				s.failf(&p.Nodes[i], "a value of type %v has more than %d elements, which kernels do not count", p.Type(v), math.MaxInt32)
			}
		}
	}
	return s
}

func (s *scope) stored(v ir.Value) bool { return s.inMemory[v] }

// outermost lowers the outermost program. Outputs that replace inputs are written by their kernels, or at the end
// unless the step failed.
func (s *scope) outermost() {
	p := s.p
	to := make([]Place, len(p.Outputs))
	for i, out := range p.Outputs {
		if out.Alias < 0 {
			to[i] = Place{Space: Output, Index: i}
		}
	}
	f := s.fuse()
	s.commitInPlace(f, to)
	s.underWay = &underWay{}
	results := s.write(f, to)
	scope := &ir.Node{Op: ir.Identity, Scope: p.Name}
	kept := make([]Place, len(p.Outputs))
	var aside []copying
	for i, out := range p.Outputs {
		if out.Alias < 0 || s.committed[out.Value] {
			continue
		}
		kept[i] = results[i]
		if results[i].Space == Input && results[i].Index != out.Alias {
			t := p.Type(out.Value) // another input, which may itself be replaced
			kept[i] = Place{Space: Arena, Offset: s.arena.take(t.Bytes())}
			aside = append(aside, copying{t, results[i], kept[i]})
		}
	}
	s.copyAll(scope, aside, false)
	var last []copying
	for i, out := range p.Outputs {
		if out.Alias >= 0 && !s.committed[out.Value] {
			last = append(last, copying{p.Type(out.Value), kept[i], Place{Space: Output, Index: i}})
		}
	}
	s.copyAll(scope, last, true)
}

// body lowers the nodes of a program. It writes outputs to their places, where given, and returns the places of all.
// Their arena memory remains allocated.
func (s *scope) body(to []Place) []Place { return s.write(s.fuse(), to) }

// write is body with a given fusion.
func (s *scope) write(f *fusion, to []Place) []Place {
	p := s.p
	direct := map[ir.Value]Place{}
	for i, out := range p.Outputs {
		v := out.Value
		if to[i].Space == Nowhere || s.position[v] < 0 || direct[v].Space != Nowhere {
			continue
		}
		direct[v] = to[i]
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if !s.early[i] {
			s.awaitFor(n, i, f)
		}
		if len(f.checks[i]) > 0 {
			s.flush(f, direct)
		}
		for _, c := range f.checks[i] {
			s.check(n, c)
		}
		switch {
		case s.early[i]:
			s.release(f.last[i])
		case f.kernel[i] && !s.waits(f, i, direct):
			s.node(n, i, f, direct)
		}
	}
	s.flush(f, direct)
	s.await(p.Name, s.underWay.last())
	results := make([]Place, len(p.Outputs))
	end := &ir.Node{Op: ir.Identity, Scope: p.Name}
	var last []copying
	for i, out := range p.Outputs {
		results[i] = s.places[out.Value]
		if to[i].Space == Nowhere || same(results[i], to[i]) {
			continue
		}
		last = append(last, copying{p.Type(out.Value), results[i], to[i]})
		results[i] = to[i]
	}
	s.copyAll(end, last, false)
	return results
}

func same(a, b Place) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

// node writes the kernels of a node and frees memory that nothing reads any more.
func (s *scope) node(n *ir.Node, i int, f *fusion, direct map[ir.Value]Place) {
	before := s.arena.max
	s.findBeside(f, i)
	s.findFollowers(f, i)
	s.findSpread(f, i)
	s.findSums(f, i)
	s.findStatistics(f, i)
	s.settle(n, direct)
	also := slices.Concat(s.followers, s.spread)
	for _, q := range s.sums {
		also = append(also, q.root)
	}
	for _, t := range s.beside {
		also = append(also, t.root)
	}
	if s.statistics != nil {
		also = append(also, s.statistics.root)
	}
	for _, v := range also {
		s.settle(s.makers[v], direct)
		s.inMemory[v] = false
	}
	anchor := n
	if a := f.anchor[i]; a != nil {
		anchor = a
	}
	if write := roots[anchor.Op]; write != nil {
		// Other nodes read a value from memory only after its kernel has run.
		for _, v := range n.Outputs {
			s.inMemory[v] = false
		}
		write(s, anchor, n.Outputs[0])
		for _, v := range n.Outputs {
			s.inMemory[v] = true
		}
		for _, v := range also {
			s.inMemory[v] = true
		}
		s.beside, s.followers, s.spread, s.moments, s.sums, s.statistics = nil, nil, nil, false, nil, nil
	} else {
		s.inMemory[n.Outputs[0]] = false
		s.elements(n.Outputs[0])
		s.inMemory[n.Outputs[0]] = true
	}
	if s.arena.max > before {
		s.plan.Peak = n.Scope
	}
	s.begun(n, i)
	s.release(f.last[i])
}

// settle assigns places to the results of a node.
func (s *scope) settle(n *ir.Node, direct map[ir.Value]Place) {
	for _, v := range n.Outputs {
		if s.inMemory[v] {
			continue // such as an empty loop's results
		}
		s.inMemory[v] = true
		if place, ok := direct[v]; ok {
			s.places[v] = place
		} else {
			s.places[v] = Place{Space: Arena, Offset: s.arena.take(s.p.Type(v).Bytes())}
			s.taken[v] = true
		}
	}
}

// release frees the memory of values, now or once the nodes that wait for their launch have read them.
func (s *scope) release(values []ir.Value) {
	for _, v := range values {
		switch {
		case !s.taken[v]:
		case s.pending != nil && len(s.pending.readers[v]) > 0:
			s.pending.late = append(s.pending.late, v)
		case s.underWay.keeps(v):
		default:
			s.taken[v] = false
			s.arena.give(s.places[v].Offset, s.p.Type(v).Bytes())
		}
	}
}

// table stores a constant of the program in memory.
func (l *lowering) table(d ir.DType, n int, f func(i int) float64) Place {
	var data []byte
	for i := range n {
		data = ir.AppendElement(data, d, f(i))
	}
	return l.constantBytes(data)
}

func (l *lowering) constantPlace(c ir.Literal) Place { return l.constantBytes(c.Data) }

func (l *lowering) constantBytes(data []byte) Place {
	if p, ok := l.tables[string(data)]; ok {
		return p
	}
	for len(l.plan.Constants)%16 != 0 {
		l.plan.Constants = append(l.plan.Constants, 0)
	}
	p := Place{Space: Constants, Offset: int64(len(l.plan.Constants))}
	l.plan.Constants = append(l.plan.Constants, data...)
	l.tables[string(data)] = p
	return p
}
