package ops

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Sources are tensors or variables that gradients are asked for.
type Sources interface {
	// Tensors returns the tensors that stand for the sources in g.
	Tensors(g *Graph) []*Tensor
}

// Tape computes gradients within one trace, like tf.GradientTape. There is nothing to record: the graph is the record.
type Tape struct{ g *Graph }

// NewTape returns a tape for the trace that t belongs to.
func NewTape(t Traced) *Tape { return &Tape{graphFor(t)} }

// replacedSources are sources that may have been replaced within the trace, as assignments do to variables.
type replacedSources interface {
	// EarlierTensors returns, for each source, the tensors that stood for it in g before it was replaced.
	EarlierTensors(g *Graph) [][]*Tensor
}

// Gradients returns d target / d source for each source. A target that is not a scalar is summed. A source that the
// target does not depend on has a nil gradient. If a variable was assigned within the trace, all reads count, before
// and after the assignment, as on TensorFlow's tapes.
func (t *Tape) Gradients(target *Tensor, sources Sources) Gradients {
	all := sources.Tensors(t.g)
	n := len(all)
	var of []int // source of each tensor from n on
	if s, ok := sources.(replacedSources); ok {
		all = slices.Clip(all)
		for i, earlier := range s.EarlierTensors(t.g) {
			for _, x := range earlier {
				all, of = append(all, x), append(of, i)
			}
		}
	}
	grads := Grad(target, all...)
	for j, i := range of {
		switch d := grads[n+j]; {
		case d == nil:
		case grads[i] == nil:
			grads[i] = d
		default:
			grads[i] = Add(grads[i], d)
		}
	}
	return Gradients{sources, grads[:n:n]}
}

// Gradients are derivatives together with their sources, in the order of the sources; a nil value means that the target
// does not depend on that source. Optimizers accept them directly.
type Gradients struct {
	Of     Sources
	Values []*Tensor
}

// Grad returns d target / d source for each source; see [Tape.Gradients].
func Grad(target *Tensor, sources ...*Tensor) []*Tensor {
	return VJP([]*Tensor{target}, []*Tensor{OnesLike(target)}, sources...)
}

// VJP returns, for each source, the sum over the targets of cotangent times d target / d source: the vector-Jacobian
// product. Cotangents have the types of their targets; a nil one is zero. Integers and bools have no gradient.
//
// Inside the body of a loop or branch sources may be tensors from outside; operations between them and the body count
// too.
func VJP(targets, cotangents []*Tensor, sources ...*Tensor) []*Tensor {
	g := graphOf(targets...)
	if inner := graphOf(sources...); inner != nil && g != nil && inner.Root() != g.Root() {
		Failf(g, "gradients: the sources belong to the trace %q and the targets to %q", inner.Root().program.Name, g.Root().program.Name)
	}
	if len(targets) != len(cotangents) {
		Failf(g, "gradients: %d targets need as many cotangents, received %d", len(targets), len(cotangents))
	}
	for i, d := range cotangents {
		if d != nil && !d.Type().Equal(targets[i].Type()) {
			Failf(g, "gradients: the cotangent of target %d has type %v; it must have the target's, %v", i, d.Type(), targets[i].Type())
		}
	}
	grads := make([]*Tensor, len(sources))
	for ; g != nil && len(targets) > 0; g = g.parent {
		// A source in an outer graph is reached through the tensors that were captured from there.
		here, carried := g.level(sources)
		found := g.vjp(0, targets, cotangents, append(pick(here, sources), g.inner(carried)...))
		for j, i := range here {
			grads[i] = found[j]
		}
		targets, cotangents = nil, nil
		for j, grad := range found[len(here):] {
			if grad != nil {
				targets, cotangents = append(targets, carried[j].outer), append(cotangents, grad)
			}
		}
	}
	return grads
}

// level returns which sources belong to g itself, and what g captured that depends on sources further out.
func (g *Graph) level(sources []*Tensor) (here []int, carried []capture) {
	for i, s := range sources {
		if s.g == g {
			here = append(here, i)
		}
	}
	if g.parent == nil {
		return here, nil
	}
	depends := g.parent.dependent(sources)
	for _, k := range g.captured {
		if depends[k.outer.v] {
			carried = append(carried, k)
		}
	}
	return here, carried
}

func pick(which []int, ts []*Tensor) []*Tensor {
	out := make([]*Tensor, len(which))
	for j, i := range which {
		out[j] = ts[i]
	}
	return out
}

func (g *Graph) inner(captures []capture) []*Tensor {
	out := make([]*Tensor, len(captures))
	for i, k := range captures {
		out[i] = &Tensor{g: g, v: k.inner}
	}
	return out
}

