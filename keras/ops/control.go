package ops

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// body starts the graph of a loop or branch body inside g. Tensors of g may be used in it freely.
func (g *Graph) body(name string) *Graph { return &Graph{program: ir.New(name), parent: g} }

// traceBody traces f over inputs of the given types and returns the graph and the results.
func (g *Graph) traceBody(name string, types []ir.Type, f func(b *Graph, in []*Tensor) []*Tensor) (*Graph, []ir.Value) {
	b := g.body(name)
	in := make([]*Tensor, len(types))
	for i, t := range types {
		in[i] = b.Input(fmt.Sprint("in", i), t.DType, t.Shape...)
	}
	b.trace(func() {
		for _, t := range f(b, in) {
			b.results = append(b.results, b.use(t))
		}
	})
	return b, b.results
}

// trace runs f, which adds to body b. The active bodies that do not enclose b are set aside meanwhile, because b may be
// an earlier loop whose gradient is requested inside another body.
func (b *Graph) trace(f func()) {
	root := b.Root()
	active := root.active
	around := slices.DeleteFunc(slices.Clone(active), func(a *Graph) bool { return !a.encloses(b) })
	root.active = append(around, b)
	f()
	root.active = active
}

// current returns the innermost body being traced inside g, or g. A loop belongs there, because its body may use
// tensors of that graph.
func (g *Graph) current() *Graph {
	if active := g.Root().active; len(active) > 0 && g.encloses(active[len(active)-1]) {
		return active[len(active)-1]
	}
	return g
}

// place returns the graph for a node on tensors of g: the branch being traced inside g, so that the node runs only when
// the branch is taken, or g itself.
func (g *Graph) place() *Graph {
	active := g.Root().active
	for i := len(active) - 1; i >= 0; i-- {
		if b := active[i]; b.branch {
			if g.encloses(b) {
				return b
			}
			break
		}
	}
	return g
}

// snapshot freezes the body traced so far into a sub-program with the given inputs and outputs.
func (g *Graph) snapshot(inputs, outputs []ir.Value) *ir.Program {
	p, err := ir.Extract(g.program, g.program.Name, inputs, outputs)
	if err != nil {
		Fail(g, err)
	}
	return p
}

func (g *Graph) inputValues() []ir.Value {
	values := make([]ir.Value, len(g.program.Inputs))
	for i, in := range g.program.Inputs {
		values[i] = in.Value
	}
	return values
}

func types(ts []*Tensor) []ir.Type {
	out := make([]ir.Type, len(ts))
	for i, t := range ts {
		out[i] = t.Type()
	}
	return out
}

// keepBody remembers the graph of the last loop added, for its gradient.
func (g *Graph) keepBody(b *Graph) {
	if g.bodies == nil {
		g.bodies = map[int]*Graph{}
	}
	g.bodies[len(g.program.Nodes)-1] = b
}

// ScanOptions change how Scan runs.
type ScanOptions struct {
	// Reverse runs from the last step to the first; each y is stored at its own step.
	Reverse bool
	// Length is the number of steps if there are no xs.
	Length int
}

// needFunctions fails if a function that an operation calls is nil.
func needFunctions(g *Graph, what string, given ...bool) {
	if slices.Contains(given, false) {
		Failf(g, "%s: the function is nil", what)
	}
}

// Scan is a loop: f maps the carried tensors and one slice of each x (axis 0 is the step) to new carried tensors and
// one slice of each y. It returns the final carries and the ys stacked along a new axis 0. The body is one program,
// however long the loop is; it may use any tensor of the surrounding trace. Scan is differentiable.
func Scan(f func(carry, xs []*Tensor) (next, ys []*Tensor), carry, xs []*Tensor, o ScanOptions) (final, stacked []*Tensor) {
	g := graphOf(append(append([]*Tensor{}, carry...), xs...)...)
	if g == nil {
		Failf(nil, "scan: needs at least one carried or stacked tensor, received none")
	}
	needFunctions(g, "scan", f != nil)
	return traceScan("scan", g.current(), f, carry, xs, o).add()
}

