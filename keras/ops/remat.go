package ops

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Segment is a part of a trace whose values need not be kept for the gradient: see [Segment.Remat].
type Segment struct {
	g     *Graph
	first int // its first node, and the one after the last
	end   int
}

// BeginSegment begins a segment with what is traced next.
func BeginSegment(t Traced) Segment {
	g := graphFor(t).place()
	return Segment{g: g, first: len(g.program.Nodes)}
}

// Remat ends the segment and makes gradients recompute its values from what it reads, instead of keeping them from the
// forward pass until then. A segment inside another one changes nothing. Some things in a segment are not computed
// twice: loops and branches (whose gradients choose for themselves what they keep), collectives, and results of
// [CustomGradient].
func (s Segment) Remat() {
	if s.g == nil {
		Failf(nil, "remat: the segment has not been begun; use what ops.BeginSegment returns")
	}
	s.end = len(s.g.program.Nodes)
	kept := s.g.segments[:0:0]
	for _, inner := range s.g.segments {
		if inner.first < s.first {
			kept = append(kept, inner)
		}
	}
	if s.end > s.first {
		s.g.segments = append(kept, s)
	}
}

// Remat returns f(xs...). Gradients recompute the values between xs and the results, instead of keeping them from the
// forward pass until then: less memory for more time, with the same numbers (dropout draws the same ones again).
// Assignments to variables within f happen once. See [Segment.Remat] for what is kept nevertheless.
//
// Source: keras.remat; Chen et al., "Training Deep Nets with Sublinear Memory Cost" (2016).
func Remat(f func(xs ...*Tensor) []*Tensor, xs ...*Tensor) []*Tensor {
	if f == nil || len(xs) == 0 {
		Failf(nil, "remat: needs a function that is not nil and at least one tensor, received %d tensors", len(xs))
	}
	g := graphOf(xs...)
	s := BeginSegment(g)
	ys := f(xs...)
	s.Remat()
	return ys
}

// rematerialized is what a backward pass knows about recomputed values.
type rematerialized struct {
	nodes  map[int]int           // by node: the one that recomputes it
	values map[ir.Value]ir.Value // by value of a segment: its recomputed value
	behind map[ir.Value]ir.Value // by value that a segment reads: the barrier before it
	fixed  []bool                // by value: an input of the program or a constant
}

// node is the node whose operands and results the gradient of node i reads.
func (r *reverse) node(i int) ir.Node {
	if again, ok := r.again.nodes[i]; ok {
		i = again
	}
	return r.g.program.Nodes[i]
}

// enter recomputes the values of a segment when the pass reaches its last node and gradients flow into it.
func (r *reverse) enter(i int) {
	at := slices.IndexFunc(r.g.segments, func(s Segment) bool { return s.end == i+1 })
	if at < 0 {
		return
	}
	s := r.g.segments[at]
	for k := i; k >= s.first; k-- {
		for _, v := range r.g.program.Nodes[k].Outputs {
			if dy := r.grads[v]; dy != nil {
				r.rematerialize(s, r.g.use(dy))
				return
			}
		}
	}
}

// rematerialize appends the nodes of s again. They read the segment's inputs through barriers that wait for dy, so that
// they are neither merged with the nodes of the forward pass nor computed early.
func (r *reverse) rematerialize(s Segment, dy ir.Value) {
	p := r.g.program
	if r.again.nodes == nil {
		r.again = rematerialized{nodes: map[int]int{}, fixed: make([]bool, p.NumValues())}
		for _, in := range p.Inputs {
			r.again.fixed[in.Value] = true
		}
		for i := range r.nodes {
			for _, v := range p.Nodes[i].Outputs {
				r.again.fixed[v] = len(p.Nodes[i].Inputs) == 0
			}
		}
	}
	r.again.values, r.again.behind = map[ir.Value]ir.Value{}, map[ir.Value]ir.Value{}
	for i := s.first; i < s.end; i++ {
		n := p.Nodes[i]
		if len(n.Inputs) == 0 || n.Op.IsCollective() || ir.SubPrograms(n.Attrs) != nil || r.g.custom[i] != nil {
			continue
		}
		in, moved := slices.Clone(n.Inputs), false
		for j, v := range n.Inputs {
			switch again, ok := r.again.values[v]; {
			case ok:
				in[j], moved = again, true
			case !r.again.fixed[v]:
				in[j], moved = r.barrier(v, dy), true
			}
		}
		if !moved { // computed from variables and constants alone, such as dropout masks
			in[0] = r.barrier(in[0], dy)
		}
		r.again.nodes[i] = len(p.Nodes)
		for j, v := range r.extend(n.Scope, n.Op, n.Attrs, in...) {
			r.again.values[n.Outputs[j]] = v
			r.onPath[v] = r.onPath[n.Outputs[j]]
		}
	}
}

// barrier returns x, available only after y.
func (r *reverse) barrier(x, y ir.Value) ir.Value {
	behind, ok := r.again.behind[x]
	if !ok {
		behind = r.extend("", ir.Barrier, nil, x, y)[0]
		r.again.behind[x] = behind
		r.onPath[behind] = r.onPath[x]
	}
	return behind
}

// extend appends a node whose results may have gradients.
func (r *reverse) extend(scope string, op ir.Op, attrs ir.Attrs, in ...ir.Value) []ir.Value {
	out, err := r.g.program.Add(scope, op, attrs, in...)
	if err != nil {
		Fail(r.g, err)
	}
	r.onPath = append(r.onPath, make([]bool, r.g.program.NumValues()-len(r.onPath))...)
	return out
}

func init() {
	rules[ir.Barrier] = func(c *vjp) []*Tensor { return []*Tensor{c.dy(0), nil} }
}