// dependent marks the values of g that depend on sources of g or of graphs around it.
func (g *Graph) dependent(sources []*Tensor) []bool {
	here, carried := g.level(sources)
	r := &reverse{g: g, nodes: len(g.program.Nodes), wanted: map[ir.Value]bool{}}
	for _, t := range append(pick(here, sources), g.inner(carried)...) {
		r.wanted[t.v] = true
	}
	r.markPath()
	return r.onPath
}

// vjp is VJP through the nodes of g from number first on: values made before them depend on nothing but themselves.
func (g *Graph) vjp(first int, targets, cotangents, sources []*Tensor) []*Tensor {
	r := &reverse{g: g, first: first, nodes: len(g.program.Nodes), grads: map[ir.Value]*Tensor{}, wanted: map[ir.Value]bool{}}
	wanted := make([]ir.Value, len(sources))
	for i, s := range sources {
		wanted[i] = g.use(s)
		r.wanted[wanted[i]] = true
	}
	values := make([]ir.Value, len(targets))
	for i, t := range targets {
		values[i] = g.use(t)
	}
	r.markPath()
	for i, t := range targets {
		if cotangents[i] != nil && t.DType().IsFloat() {
			r.accumulate(values[i], cotangents[i])
		}
	}
	for i := r.nodes - 1; i >= first; i-- {
		r.enter(i)
		r.step(i)
	}
	grads := make([]*Tensor, len(sources))
	for i, v := range wanted {
		grads[i] = r.grads[v]
	}
	return grads
}

// rule is the gradient of one op: it returns one gradient for each operand of the node, nil where there is none.
type rule func(c *vjp) []*Tensor

// rules holds the gradient of each op; the files of this package fill it beside the op.
var rules = map[ir.Op]rule{}

// vjp is what a rule knows about the node.
type vjp struct {
	r     *reverse
	index int
	node  ir.Node
	dys   []*Tensor
}

//go:noinline
func (c *vjp) in(i int) *Tensor { return &Tensor{g: c.r.g, v: c.node.Inputs[i]} }

//go:noinline
func (c *vjp) out(i int) *Tensor { return &Tensor{g: c.r.g, v: c.node.Outputs[i]} }

// dy is the gradient of result i, or zeros if nothing depends on it.
func (c *vjp) dy(i int) *Tensor {
	if c.dys[i] == nil {
		c.dys[i] = ZerosLike(c.out(i))
	}
	return c.dys[i]
}

// needs reports whether the gradient of operand i is needed.
func (c *vjp) needs(i int) bool { return c.r.onPath[c.node.Inputs[i]] }

type reverse struct {
	g      *Graph
	first  int // the pass ends at this node
	nodes  int // nodes that exist when the pass begins; later ones are the gradient's own
	grads  map[ir.Value]*Tensor
	wanted map[ir.Value]bool
	onPath []bool // values that depend on a source
	again  rematerialized

	customDys map[*customRule][]*Tensor
}

// markPath finds the float values that depend on a source, so that no unneeded gradient is built.
func (r *reverse) markPath() {
	p := r.g.program
	r.onPath = make([]bool, p.NumValues())
	for v := range r.wanted {
		r.onPath[v] = true
	}
	for i := r.first; i < r.nodes; i++ {
		n := &p.Nodes[i]
		if n.Op == ir.Identity && !laidOut(*n) {
			continue
		}
		depends := slices.ContainsFunc(n.Inputs, func(v ir.Value) bool { return r.onPath[v] })
		if rule := r.g.custom[i]; rule != nil {
			depends = rule.dependsOn(r)
		}
		for _, v := range n.Outputs {
			r.onPath[v] = r.onPath[v] || depends && p.Type(v).DType.IsFloat()
		}
	}
}

func (r *reverse) accumulate(v ir.Value, grad *Tensor) {
	if grad == nil || !r.onPath[v] {
		return
	}
	want := r.g.program.Type(v)
	if !grad.Type().Equal(want) {
		Failf(r.g, "the gradient of a value of type %v has type %v; a gradient rule is wrong", want, grad.Type())
	}
	if old := r.grads[v]; old != nil {
		grad = Add(old, grad)
	}
	r.grads[v] = grad
}

// step pushes the gradients of node i's results to its operands.
func (r *reverse) step(i int) {
	n := r.g.program.Nodes[i]
	dys := make([]*Tensor, len(n.Outputs))
	found := false
	for j, v := range n.Outputs {
		dys[j] = r.grads[v]
		found = found || dys[j] != nil
		if !r.wanted[v] {
			delete(r.grads, v)
		}
	}
	if custom := r.g.custom[i]; custom != nil {
		custom.step(r, i, dys[0])
		return
	}
	if !found || !slices.ContainsFunc(n.Inputs, func(v ir.Value) bool { return r.onPath[v] }) {
		return
	}
	rule := rules[n.Op]
	if rule == nil {
		rule = decomposedRule
	}
	saved := r.g.scope
	if n.Scope != "" && r.g.parent == nil {
		r.g.scope = []string{n.Scope}
	}
	grads := rule(&vjp{r: r, index: i, node: r.node(i), dys: dys})
	r.g.scope = saved
	for j, grad := range grads {
		r.accumulate(n.Inputs[j], grad)
	}
}

