package keras

import (
	"bytes"
	"math"
	"slices"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels/ir"
)

// denseGradients returns the tables whose whole gradients a user-defined TrainStep needs, after a run. The rows of the
// batch are enough if everything that the step does with a gradient keeps zero rows zero, or sums over the rows: then
// the results equal those for the whole table. That holds for scaling, clipping and norms. It does not hold for means,
// which divide by the size of the table; they differ in a trace with another number of rows.
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
	// If the other trace has another length, the step depends on the numbers of rows in other ways.
	alike := len(p.program.Nodes) == len(other.program.Nodes) && p.program.NumValues() == other.program.NumValues()
	var dense []*distribute.Variable
	for v, rows := range p.updates.tables {
		f := &gradientFlow{program: p.program, other: other.program, values: make([]gradientValue, p.program.NumValues())}
		if g := p.updates.gradients[v]; !alike || !f.follow(rows.Value()) || g != nil && !f.values[g.Value()].of {
			dense = append(dense, v)
		}
	}
	return dense, nil
}

// gradientFlow follows the gradient of a table's rows through a program.
type gradientFlow struct {
	program *ir.Program
	other   *ir.Program // of the same step, with another number of rows
	values  []gradientValue
}

// gradientValue is what is known about a value.
type gradientValue struct {
	made    int  // number of its node, from 1; 0: an input
	of      bool // the gradient, or zero in the same rows
	sum     bool // computed from a sum over such rows
	visited bool
	same    bool // computed from the same constants as in the other program
}

// follow goes through the program, and reports whether the rows are enough.
func (f *gradientFlow) follow(rows ir.Value) bool {
	for i := range f.program.Nodes {
		n := &f.program.Nodes[i]
		of, sum, same := false, false, true // same: for any number of rows, apart from the gradient
		for _, x := range n.Inputs {
			of, sum = of || f.values[x].of, sum || f.values[x].sum
		}
		for _, x := range n.Inputs {
			v := f.values[x]
			same = same && (!of && !sum || v.of || v.sum || f.same(x))
		}
		to := gradientValue{made: i + 1}
		switch {
		case !of && !sum:
			to.of = n.Op == ir.EmbeddingGrad && n.Inputs[0] == rows
		case !same:
			return false
		case !of || n.Op == ir.Reduce && n.Attrs.(ir.ReduceAttrs).Kind == ir.Sum && slices.Contains(n.Attrs.(ir.ReduceAttrs).Axes, 0):
			to.sum = true
		case f.keepsZeros(n):
			to.of = true
		default:
			return false
		}
		for _, x := range n.Outputs {
			f.values[x] = to
		}
	}
	return true
}

// keepsZeros reports whether the result of a node is zero where the gradient is.
func (f *gradientFlow) keepsZeros(n *ir.Node) bool {
	switch n.Op {
	case ir.Neg, ir.Abs, ir.Sign, ir.Floor, ir.Ceil, ir.Round, ir.Sqrt, ir.Tanh, ir.Relu, ir.Convert, ir.CheckFinite:
		return true
	case ir.Identity:
		return n.Attrs == nil
	case ir.Add, ir.Sub:
		return f.within(n, 0, 0, 0) && f.within(n, 1, 0, 0)
	case ir.Mul:
		return f.equalInRows(n.Inputs[0]) && f.equalInRows(n.Inputs[1])
	case ir.Div:
		return f.values[n.Inputs[0]].of && !f.values[n.Inputs[1]].of && f.equalInRows(n.Inputs[1])
	case ir.Maximum:
		return f.within(n, 0, math.Inf(-1), 0) && f.within(n, 1, math.Inf(-1), 0)
	case ir.Minimum:
		return f.within(n, 0, 0, math.Inf(1)) && f.within(n, 1, 0, math.Inf(1))
	case ir.Select:
		return !f.values[n.Inputs[0]].of && f.equalInRows(n.Inputs[0]) && f.within(n, 1, 0, 0) && f.within(n, 2, 0, 0)
	}
	return false
}

// within reports whether an operand is the gradient, or a constant between low and high.
//
//go:noinline
func (f *gradientFlow) within(n *ir.Node, i int, low, high float64) bool {
	c, ok := f.constant(n.Inputs[i])
	return f.values[n.Inputs[i]].of || ok && c >= low && c <= high
}

// node returns the node that computes x, or nil for an input.
func (f *gradientFlow) node(x ir.Value) *ir.Node {
	if i := f.values[x].made; i > 0 {
		return &f.program.Nodes[i-1]
	}
	return nil
}

// constant returns the value that all elements of x have.
func (f *gradientFlow) constant(x ir.Value) (float64, bool) {
	n := f.node(x)
	for n != nil && (n.Op == ir.Broadcast || n.Op == ir.Convert) {
		n = f.node(n.Inputs[0])
	}
	if n == nil || n.Op != ir.Constant {
		return 0, false
	}
	l := n.Attrs.(ir.ConstantAttrs).Literal
	if !l.Splat && l.Type.Shape.Size() != 1 {
		return 0, false
	}
	return l.At(0), true
}

// equalInRows reports whether x, which has the shape of the gradient, is equal in all rows, or zero where the gradient
// is.
func (f *gradientFlow) equalInRows(x ir.Value) bool {
	n := f.node(x)
	return f.values[x].of || n != nil && (n.Op == ir.Constant || n.Op == ir.Broadcast && f.program.Type(n.Inputs[0]).Equal(f.other.Type(n.Inputs[0])))
}

// same reports whether all constants that x is computed from equal those of the other program.
func (f *gradientFlow) same(x ir.Value) bool {
	v, n := &f.values[x], f.node(x)
	if n == nil || v.visited {
		return n == nil || v.same
	}
	o := &f.other.Nodes[v.made-1]
	v.visited, v.same = true, o.Op == n.Op
	if v.same && n.Op == ir.Constant {
		a, b := n.Attrs.(ir.ConstantAttrs).Literal, o.Attrs.(ir.ConstantAttrs).Literal
		v.same = a.Type.DType == b.Type.DType && a.Splat == b.Splat && bytes.Equal(a.Data, b.Data)
	}
	for _, y := range n.Inputs {
		v.same = v.same && f.same(y)
	}
	return v.same
}
