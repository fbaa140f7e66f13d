package keras

import (
	"bytes"
	"slices"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels/ir"
)

// denseGradients returns the tables of whose gradients a user-defined TrainStep needs the whole, after a run. Rows of
// the batch are enough where all that it does with a gradient leaves rows of zeros what they are, or sums over the
// rows: then the results are those of the whole table. That is so for scaling, clipping and norms. It is not for means,
// which are divided by the size of the table: those differ in a trace with another number of rows.
func (p *lookupProbe) denseGradients() ([]*distribute.Variable, error) {
	if len(p.updates.tables) == 0 {
		return nil, nil
	}
	other, found := &lookupProbe{l: p.l, candidates: p.candidates, rows: p.rows + 1}, p.l.found
	err := other.run()
	p.l.found = found
	if err != nil {
		return nil, err
	}
	f := newGradientFlow(p.program, other.program)
	for v, rows := range p.updates.tables {
		f.rows[rows.Value()] = v
	}
	f.follow()
	var dense []*distribute.Variable
	for v := range p.updates.tables {
		if g := p.updates.gradients[v]; f.dense[v] || g != nil && f.of[g.Value()] != v {
			dense = append(dense, v)
		}
	}
	return dense, nil
}

// gradientFlow is where gradients of the rows of tables go in a program.
type gradientFlow struct {
	program *ir.Program
	other   *ir.Program // of the same step, with another number of rows
	made    []int       // node of each value; -1: an input

	rows   map[ir.Value]*distribute.Variable   // the rows
	of     map[ir.Value]*distribute.Variable   // their gradients, and what is zero in the same rows
	sums   map[ir.Value][]*distribute.Variable // what is computed of sums over these
	shared map[ir.Value]bool                   // values that both programs compute from the same constants, or not
	dense  map[*distribute.Variable]bool       // tables of which the whole is needed
}

func newGradientFlow(program, other *ir.Program) *gradientFlow {
	f := &gradientFlow{
		program: program, other: other, made: make([]int, program.NumValues()), rows: map[ir.Value]*distribute.Variable{}, of: map[ir.Value]*distribute.Variable{},
		sums: map[ir.Value][]*distribute.Variable{}, shared: map[ir.Value]bool{}, dense: map[*distribute.Variable]bool{},
	}
	for i := range f.made {
		f.made[i] = -1
	}
	for i, n := range program.Nodes {
		for _, v := range n.Outputs {
			f.made[v] = i
		}
	}
	return f
}

// follow goes through the program.
func (f *gradientFlow) follow() {
	for i := range f.program.Nodes {
		n := &f.program.Nodes[i]
		var of, all []*distribute.Variable
		for _, x := range n.Inputs {
			for _, v := range append(slices.Clip(f.sums[x]), f.of[x]) {
				if v != nil && !slices.Contains(all, v) {
					all = append(all, v)
				}
			}
			if v := f.of[x]; v != nil && !slices.Contains(of, v) {
				of = append(of, v)
			}
		}
		switch {
		case n.Op == ir.EmbeddingGrad && len(all) == 0:
			if v := f.rows[n.Inputs[0]]; v != nil {
				f.of[n.Outputs[0]] = v
			}
		case len(all) == 0:
		case !f.alike(n):
			f.need(all)
		case len(of) == 0 || f.isSum(n):
			for _, x := range n.Outputs {
				f.sums[x] = all
			}
		case len(of) == 1 && f.keepsZeros(n, of[0]):
			f.of[n.Outputs[0]] = of[0]
		default:
			f.need(all)
		}
	}
}

func (f *gradientFlow) need(tables []*distribute.Variable) {
	for _, v := range tables {
		f.dense[v] = true
	}
}

// isSum reports whether a node sums gradients over the rows.
func (f *gradientFlow) isSum(n *ir.Node) bool {
	a, ok := n.Attrs.(ir.ReduceAttrs)
	return ok && a.Kind == ir.Sum && slices.Contains(a.Axes, 0)
}

// keepsZeros reports whether the result of a node is zero where the gradient of v is.
func (f *gradientFlow) keepsZeros(n *ir.Node, v *distribute.Variable) bool {
	in := func(i int) bool { return f.of[n.Inputs[i]] == v }
	zero := func(i int) bool {
		c, ok := f.constant(n.Inputs[i])
		return in(i) || ok && c == 0
	}
	switch n.Op {
	case ir.Neg, ir.Abs, ir.Sign, ir.Floor, ir.Ceil, ir.Round, ir.Sqrt, ir.Tanh, ir.Relu, ir.Convert, ir.CheckFinite:
		return true
	case ir.Identity:
		return n.Attrs == nil
	case ir.Add, ir.Sub:
		return zero(0) && zero(1)
	case ir.Mul:
		return (in(0) || f.equalInRows(n.Inputs[0])) && (in(1) || f.equalInRows(n.Inputs[1]))
	case ir.Div:
		return in(0) && f.equalInRows(n.Inputs[1])
	case ir.Maximum, ir.Minimum:
		for i := range 2 {
			c, ok := f.constant(n.Inputs[i])
			if !in(i) && (!ok || n.Op == ir.Maximum && c > 0 || n.Op == ir.Minimum && c < 0) {
				return false
			}
		}
		return true
	case ir.Select:
		return f.equalInRows(n.Inputs[0]) && zero(1) && zero(2)
	}
	return false
}

// constant is what all numbers of x are.
func (f *gradientFlow) constant(x ir.Value) (float64, bool) {
	i := f.made[x]
	if i < 0 {
		return 0, false
	}
	switch n := &f.program.Nodes[i]; n.Op {
	case ir.Broadcast, ir.Convert, ir.Reshape:
		return f.constant(n.Inputs[0])
	case ir.Constant:
		l := n.Attrs.(ir.ConstantAttrs).Literal
		if l.Splat || l.Type.Shape.Size() == 1 {
			return l.At(0), true
		}
	}
	return 0, false
}

// equalInRows reports whether x, which has the shape of a gradient, is the same in all rows.
func (f *gradientFlow) equalInRows(x ir.Value) bool {
	if f.of[x] != nil {
		return false
	}
	if _, ok := f.constant(x); ok {
		return true
	}
	if i := f.made[x]; i >= 0 && f.program.Nodes[i].Op == ir.Broadcast {
		from := f.program.Nodes[i].Inputs[0]
		return int(from) < f.other.NumValues() && f.program.Type(from).Equal(f.other.Type(from))
	}
	return false
}

// alike reports whether a node computes the same for any number of rows, beside what it computes of gradients.
func (f *gradientFlow) alike(n *ir.Node) bool {
	for _, x := range n.Inputs {
		if f.of[x] == nil && f.sums[x] == nil && !f.same(x) {
			return false
		}
	}
	return true
}

// same reports whether all constants that x is computed of are those of the other program.
func (f *gradientFlow) same(x ir.Value) bool {
	i := f.made[x]
	if i < 0 {
		return true
	}
	if known, ok := f.shared[x]; ok {
		return known
	}
	n := &f.program.Nodes[i]
	same := i < len(f.other.Nodes) && f.other.Nodes[i].Op == n.Op
	if same && n.Op == ir.Constant {
		a, b := n.Attrs.(ir.ConstantAttrs).Literal, f.other.Nodes[i].Attrs.(ir.ConstantAttrs).Literal
		same = a.Type.DType == b.Type.DType && a.Splat == b.Splat && bytes.Equal(a.Data, b.Data)
	}
	for _, y := range n.Inputs {
		same = same && f.same(y)
	}
	f.shared[x] = same
	return same
}