// decomposedRule differentiates a composite without a rule of its own through its decomposition, and stops at its
// operands: operands that depend on each other each get their own share.
func decomposedRule(c *vjp) []*Tensor {
	g := c.r.g
	first := len(g.program.Nodes)
	out, ok, err := ir.Decompose(g.program, &c.node)
	if err != nil {
		Fail(g, err)
	}
	if !ok {
		Failf(g, "%v has no gradient; stop the gradient before it with ops.StopGradient or give one with ops.CustomGradient", c.node.Op)
	}
	var sources []*Tensor
	var which []int
	for i, v := range c.node.Inputs {
		// An operand that is given twice gets its whole share at once.
		if c.needs(i) && slices.Index(c.node.Inputs, v) == i {
			sources, which = append(sources, c.in(i)), append(which, i)
		}
	}
	grads := make([]*Tensor, len(c.node.Inputs))
	for j, grad := range g.vjp(first, g.wrap(out), c.dys, sources) {
		grads[which[j]] = grad
	}
	return grads
}

// StopGradient returns x. No gradient flows through it, for gradients of any order and inside any loop or branch.
func StopGradient(x *Tensor) *Tensor { return apply1(ir.Identity, nil, x).WithMask(x.mask) }

// CustomGradient returns f(xs...) with the gradient that backward defines. backward gets the gradients of the results
// (zeros where nothing depends on one) and returns those of xs, nil for none. The usual rules do not apply between xs
// and the results, and tensors that f uses besides xs get no gradient.
//
// Second derivatives are those of backward's own operations. If a gradient inside a loop is differentiated once more,
// the nodes of f count, not a nested custom gradient of backward.
func CustomGradient(f func(xs ...*Tensor) (ys []*Tensor, backward func(dys []*Tensor) []*Tensor), xs ...*Tensor) []*Tensor {
	if f == nil {
		Failf(nil, "custom gradient: the function is nil")
	}
	ys, backward := f(xs...)
	g := graphOf(append(slices.Clone(xs), ys...)...)
	if g == nil || backward == nil {
		Failf(g, "custom gradient: needs at least one tensor, and a function of gradients that is not nil")
	}
	g = g.place()
	rule := &customRule{backward: backward}
	for _, x := range xs {
		rule.inputs = append(rule.inputs, g.use(x))
	}
	out := make([]*Tensor, len(ys))
	for i, y := range ys {
		g.use(y)
		// A reshape to the same shape costs nothing. It separates the result from its users.
		out[i] = g.add(ir.Reshape, ir.ReshapeAttrs{Shape: y.Shape()}, y)[0]
		rule.outputs = append(rule.outputs, out[i].v)
		if g.custom == nil {
			g.custom = map[int]*customRule{}
		}
		g.custom[len(g.program.Nodes)-1] = rule
	}
	rule.first = len(g.program.Nodes) - len(ys)
	return out
}

// customRule belongs to one Reshape node for each result.
type customRule struct {
	inputs   []ir.Value
	outputs  []ir.Value
	first    int // index of the first of the nodes
	backward func([]*Tensor) []*Tensor
}

func (c *customRule) dependsOn(r *reverse) bool {
	return slices.ContainsFunc(c.inputs, func(v ir.Value) bool { return r.onPath[v] })
}

// step collects the gradients of the results. The pass goes backwards, so all are there when the first node is reached.
func (c *customRule) step(r *reverse, i int, dy *Tensor) {
	if r.customDys == nil {
		r.customDys = map[*customRule][]*Tensor{}
	}
	if r.customDys[c] == nil {
		r.customDys[c] = make([]*Tensor, len(c.outputs))
	}
	dys := r.customDys[c]
	dys[i-c.first] = dy
	if i > c.first || !c.dependsOn(r) || !slices.ContainsFunc(dys, func(t *Tensor) bool { return t != nil }) {
		return
	}
	for j, v := range c.outputs {
		if dys[j] == nil {
			dys[j] = ZerosLike(&Tensor{g: r.g, v: v})
		}
	}
	grads := c.backward(dys)
	if len(grads) != len(c.inputs) {
		Failf(r.g, "a custom gradient returned %d gradients for %d inputs", len(grads), len(c.inputs))
	}
	for j, grad := range grads {
		r.accumulate(c.inputs[j], grad)
	}
}