// tracedScan is a loop whose body has been traced.
type tracedScan struct {
	g         *Graph // that the loop belongs to
	carry, xs []*Tensor
	length    int
	reverse   bool
	body      *Graph
	out       []ir.Value // of the body
}

// traceScan traces the body of a loop. what is the operation's name in errors.
func traceScan(what string, g *Graph, f func(carry, xs []*Tensor) (next, ys []*Tensor), carry, xs []*Tensor, o ScanOptions) *tracedScan {
	length := o.Length
	bodyTypes := types(carry)
	for i, x := range xs {
		if x.Rank() == 0 || i > 0 && !dim.MayEqual(x.Dim(0), length) {
			Failf(g, "%s: stacked tensor %d has shape %v; all need the same number of steps as axis 0", what, i, x.Shape())
		}
		length = x.Dim(0)
		bodyTypes = append(bodyTypes, ir.Type{DType: x.DType(), Shape: x.Shape()[1:]})
	}
	b, out := g.traceBody(what, bodyTypes, func(_ *Graph, in []*Tensor) []*Tensor {
		next, ys := f(in[:len(carry)], in[len(carry):])
		if len(next) != len(carry) {
			Failf(g, "%s: the body returned %d carried tensors for %d", what, len(next), len(carry))
		}
		for i := range next {
			if !next[i].Type().Fits(carry[i].Type()) {
				Failf(g, "%s: carried tensor %d begins as %v and the body returned %v; they must be of one type", what, i, carry[i].Type(), next[i].Type())
			}
		}
		return append(append([]*Tensor{}, next...), ys...)
	})
	return &tracedScan{g, carry, xs, length, o.Reverse, b, out}
}

// add adds the loop.
func (s *tracedScan) add() (final, stacked []*Tensor) {
	b := s.body
	attrs := ir.ScanAttrs{Body: b.snapshot(b.inputValues(), s.out), Length: s.length, Carry: len(s.carry), Xs: len(s.xs), Reverse: s.reverse}
	operands := append(append([]*Tensor{}, s.carry...), s.xs...)
	for _, c := range b.captured {
		operands = append(operands, c.outer)
	}
	results := s.g.add(ir.Scan, attrs, operands...)
	s.g.keepBody(b)
	return results[:len(s.carry)], results[len(s.carry):]
}

// WhileLoop repeats body on the state while cond (a bool scalar) holds and returns the last state. The number of steps
// is not known when the program is built, so it has no gradient; use Scan if you need one.
func WhileLoop(cond func(state []*Tensor) *Tensor, body func(state []*Tensor) []*Tensor, state ...*Tensor) []*Tensor {
	g := graphOf(state...)
	if g == nil {
		Failf(nil, "while_loop: needs at least one state tensor, received none")
	}
	needFunctions(g, "while_loop", cond != nil, body != nil)
	g = g.current()
	c, cOut := g.traceBody("while_cond", types(state), func(_ *Graph, in []*Tensor) []*Tensor { return []*Tensor{cond(in)} })
	b, bOut := g.traceBody("while_body", types(state), func(_ *Graph, in []*Tensor) []*Tensor { return body(in) })
	// Both sub-programs take the same operands: state, the condition's captures, the body's captures.
	operands := append([]*Tensor{}, state...)
	cIn, bIn := c.inputValues()[:len(state)], b.inputValues()[:len(state)]
	for _, k := range c.captured {
		operands = append(operands, k.outer)
		cIn = append(cIn, k.inner)
		bIn = append(bIn, b.program.AddInput("unused", k.outer.Type()))
	}
	for _, k := range b.captured {
		operands = append(operands, k.outer)
		bIn = append(bIn, k.inner)
		cIn = append(cIn, c.program.AddInput("unused", k.outer.Type()))
	}
	attrs := ir.WhileAttrs{Cond: c.snapshot(cIn, cOut), Body: b.snapshot(bIn, bOut), State: len(state)}
	return g.add(ir.While, attrs, operands...)
}

func init() {
	rules[ir.Scan] = scanRule
	rules[ir.Cond] = condRule
	rules[ir.While] = func(c *vjp) []*Tensor {
		Failf(c.r.g, "while_loop has no gradient, because its number of steps is not known; use ops.Scan")
		return nil
	}
}
